"""Runs the endpoints of a plan, each as a process in its namespace, waits for them, and stops them."""

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sojourn.worlds.linux import endpoint
from sojourn.worlds.linux.inside.namespace import enter

_STOP_S = 5.0
_LOOK_EVERY_S = 0.05


class EndpointError(Exception):
    """An endpoint process failed: `kind` is input, missing or failed."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class _Process:
    """A copy of this process: a new one would read all of Python's modules again, which is slow in a kernel."""

    def __init__(self, namespace: str, plan: Path, report: Path, log: Path) -> None:
        self.code: int | None = None
        self.pid = os.fork()
        if not self.pid:
            _child(namespace, plan, report, log)

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def stop(self) -> None:
        """End it, gently first."""
        for number, patience_s in ((signal.SIGTERM, _STOP_S), (signal.SIGKILL, _STOP_S)):
            if self.poll() is not None:
                return
            os.kill(self.pid, number)
            until = time.monotonic() + patience_s
            while self.poll() is None and time.monotonic() < until:
                time.sleep(_LOOK_EVERY_S)


def _child(namespace: str, plan: Path, report: Path, log: Path) -> None:
    """Be an endpoint, and never return."""
    code = 1
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(plan.parent)
        enter(namespace)
        code = endpoint.main([str(plan), str(report)])
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


class Endpoints:
    """The running endpoint processes by namespace."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[str, _Process] = {}

    def start(self, name: str, plan: Mapping[str, Any]) -> None:
        """Start the endpoint of a namespace."""
        path = self._folder / f"{name}.plan.json"
        path.write_text(json.dumps(plan), encoding="utf-8")
        self._processes[name] = _Process(name, path, self._report(name), self._folder / f"{name}.log")

    def check(self) -> bool:
        """Tell whether any is still running; raises EndpointError for one that failed."""
        codes = {name: process.poll() for name, process in self._processes.items()}
        for name, code in codes.items():
            if code:
                raise self._failure(name, code)
        return any(code is None for code in codes.values())

    def reports(self) -> dict[str, Any]:
        """Return what each endpoint reported."""
        return {name: json.loads(self._report(name).read_text(encoding="utf-8")) for name in self._processes}

    def stop(self) -> None:
        """End what still runs."""
        for process in self._processes.values():
            process.stop()

    def _report(self, name: str) -> Path:
        return self._folder / f"{name}.report.json"

    def _failure(self, name: str, code: int) -> EndpointError:
        """Say what an endpoint said of its failure, else the last line of its log."""
        try:
            told = json.loads(self._report(name).read_text(encoding="utf-8"))["error"]
            return EndpointError(told["kind"], f"in namespace {name}: {told['message']}")
        except (OSError, ValueError, KeyError):
            text = (self._folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")
        lines = [line for line in text.splitlines() if line.strip()] or ["it said nothing"]
        return EndpointError("failed", f"the endpoint in {name} ended with exit code {code}: {lines[-1]}")


@contextmanager
def endpoints(folder: Path) -> Iterator[Endpoints]:
    """Have endpoint processes for a while; those that still run at the end are stopped."""
    running = Endpoints(folder)
    try:
        yield running
    finally:
        running.stop()
