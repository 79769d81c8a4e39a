"""libutp, the LEDBAT of the paper: built on request, run as a process of its own for each end of a flow.

Its source is the folder deps/libutp (MIT) of the npm package utp-native, which the user's own npm client fetches; it
is compiled together with driver.cpp into Sojourn's cache. Nothing of it comes with Sojourn.
"""

import hashlib
import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import _native
from sojourn.worlds.linux.errors import BuildError, Missing, NotInstalledError
from sojourn.worlds.linux.places import cache_folder, work_folder
from sojourn.worlds.linux.tools import UTP_TOOLS, missing_tools

PACKAGE = "utp-native@2.5.3"
# Of the package's file: what was compiled here is what was compiled anywhere.
SHA256 = "e1a534fdb46784e8f121af45aac3dce30b5328d5e0a82b819b9f4bd02ccb0166"
BUILD_COMMAND = "sojourn testbed build-libutp"
DRIVER = Path(__file__).with_name("driver.cpp")
_SOURCES = ("internal", "utils", "hash", "callbacks", "api", "packedsockaddr")
_FOLDER = "package/deps/libutp/"
_FETCH_S, _COMPILE_S = 120, 300
_SHOWN_LINES = 12

Report = Callable[[float, str], None]
"""Takes the done fraction and a note."""


class UtpError(ValueError):
    """libutp cannot do what a plan asks for."""


def program() -> Path:
    """Return where the driver of this version is, or will be when it was built."""
    name = hashlib.sha256(SHA256.encode() + DRIVER.read_bytes()).hexdigest()[:16]
    return folder() / name / "driver"


def folder() -> Path:
    """Return where all that was built is kept."""
    return cache_folder() / "libutp"


def missing() -> list[Missing]:
    """Return what this machine lacks to run flows over libutp."""
    return [] if program().exists() else [Missing("libutp", None, f"To build it: {BUILD_COMMAND}")]


def build(*, report: Report | None = None) -> Path:
    """Fetch, compile and keep libutp with its driver; return the program, which may have been there already.

    Raises
    ------
    NotInstalledError
        npm or c++ is missing.
    BuildError
        npm brought nothing, or something else than expected, or the compiler failed.
    """
    target = program()
    if target.exists():
        return target
    lacks = missing_tools(UTP_TOOLS)
    if lacks:
        raise NotInstalledError("building libutp", lacks)
    told = report or (lambda _part, _note: None)
    with work_folder() as folder:
        told(0.0, f"npm fetches {PACKAGE}")
        source = _unpack(_fetch(folder), folder)
        told(0.4, "compiling")
        built = _compile(source, folder)
        told(0.95, "keeping it")
        _keep(built, source / "LICENSE", target)
    told(1.0, "done")
    return target


def _fetch(folder: Path) -> Path:
    """Have npm bring the package."""
    _run(
        ["npm", "pack", "--silent", "--pack-destination", str(folder), PACKAGE],
        folder,
        _FETCH_S,
        f"npm could not fetch {PACKAGE}",
    )
    files = list(folder.glob("*.tgz"))
    if len(files) != 1:
        raise BuildError(f"npm was to bring one file of {PACKAGE} and brought {len(files)}")
    found = hashlib.sha256(files[0].read_bytes()).hexdigest()
    if found != SHA256:
        raise BuildError(f"what npm brought for {PACKAGE} has the SHA-256 sum {found}; expected is {SHA256}")
    return files[0]


def _unpack(package: Path, folder: Path) -> Path:
    """Unpack libutp only."""
    with tarfile.open(package) as archive:
        members = [member for member in archive.getmembers() if member.name.startswith(_FOLDER) and member.isfile()]
        archive.extractall(folder, members=members, filter="data")
    return folder / _FOLDER


def _compile(source: Path, folder: Path) -> Path:
    built = folder / "driver"
    files = [str(DRIVER), *(str(source / f"utp_{name}.cpp") for name in _SOURCES)]
    # -fpermissive and -w: libutp is of 2012 and has its ways.
    options = ["-std=c++17", "-O2", "-DPOSIX", "-fno-exceptions", "-fno-rtti", "-fpermissive", "-w", f"-I{source}"]
    _run(["c++", *options, "-o", str(built), *files], folder, _COMPILE_S, "the compiler failed")
    return built


