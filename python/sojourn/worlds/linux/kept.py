"""Commands whose end is certain: with the context, with this process, or with their keeper."""

import json
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

from sojourn import children
from sojourn.worlds.linux import keeper
from sojourn.worlds.linux.keeper import CONSOLE

__all__ = ["CONSOLE", "Kept"]

# The keeper gives a command one second to end by itself; a busy machine may need longer until all are gone.
_KEEPER_END_S = 30


class Kept(AbstractContextManager["Kept"]):
    """A command that is running, its output in the file CONSOLE of a folder.

    When the context ends, or this process does, all that the command started is ended, the command `after` is run, and
    the folder is removed.
    """

    def __init__(
        self,
        folder: Path,
        command: Sequence[str],
        ended_by: signal.Signals,
        environment: Mapping[str, str] | None = None,
        after: Sequence[str] = (),
    ) -> None:
        self.exit_code: int | None = None
        """The command's, negative for a signal, once it has ended; None too where its keeper was killed."""
        self._over = False
        self._keeper = subprocess.Popen(
            children.program(keeper.__file__, str(folder), str(int(ended_by)), json.dumps(list(after)), *command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**children.environment(), **(environment or {})},
            # Ctrl-C is for this process alone, which then ends the others in good order.
            start_new_session=True,
        )

    def ended(self, wait_s: float) -> bool:
        """Wait a moment; tell whether the command has ended."""
        assert self._keeper.stdout is not None  # noqa: S101 (asked for above)
        if not self._over and select.select([self._keeper.stdout], [], [], wait_s)[0]:
            self._over = True
            told = self._keeper.stdout.readline().strip()
            self.exit_code = int(told) if told.lstrip(b"-").isdigit() else None
        return self._over

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._keeper.stdin is not None  # noqa: S101
        assert self._keeper.stdout is not None  # noqa: S101
        self._keeper.stdin.close()
        try:
            self._keeper.wait(_KEEPER_END_S)
        finally:
            self._keeper.stdout.close()
