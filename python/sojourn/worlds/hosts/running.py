"""One host's endpoints of a run: processes of their own that end with this one, whatever happens.

Those that receive outlive those that send: the two hosts' clocks are laid side by side to half of a round-trip time
only, and a sender whose receiver has gone would take its flow for broken.
"""

import json
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sojourn import children
from sojourn.worlds.linux.kept import CONSOLE, Kept
from sojourn.worlds.linux.places import keeper_folder

LINGER_S = 1.0
"""How long receivers wait for the last of their senders, whose clocks may be behind."""
_PLAN, _REPORT, _READY = "plan.json", "report.json", "ready"


class EndpointsError(Exception):
    """The endpoints failed: `kind` is input, missing or failed."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class _Part:
    """A process of endpoints."""

    def __init__(self, plan: Mapping[str, Any], undo: ExitStack) -> None:
        self._folder = undo.enter_context(keeper_folder())
        told = {**plan, "ready": str(self._folder / _READY)}
        (self._folder / _PLAN).write_text(json.dumps(told), encoding="utf-8")
        files = (str(self._folder / name) for name in (_PLAN, _REPORT))
        command = children.module("sojourn.worlds.linux.endpoint", *files)
        self.kept = undo.enter_context(Kept(self._folder, command, signal.SIGTERM))

    def is_ready(self) -> bool:
        """Tell whether its sockets are open."""
        return (self._folder / _READY).exists()

    def report(self) -> dict[str, Any]:
        """Return what it saw, once it has ended; raises EndpointsError."""
        try:
            found: dict[str, Any] = json.loads((self._folder / _REPORT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            text = f"the endpoints ended with exit code {self.kept.exit_code}: {_last_line(self._folder / CONSOLE)}"
            raise EndpointsError("failed", text) from None
        if "error" in found:
            raise EndpointsError(found["error"]["kind"], found["error"]["message"])
        return found


def _last_line(file: Path) -> str:
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else []
    return next((line for line in reversed(lines) if line.strip()), "it said nothing")


class Running:
    """Endpoints that are running."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts = parts

    def ended(self, wait_s: float) -> bool:
        """Wait a moment; tell whether all have ended, or any has failed."""
        until = time.monotonic() + wait_s
        over = [part.kept.ended(max(0.0, until - time.monotonic())) for part in self._parts]
        return all(over) or any(done and part.kept.exit_code != 0 for done, part in zip(over, self._parts, strict=True))

    def are_ready(self) -> bool:
        """Tell whether all sockets are open; raises EndpointsError where one cannot be."""
        if self.ended(0):
            self.report()
        return all(part.is_ready() for part in self._parts)

    def report(self) -> dict[str, Any]:
        """Return what they saw, once `ended`; raises EndpointsError."""
        # What has failed tells why; the others may still run.
        failed = [part for part in self._parts if part.kept.ended(0) and part.kept.exit_code != 0]
        reports = [part.report() for part in failed or self._parts]
        flows = sorted((flow for report in reports for flow in report["flows"]), key=lambda flow: int(flow["id"]))
        return {"flows": flows, "pings": [ping for report in reports for ping in report["pings"]]}


@contextmanager
def endpoints(plan: Mapping[str, Any]) -> Iterator[Running]:
    """Have the endpoints of a plan for a while; none is left, nor a file of them."""
    with ExitStack() as undo:
        yield Running([_Part(part, undo) for part in parts(plan)])


def parts(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Split a plan into that of those who send, flows or pings, and that of those who receive and last longer."""
    by_role = {role: [flow for flow in plan["flows"] if flow["role"] == role] for role in ("receive", "send")}
    receiving = {
        **plan,
        "flows": by_role["receive"],
        "pings": [],
        "duration_s": plan["duration_s"] + LINGER_S,
    }
    sending = {**plan, "flows": by_role["send"]}
    return [part for part in (receiving, sending) if part["flows"] or part.get("pings")]
