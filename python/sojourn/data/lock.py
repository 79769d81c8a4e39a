"""Locks on files and folders, which the system lifts when the process ends, however it ends."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

if sys.platform == "win32":
    import msvcrt

    def lock(file: IO[Any]) -> None:
        """Lock an open file, or raise BlockingIOError where another process has it."""
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, error.strerror) from None

    @contextlib.contextmanager
    def held(place: Path) -> Iterator[None]:
        """Say that a file or folder is being written: nothing, as an open file cannot be moved into place there."""
        yield

    def is_abandoned(place: Path) -> bool:
        """Tell whether nobody writes a file or folder any more: that is not known there."""
        return False

else:
    import fcntl

    def lock(file: IO[Any]) -> None:
        """Lock an open file, or raise BlockingIOError where another process has it."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    @contextlib.contextmanager
    def _opened(place: Path) -> Iterator[int]:
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            yield handle
        finally:
            os.close(handle)

    @contextlib.contextmanager
    def held(place: Path) -> Iterator[None]:
        """Say that a file or folder is being written."""
        with _opened(place) as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def is_abandoned(place: Path) -> bool:
        """Tell whether nobody writes a file or folder any more; a link is nobody's."""
        try:
            with _opened(place) as handle:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