def _keep(built: Path, license_file: Path, target: Path) -> None:
    """Put the program into the cache, whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(license_file, target.with_name("LICENSE"))
    unfinished = target.with_name(f".{target.name}.part")
    shutil.copy2(built, unfinished)
    unfinished.replace(target)


def _run(command: Sequence[str], folder: Path, timeout_s: float, failure: str) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired:
        raise BuildError(f"{failure}: it took more than {timeout_s:g} s") from None
    if done.returncode != 0:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise BuildError("\n".join([f"{failure}:", *lines[-_SHOWN_LINES:]]))


@dataclass(frozen=True)
class Flow:
    """One end of a flow over libutp, from an entry of a plan (see `sojourn.worlds.linux.endpoint`)."""

    entry: Mapping[str, Any]

    def __post_init__(self) -> None:
        traffic = self.entry.get("traffic") or {"kind": "bulk"}
        if traffic.get("kind") != "bulk":
            raise UtpError(
                f"flow {self.entry['id']}: traffic {traffic.get('kind')!r} cannot go over libutp; allowed is bulk"
            )
        # A wrong one is told before anything runs.
        _ = self.size_bytes, self.target_us

    @property
    def size_bytes(self) -> int:
        """Payload bytes to send; 0 without end."""
        traffic = self.entry.get("traffic") or {}
        return _bytes(traffic.get("size", "0 B"), self.entry["id"])

    @property
    def target_us(self) -> int:
        """The target delay that the scenario's control asks for in us; 0 for libutp's own, which is 100 ms."""
        control = self.entry.get("control")
        if not isinstance(control, Mapping) or "target" not in control:
            return 0
        found = _native.quantity(control["target"])
        if found is None or found[1] != "s":
            raise UtpError(f"flow {self.entry['id']}: control.target is {control['target']!r}; allowed is a time")
        return round(found[0] * 1e6)

    def command(self, plan: Mapping[str, Any]) -> list[str]:
        """Return the command that runs this end of the flow in a run of `plan`."""
        start = float(plan["start_at_s"])
        end = start + float(plan["duration_s"])
        stop = self.entry.get("stop_s")
        times = [
            start,
            self.start_s(plan),
            end if stop is None else min(start + stop, end),
            end,
            plan.get("bin_s", 0.1),
        ]
        driver = self.entry.get("driver") or program()
        addresses = [str(self.entry[key]) for key in ("role", "local", "peer", "port")]
        tail = [str(self.size_bytes), str(int(self.entry.get("dscp", 0)) << 2), str(self.target_us)]
        return [str(driver), *addresses, *(repr(float(time)) for time in times), *tail, *self._bounds(plan)]

    def _bounds(self, plan: Mapping[str, Any]) -> list[str]:
        """Return token, own rate and the session's budget as the driver takes them."""
        token, budget = self.entry.get("token"), plan.get("budget")
        own = ["-" if token is None else str(token), str(self.entry.get("max_rate_bps") or 0)]
        if budget is None:
            return [*own, "-", "0", "0"]
        # Of the burst, data may use a third and answers another: crates/sojourn-wire/src/budget.rs.
        parts = 1 if self.entry["role"] == "send" else 2
        return [*own, str(budget["file"]), str(budget["rate_bps"]), str(budget["burst_bytes"] * parts // 3)]

    def start_s(self, plan: Mapping[str, Any]) -> float:
        """Return when it starts on CLOCK_MONOTONIC."""
        return float(plan["start_at_s"]) + float(self.entry.get("start_s", 0.0))

    def report(self, output: str, plan: Mapping[str, Any]) -> dict[str, Any]:
        """Return the flow's entry in the report from what the driver printed."""
        seen = json.loads(output)
        report: dict[str, Any] = {"id": self.entry["id"]}
        if self.entry["role"] == "receive":
            report["delivered_bytes"] = seen["bins"]
            whole = self.size_bytes > 0 and seen["received_bytes"] == self.size_bytes
            report["completions"] = [[seen["last_byte_s"] - self.start_s(plan), self.size_bytes]] if whole else []
        if seen["problem"]:
            report["problem"] = f"flow {self.entry['id']}: libutp says {seen['problem']}"
        return report


def _bytes(text: str | int, flow: int) -> int:
    """Read a size as a scenario has it."""
    quantity = (float(text), "B") if isinstance(text, int) else _native.quantity(text)
    if quantity is None or quantity[1] != "B" or quantity[0] < 0:
        raise UtpError(f"flow {flow}: traffic.size is {text!r}; allowed is a size in bytes, such as '1 MB'")
    return round(quantity[0])
