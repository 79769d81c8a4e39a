"""Other people's transport stacks in the simulation: programs that run a scenario with their connections on its flows.

A stack is a program that runs a scenario whose groups say `stack`, and prints the record as JSON: `PROGRAM SCENARIO
[SEED]`. Those of `sojourn-endpoint` do, in Rust and in C.
"""

import json
import os
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

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

    logs: "tempfile.TemporaryDirectory[str] | None" = None

    def write_qlogs(self, directory: str) -> int:
        """Copy what its senders decided to a folder, and return how many files there are."""
        if self.logs is None:
            raise ValueError("no decisions were kept")
        shutil.copytree(self.logs.name, directory, dirs_exist_ok=True)
        return len(list(Path(self.logs.name).iterdir()))


def run(
    scenario: _native.Scenario, seeds: Sequence[int], wanted: Wanted, *, jobs: int | None, progress: Progress | None
) -> list[StackRun]:
    """Run a scenario with a stack once for each seed; raises StackError with the stack's own words where it fails."""
    check_kept(scenario, wanted)
    group, name = scenario.stack or ("", "")
    program = check(name, f"group.{group}.stack")
    text = scenario.to_toml()

    def one(seed: int) -> StackRun:
        logs = tempfile.TemporaryDirectory(prefix="sojourn-qlog-") if wanted.decisions else None
        return StackRun(seed, record_of(program, text, seed, logs=None if logs is None else logs.name), logs)

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
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.toml"
        file.write_text(text, encoding="utf-8")
        words = [program, str(file), str(seed)]
        # QUIC stacks take the folder from this variable.
        environment = {**os.environ, "QLOGDIR": logs} if logs else None
        try:
            done = subprocess.run(  # noqa: S603 (named by the user)
                words, capture_output=True, text=True, check=False, timeout=longest_s, env=environment
            )
        except subprocess.TimeoutExpired:
            raise StackError(f"it ran for {longest_s:.0f} s and was stopped") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"it ended with code {done.returncode} without a word"]
        raise StackError(printable(said[-1].removeprefix("error: ")))
    try:
        record = json.loads(done.stdout)
    except ValueError:
        record = None
    if not isinstance(record, dict) or not record.keys() >= _PARTS:
        raise StackError("it printed no record; allowed: the record as JSON")
    return done.stdout
