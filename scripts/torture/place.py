"""A place in which all processes, mounts, networks and locks are the torture's own, and what is left there."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

GONE_S = 60.0
"""So long may what was kept take to end after its owner, on a busy machine."""

_INSIDE = "SOJOURN_TORTURE_INSIDE"
_OWN_MOUNTS = ("/run", "/dev/shm")  # noqa: S108 (named to be hidden)
_LOOK_EVERY_S = 0.05
_NO_HANDLE = "0:"


class NoPlaceError(Exception):
    """Namespaces cannot be made here; the text says why."""


def enter(module: str, arguments: Collection[str]) -> int | None:
    """Run the module again in namespaces of its own and return its exit code; None where this is that place."""
    if os.environ.get(_INSIDE):
        _furnish()
        return None
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        raise NoPlaceError("unshare and ip are needed (packages util-linux and iproute2)")
    unshare = ["unshare", "--mount", "--net", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        unshare += ["--user", "--map-root-user"]
    tried = subprocess.run([*unshare, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        raise NoPlaceError(f"namespaces cannot be made here: {tried.stderr.strip()}")
    environment = {**os.environ, _INSIDE: "1"}
    return subprocess.run([*unshare, sys.executable, "-m", module, *arguments], env=environment, check=False).returncode


def _furnish() -> None:
    for folder in _OWN_MOUNTS:
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    # What `ip netns add` would change at its first call.
    Path("/run/netns").mkdir()
    subprocess.run(["mount", "--bind", "/run/netns", "/run/netns"], check=True)
    subprocess.run(["mount", "--make-shared", "/run/netns"], check=True)


def processes() -> dict[int, str]:
    """Return the command lines of all processes here but this one."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                # Of one that has ended and was not waited for, nothing is left but its number.
                if words:
                    found[int(entry.name)] = words
    return found


def left_processes(spare: Collection[int] = ()) -> list[str]:
    """Return the processes that are left here, once they had time to end; `spare` are meant to be there."""
    return _waited(lambda: list(_left_processes(spare)))


def left(temporary: Path, *, spare: Collection[int] = (), networks: Collection[str] = ()) -> list[str]:
    """Return what is left here, once all that was to end had time to.

    `spare` are processes and `networks` names of network namespaces that are meant to be there.
    """
    return _waited(lambda: list(_left(temporary, spare, networks)))


def _waited(look: Callable[[], list[str]]) -> list[str]:
    """Return what a look finds, as soon as it finds nothing or has found something for long enough."""
    until = time.monotonic() + GONE_S
    while (found := look()) and time.monotonic() < until:
        time.sleep(_LOOK_EVERY_S)
    return found


def _left(temporary: Path, spare: Collection[int], networks: Collection[str]) -> Iterator[str]:
    yield from _left_processes(spare)
    yield from (f"network namespace {name} is left" for name in _names(Path("/run/netns")) if name not in networks)
    yield from (f"{temporary / name} is left" for name in _names(temporary))
    yield from (f"lock {name} is left" for name in _names(Path("/run/sojourn")))
    yield from (f"shared memory {name} is left" for name in _names(Path("/dev/shm")))  # noqa: S108
    for network in (None, *networks):
        for interface, handle in roots(network).items():
            yield f"{interface} of {network or 'this network'} still has the root discipline {handle}"
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()]
    yield from (f"mount {path} is left" for path in mounts if Path(path).is_relative_to(temporary))


def _left_processes(spare: Collection[int]) -> Iterator[str]:
    yield from (f"process {pid} is left: {words}" for pid, words in processes().items() if pid not in spare)


def _names(folder: Path) -> list[str]:
    with suppress(OSError):
        return sorted(path.name for path in folder.iterdir())
    return []


def roots(network: str | None = None) -> dict[str, str]:
    """Return the root disciplines that somebody has set in a network namespace, by interface."""
    where = [] if network is None else ["ip", "netns", "exec", network]
    told = subprocess.run([*where, "tc", "-j", "qdisc", "show"], capture_output=True, text=True, check=True).stdout
    set_here = [one for one in json.loads(told) if one.get("root") and one["handle"] != _NO_HANDLE]
    return {one["dev"]: f"{one['kind']} {one['handle']}" for one in set_here}
