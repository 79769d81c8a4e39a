"""Other people's transport stacks in the simulation: programs that run a scenario with their connections on its flows.

A stack is a program that runs a scenario whose groups say `stack`, and prints the record as JSON: `PROGRAM SCENARIO
[SEED]`. `PROGRAM --laws` prints the laws of stacks, `PROGRAM --law NAME [CONTROL]` its verdict on one. Those of
`sojourn-endpoint` do all that, in Rust and in C.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sojourn import _native
from sojourn.data.rows import DECISIONS
from sojourn.faults import input_error
from sojourn.processors import usable_processors
from sojourn.reading import printable
from sojourn.tables import KeptRun
from sojourn.worlds.world import Progress, Wanted, WorldError

_SOURCES = Path(__file__).parents[3] / "stacks"
_BUILT = _SOURCES.parent / "target" / "stacks"
"""Where the stacks of a copy of the sources are built."""
MOST_MEMORY_BYTES, MOST_FILE_BYTES, MOST_PRINTED_BYTES, MOST_SAID_BYTES = 4 << 30, 4 << 30, 256 << 20, 64 << 10
"""What a run may take: a run of the known stacks takes some 100 MB, its record less than one."""
_PARTS = {"bottleneck", "flows", "groups"}


class StackError(WorldError):
    """What a stack did instead of running; the message is a sentence."""


@dataclass(frozen=True)
class Own:
    """A stack in a copy of Sojourn's sources."""

    name: str

    @property
    def manifest(self) -> Path:
        """Its file `Cargo.toml`."""
        return _SOURCES / self.name / "Cargo.toml"

    @property
    def row(self) -> dict[str, str]:
        """What a list says of it."""
        package = tomllib.loads(self.manifest.read_text(encoding="utf-8"))["package"]
        controls = ", ".join(package["metadata"]["sojourn"]["controls"])
        state = "yes" if found(self.name) else f"sojourn stacks build {self.name}"
        return {"name": self.name, "summary": package["description"], "controls": controls, "built": state}

    @property
    def missing(self) -> str | None:
        """Why it cannot be built here, where that is known before."""
        check = self.manifest.parent / "can-build"
        if not check.exists():
            return None
        done = subprocess.run([check], capture_output=True, text=True, check=False)  # noqa: S603 (of the sources)
        return done.stdout.strip() if done.returncode else None

    def build(self) -> None:
        """Build it, with what cargo says on stderr; raises WorldError where that fails."""
        if self.missing:
            raise WorldError(self.missing)
        cargo = shutil.which("cargo")
        if cargo is None:
            raise WorldError("building a stack needs cargo (https://rustup.rs), which is not on the search path")
        words = ("build", "--release", "--locked", "--manifest-path", self.manifest, "--target-dir", _BUILT)
        if subprocess.run([cargo, *words], check=False).returncode:  # noqa: S603 (of the sources)
            raise WorldError(f"{self.name} was not built; cargo says why")


def in_sources() -> list[Own]:
    """Return the stacks of the sources; raises InputError where Sojourn was installed without them."""
    names = _names()
    if not names:
        message = f"there are no stacks in {_SOURCES}; allowed: Sojourn installed from a copy of its sources"
        raise input_error(message, found=str(_SOURCES), allowed="a copy of the sources")
    return [Own(name) for name in names]


def _names() -> list[str]:
    return [file.parent.name for file in sorted(_SOURCES.glob("*/Cargo.toml"))]


def found(name: str) -> str | None:
    """Return the program that is meant: a path, a name on the search path, or one of Sojourn's own that is built."""
    program = f"sojourn-stack-{name}"
    places = (name, program, str(_BUILT / "release" / program))
    return next(filter(None, map(shutil.which, places)), None)


def check(name: str, key: str) -> str:
    """Return the program of a stack; raises InputError, with the command that builds it, where there is none."""
    program = found(name)
    if program is None:
        is_own = name in _names()
        allowed = f"`sojourn stacks build {name}` first" if is_own else "a program: PROGRAM SCENARIO [SEED]"
        state = "is not built" if is_own else "is not there, or not executable"
        raise input_error(f"{key}: {name!r} {state}; allowed: {allowed}", key=key, found=name, allowed=allowed)
    return program


def check_kept(scenario: _native.Scenario, wanted: Wanted) -> None:
    """Raise InputError where more is wanted than records and decisions, which is all that a stack's run keeps."""
    more = [one for one in wanted.keep if one != DECISIONS]
    if more and scenario.stack is not None:
        key, kept = f"group.{scenario.stack[0]}.stack", ", ".join(more)
        message = f"{key}: runs with a stack keep no {kept}; allowed: their records and --qlog, no pictures over time"
        raise input_error(message, key=key, found=kept, allowed="records and qlog")


@dataclass(frozen=True)
class StackRun(KeptRun):
    """A run with a stack, and the folder with what its senders decided, where that was wanted."""

    logs: str | None = None

    def write_qlogs(self, directory: str) -> int:
        """Copy what its senders decided to a folder, and return how many files there are."""
        if self.logs is None:
            raise ValueError("no decisions were kept")
        shutil.copytree(self.logs, directory, dirs_exist_ok=True)
        return len(list(Path(self.logs).iterdir()))


