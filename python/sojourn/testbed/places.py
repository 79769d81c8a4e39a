"""Where things lie for a while: Sojourn's cache, and folders of single jobs."""

import fcntl
import mmap
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sojourn.testbed.errors import KernelError
from sojourn.testbed.kept import Kept

_PREFIX = "sojourn-"
_LOCK = "lock"
# The unit of st_blocks, whatever the file system has.
_BLOCK_BYTES = 512
# A boot parameter ends at a space, and quotes have a meaning in it.
_UNFIT = set(" \t\n\"'\\,")
# Inside a kernel these hold something else than outside.
HIDDEN = (Path("/dev"), Path("/proc"), Path("/run"), Path("/sys"))


def cache_folder() -> Path:
    """Return Sojourn's folder for what can be made again: `$XDG_CACHE_HOME/sojourn`, else `~/.cache/sojourn`."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The specification has relative paths ignored.
    base = Path(named) if Path(named).is_absolute() else Path.home() / ".cache"
    return base / "sojourn"


def remove(folder: Path) -> int:
    """Remove a folder of the cache, if it is there; return the bytes that became free."""
    if not folder.is_dir():
        return 0
    size = sum(path.lstat().st_blocks * _BLOCK_BYTES for path in folder.rglob("*"))
    shutil.rmtree(folder)
    return size


@contextmanager
def work_folder() -> Iterator[Path]:
    """Give a new folder for files that kernels see too, under the same path.

    It is removed when the context ends, or this process does, however that comes.
    """
    with keeper_folder() as folder, Kept(folder, ("sleep", "infinity"), signal.SIGKILL):
        yield folder


@contextmanager
def keeper_folder() -> Iterator[Path]:
    """Give a new folder for the files of one kept command, whose keeper removes it.

    One whose owner was killed together with its keeper is removed by the next call.
    """
    base = _first_fit(_work_places(), _unfit_for_work, "the files of a job")
    _remove_orphans(base)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
    try:
        with (folder / f".{_LOCK}").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Seen only when it is held: who removes orphans must not take a new folder for one.
            (folder / f".{_LOCK}").rename(folder / _LOCK)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_orphans() -> list[Path]:
    """Remove the folders whose owners were killed together with their keepers; return them."""
    return [folder for base in _work_places() for folder in _remove_orphans(base)]


def memory_folder(needed_bytes: int) -> Path:
    """Return where a kernel may keep its memory, as a file without a name: in memory where possible."""

    def unfit(place: Path) -> str | None:
        return _unfit_for_memory(place, needed_bytes)

    places = (Path("/dev/shm"), Path(tempfile.gettempdir()), cache_folder())  # noqa: S108 (the file has no name)
    return _first_fit(places, unfit, "a kernel's memory")


def is_hidden(path: Path) -> bool:
    """Tell whether a path holds something else inside a kernel."""
    return any(path.resolve().is_relative_to(place) for place in HIDDEN)


def _first_fit(places: Sequence[Path], unfit: Callable[[Path], str | None], what: str) -> Path:
    reasons = {place: unfit(place) for place in places}
    for place, reason in reasons.items():
        if reason is None:
            return place
    raise KernelError(f"no folder is fit for {what}: {', '.join(f'{place} {why}' for place, why in reasons.items())}")


def _unfit_for_work(place: Path) -> str | None:
    if _UNFIT & set(str(place)):
        return "has a character that boot parameters do not take"
    if is_hidden(place):
        return "holds something else inside a kernel"
    return None if os.access(place, os.W_OK | os.X_OK) else "cannot be written"


def _unfit_for_memory(place: Path, needed_bytes: int) -> str | None:
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.truncate(mmap.PAGESIZE)
            mmap.mmap(file.fileno(), mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()
        free = shutil.disk_usage(place).free
    except PermissionError:
        return "does not let files be written or mapped as code"
    except OSError as error:
        return f"cannot be used ({error.strerror})"
    return None if free >= needed_bytes else f"has {free >> 20} MB left of the {needed_bytes >> 20} MB needed"


def _work_places() -> tuple[Path, Path]:
    return Path(tempfile.gettempdir()), cache_folder()


def _remove_orphans(base: Path) -> list[Path]:
    removed = []
    for folder in base.glob(f"{_PREFIX}*"):
        try:
            with (folder / _LOCK).open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
                removed.append(folder)
        except OSError:
            # In use, another user's, or just being made.
            continue
    return removed
