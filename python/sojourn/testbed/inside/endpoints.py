"""Starts the endpoint processes of a plan in their namespaces, waits for them, and stops them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sojourn.testbed.inside.namespace import entered

_STOP_S = 5.0


class EndpointError(Exception):
    """An endpoint process failed."""


class Endpoints:
    """The running endpoint processes by namespace."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, plan: Mapping[str, Any]) -> None:
        """Start the endpoint of a namespace."""
        path, report = self._folder / f"{name}.plan.json", self._report(name)
        path.write_text(json.dumps(plan), encoding="utf-8")
        command = [sys.executable, "-m", "sojourn.testbed.endpoint", str(path), str(report)]
        with entered(name), (self._folder / f"{name}.log").open("wb") as log:
            self._processes[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._folder, env=dict(os.environ)
            )

    def check(self) -> bool:
        """Tell whether any is still running; raises EndpointError for one that failed."""
        for name, process in self._processes.items():
            if process.poll() not in {None, 0}:
                raise EndpointError(f"the endpoint in {name} failed: {self._last_words(name)}")
        return any(process.poll() is None for process in self._processes.values())

    def reports(self) -> dict[str, Any]:
        """Return what each endpoint reported."""
        return {name: json.loads(self._report(name).read_text(encoding="utf-8")) for name in self._processes}

    def stop(self) -> None:
        """End what still runs."""
        running = [process for process in self._processes.values() if process.poll() is None]
        for process in running:
            process.terminate()
        for process in running:
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _report(self, name: str) -> Path:
        return self._folder / f"{name}.report.json"

    def _last_words(self, name: str) -> str:
        text = (self._folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")
        lines = [line for line in text.splitlines() if line.strip()]
        return lines[-1] if lines else f"it ended with exit code {self._processes[name].returncode} and said nothing"


@contextmanager
def endpoints(folder: Path) -> Iterator[Endpoints]:
    """Have endpoint processes for a while; those that still run at the end are stopped."""
    running = Endpoints(folder)
    try:
        yield running
    finally:
        running.stop()
