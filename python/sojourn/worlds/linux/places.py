"""Where things lie for a while: Sojourn's cache, and folders of single jobs."""

import fcntl
import mmap
import os
import re
import shutil
import signal
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sojourn.worlds.linux.errors import KernelError
from sojourn.worlds.linux.kept import Kept

_PREFIX = "sojourn-"
_LOCK = "lock"
# What tempfile makes of the prefix, and what the lock holds: only such folders are ever removed as orphans.
_OWN = re.compile(r"sojourn-[a-z0-9_]{8}")
_MARK = b"sojourn work folder 1\n"
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
        with open(folder / f".{_LOCK}", "wb", opener=_for_owner) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.write(_MARK)
            lock.flush()
            # Seen only when it is held: who removes orphans must not take a new folder for one.
            (folder / f".{_LOCK}").rename(folder / _LOCK)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


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
    return [base / name for name in _names(base) if _OWN.fullmatch(name) and _remove_orphan(base / name)]


def _names(base: Path) -> list[str]:
    try:
        return sorted(os.listdir(base))  # noqa: PTH208 (names, not paths)
    except OSError:
        return []


def _remove_orphan(folder: Path) -> bool:
    """Remove a folder that is this user's, was made by `keeper_folder`, and is not in use; tell whether it was.

    Others may write to the place where it lies: nothing is followed, and nothing is opened for writing.
    """
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if not _is_own(os.fstat(handle), stat.S_IFDIR | 0o700) or not _is_free(handle):
            return False
        # Since the folder was opened its name may have come to mean another; nobody else can rename a user's own folder
        # where the sticky bit is set.
        if os.fstat(handle).st_ino != folder.lstat().st_ino:
            return False
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _is_free(folder: int) -> bool:
    """Tell whether the folder open as `folder` has a lock of ours that nobody holds."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    lock = os.open(_LOCK, flags, dir_fd=folder)
    try:
        if not _is_own(os.fstat(lock), stat.S_IFREG | 0o600) or os.read(lock, len(_MARK) + 1) != _MARK:
            return False
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(lock)
    return True


def _is_own(found: os.stat_result, mode: int) -> bool:
    return found.st_uid == os.getuid() and found.st_mode == mode
