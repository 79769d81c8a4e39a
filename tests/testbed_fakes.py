"""Stand-ins for kernels, for tests that need none."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn.worlds.linux.errors import Missing
from sojourn.worlds.linux.kernels import INSIDE, Progress, never
from sojourn.worlds.linux.tools import TOOLS


def stub_tools(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every tool of the testbed found, where this machine has it or not."""
    folder.mkdir()
    for tool in TOOLS:
        (folder / tool.name).touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{folder}")


class FakeKernel:
    """A kernel whose jobs are functions here."""

    virtual_time = False
    summary = "for tests"

    def __init__(
        self, name: str, lacks: list[Missing] | None = None, job: Callable[..., None] = lambda **_: None
    ) -> None:
        self.name = name
        self.lacks = lacks or []
        self.job = job

    def missing(self) -> list[Missing]:
        return self.lacks

    def version(self) -> str | None:
        return None if self.lacks else "6.1.0"

    def run(
        self,
        folder: Path,
        *,
        timeout_s: float,
        progress: Progress | None = None,
        stopped: Callable[[], bool] = never,
        module: str = INSIDE,
    ) -> None:
        self.job(folder=folder, timeout_s=timeout_s, progress=progress, stopped=stopped, module=module)
