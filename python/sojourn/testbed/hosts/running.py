"""One host's endpoints of a run: a process of their own that ends with this one, whatever happens."""

import json
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sojourn.testbed.kept import CONSOLE, Kept
from sojourn.testbed.places import keeper_folder

_PLAN, _REPORT = "plan.json", "report.json"


class EndpointsError(Exception):
    """The endpoints failed: `kind` is input, missing or failed."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Running:
    """Endpoints that are running."""

    def __init__(self, folder: Path, kept: Kept) -> None:
        self._folder = folder
        self._kept = kept

    def ended(self, wait_s: float) -> bool:
        """Wait a moment; tell whether they have ended."""
        return self._kept.ended(wait_s)

    def report(self) -> dict[str, Any]:
        """Return what they saw, once they have ended; raises EndpointsError."""
        try:
            found: dict[str, Any] = json.loads((self._folder / _REPORT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            lines = (self._folder / CONSOLE).read_text(encoding="utf-8", errors="replace").split("\n")
            said = next((line for line in reversed(lines) if line.strip()), "it said nothing")
            text = f"the endpoints ended with exit code {self._kept.exit_code}: {said}"
            raise EndpointsError("failed", text) from None
        if "error" in found:
            raise EndpointsError(found["error"]["kind"], found["error"]["message"])
        return found


@contextmanager
def endpoints(plan: Mapping[str, Any]) -> Iterator[Running]:
    """Have the endpoints of a plan for a while; none is left, nor a file of them."""
    with keeper_folder() as folder:
        files = folder / _PLAN, folder / _REPORT
        files[0].write_text(json.dumps(plan), encoding="utf-8")
        command = (sys.executable, "-m", "sojourn.testbed.endpoint", *map(str, files))
        with Kept(folder, command, signal.SIGTERM) as kept:
            yield Running(folder, kept)