def run(
    scenario: _native.Scenario, seeds: Sequence[int], wanted: Wanted, *, jobs: int | None, progress: Progress | None
) -> list[StackRun]:
    """Run a scenario with a stack once for each seed; raises StackError with the stack's own words where it fails."""
    check_kept(scenario, wanted)
    group, name = scenario.stack or ("", "")
    program = check(name, f"group.{group}.stack")
    text = scenario.to_toml()

    def one(seed: int) -> StackRun:
        if not wanted.decisions:
            return StackRun(seed, record_of(program, text, seed))
        with contextlib.ExitStack() as failed:
            logs = tempfile.mkdtemp(prefix="sojourn-qlog-")
            failed.callback(shutil.rmtree, logs)
            made = StackRun(seed, record_of(program, text, seed, logs=logs), logs)
            failed.pop_all()
        weakref.finalize(made, shutil.rmtree, logs)
        return made

    runs = []
    with ThreadPoolExecutor(jobs or usable_processors()) as pool:
        for made in pool.map(one, seeds):
            runs.append(made)
            if progress is not None:
                progress(len(runs) / len(seeds))
    return runs


def record_of(program: str, text: str, seed: int, longest_s: float | None = None, logs: str | None = None) -> str:
    """Return the record, as JSON, of one run of a program with the scenario `text`; stop it after so many seconds.

    What senders decide is written to the folder `logs`, as qlog, where it is given.
    """
    # QUIC stacks take the folder from this variable.
    environment = {**os.environ, "QLOGDIR": logs} if logs else None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.toml"
        file.write_text(text, encoding="utf-8")
        record = _printed([program, str(file), str(seed)], longest_s, environment)
    found = _read(record)
    if not (isinstance(found, dict) and found.keys() >= _PARTS):
        raise StackError("it printed no record; allowed: the record as JSON")
    return record


def laws_of(name: str, longest_s: float) -> list[tuple[str, str]]:
    """Return the laws by which a stack's program judges: the name of each, and what it says."""
    match _read(_printed([check(name, "--stack"), "--laws"], longest_s)):
        case [_, *_] as laws if all(_are_texts(law, "name", "says") for law in laws):
            return [(law["name"], printable(law["says"])) for law in laws]
    raise StackError("--laws: it printed no laws; allowed: a list with name and says of each, as JSON")


def verdict_of(name: str, law: str, control: str | None, longest_s: float) -> tuple[bool, str]:
    """Return whether a stack with one of its controls keeps a law, and what its program found."""
    words = [check(name, "--stack"), "--law", law, *([] if control is None else [control])]
    match _read(_printed(words, longest_s)):
        case {"holds": bool(holds), "found": str(found)}:
            return holds, printable(found[:MOST_SAID_BYTES])
    raise StackError(f"--law {law}: it printed no verdict; allowed: holds and found, as JSON")


def _printed(words: Sequence[str], longest_s: float | None, environment: Mapping[str, str] | None = None) -> str:
    """Return what a program prints; raises StackError with its own words where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        printed, said = (Path(folder) / name for name in ("printed", "said"))
        with printed.open("wb") as out, said.open("wb") as errors:
            code = _ended(words, out, errors, environment, longest_s)
        if code:
            last = _tail(said).strip().splitlines() or [f"it ended with code {code} without a word"]
            raise StackError(printable(last[-1].removeprefix("error: ")))
        if printed.stat().st_size > MOST_PRINTED_BYTES:
            raise StackError(f"it printed more than {MOST_PRINTED_BYTES >> 20} MiB; a record is far less")
        return printed.read_text(encoding="utf-8", errors="replace")


def _ended(
    words: Sequence[str],
    out: IO[bytes],
    errors: IO[bytes],
    environment: Mapping[str, str] | None,
    longest_s: float | None,
) -> int:
    """Run a program within bounds, and return its exit code."""
    with subprocess.Popen(words, stdout=out, stderr=errors, env=environment) as process:  # noqa: S603 (named by the user)
        try:
            _limit(process.pid)
            return process.wait(longest_s)
        except subprocess.TimeoutExpired:
            raise StackError(f"it ran for {longest_s:.0f} s and was stopped") from None
        finally:
            process.kill()


def _tail(file: Path) -> str:
    """Return the end of what a program said, which may be any amount."""
    with file.open("rb") as text:
        text.seek(max(0, file.stat().st_size - MOST_SAID_BYTES))
        return text.read().decode(errors="replace")


def _read(text: str) -> Any:
    """Return what a text of JSON says; None where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _are_texts(table: Any, *keys: str) -> bool:
    return isinstance(table, dict) and all(isinstance(table.get(key), str) for key in keys)


def _limit(process: int) -> None:
    """Bound what a stack may take of this machine, where the system can."""
    if sys.platform == "linux":
        import resource

        # It may have ended already.
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(process, resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
            resource.prlimit(process, resource.RLIMIT_FSIZE, (MOST_FILE_BYTES, MOST_FILE_BYTES))
