"""Runs many job folders side by side, as many as the machine has processors and memory for."""

import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from sojourn.processors import usable_processors
from sojourn.worlds.linux.kernels import INSIDE, Kernel, Progress
from sojourn.worlds.linux.kernels.uml import MEMORY_BYTES

_LOOK_EVERY_S = 0.1
_MEMORY = Path("/proc/meminfo")
_AVAILABLE = re.compile(r"^MemAvailable: +(\d+) kB$", flags=re.M)


def most_jobs() -> int:
    """Return how many kernels fit side by side: a processor for each, and memory for half of what each may ask for.

    A job seldom touches all of its memory.
    """
    available = _AVAILABLE.search(_MEMORY.read_text(encoding="ascii"))
    if available is None:
        return usable_processors()
    return max(1, min(usable_processors(), 2 * (int(available[1]) << 10) // MEMORY_BYTES))


def run_all(
    kernel: Kernel,
    folders: Sequence[Path],
    *,
    timeout_s: float,
    jobs: int | None = None,
    progress: Progress | None = None,
    done: Callable[[Path], None] | None = None,
    module: str = INSIDE,
) -> None:
    """Run all job folders; `progress` takes the done fraction of all, `done` each folder that has its report.

    The first failure stops the rest and is raised when they have ended, with the name of its folder in a note; so
    does Ctrl-C. Folders that were done keep their reports.
    """
    _Pool(kernel, timeout_s, module).run(folders, jobs or most_jobs(), progress, done)


class _Pool:
    def __init__(self, kernel: Kernel, timeout_s: float, module: str) -> None:
        self.kernel = kernel
        self.timeout_s = timeout_s
        self.module = module
        self.stop = threading.Event()
        self.parts: dict[Path, float] = {}

    def run(
        self,
        folders: Sequence[Path],
        jobs: int,
        progress: Progress | None,
        done: Callable[[Path], None] | None,
    ) -> None:
        waiting = iter(folders)
        running: dict[Future[None], Path] = {}
        with ThreadPoolExecutor(jobs) as pool:
            try:
                while True:
                    while len(running) < jobs and (folder := next(waiting, None)) is not None:
                        running[pool.submit(self._job, folder)] = folder
                    if not running:
                        return
                    finished, _ = wait(running, timeout=_LOOK_EVERY_S, return_when=FIRST_COMPLETED)
                    for future in finished:
                        _finish(future, running.pop(future), done)
                    if progress is not None:
                        progress(sum(list(self.parts.values())) / len(folders))
            except BaseException:
                # The pool waits for the rest, which end within a moment.
                self.stop.set()
                raise

    def _job(self, folder: Path) -> None:
        def progress(part: float) -> None:
            self.parts[folder] = part

        self.kernel.run(
            folder, timeout_s=self.timeout_s, progress=progress, stopped=self.stop.is_set, module=self.module
        )
        self.parts[folder] = 1.0


def _finish(future: Future[None], folder: Path, done: Callable[[Path], None] | None) -> None:
    try:
        future.result()
    except Exception as error:
        error.add_note(f"in {folder}")
        raise
    if done is not None:
        done(folder)
