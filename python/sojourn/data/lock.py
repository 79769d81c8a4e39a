"""A lock on a file, which the system lifts when the process ends, however it ends."""

import sys
from typing import IO, Any

if sys.platform == "win32":
    import msvcrt

    def lock(file: IO[Any]) -> None:
        """Lock an open file, or raise BlockingIOError where another process has it."""
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, error.strerror) from None

else:
    import fcntl

    def lock(file: IO[Any]) -> None:
        """Lock an open file, or raise BlockingIOError where another process has it."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
