"""The kernel with virtual time: built once from source, kept in Sojourn's cache."""

import fcntl
import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sojourn.worlds.linux.errors import BuildError, Missing, NotInstalledError
from sojourn.worlds.linux.kept import CONSOLE, Kept
from sojourn.worlds.linux.options import Options
from sojourn.worlds.linux.places import cache_folder, keeper_folder
from sojourn.worlds.linux.source import PACKAGE, Source
from sojourn.worlds.linux.tools import BUILD_TOOLS, missing_tools

PROGRAM = "linux"
BUILD_COMMAND = "sojourn testbed build-kernel"
_CONFIG, _ABOUT, _LOG = "config", "about.json", "build.log"
# Unpacked source and objects of 6.1, with some to spare.
_NEEDED_BYTES = {"unpack": 1_900_000_000, "build": 400_000_000}
# Files in the tarball of 6.1, to tell the progress.
_SOURCE_FILES = 83_700
# Where unpacking and configuring end on the way from 0 to 1.
_UNPACKED, _CONFIGURED = 0.1, 0.12
_POLL_S = 0.2
_SHOWN_LINES = 12
_COMPILED = re.compile(r"^  (?:CC|AS) +(\S+)", flags=re.M)

Report = Callable[[float, str], None]
"""Takes the done fraction and a note."""


def kernels_folder() -> Path:
    """Return where built kernels are kept."""
    return cache_folder() / "kernels"


def built_kernel() -> Path | None:
    """Return the newest kernel that was built; None where there is none."""
    found = sorted(kernels_folder().glob(f"[!.]*/{PROGRAM}"), key=lambda path: path.stat().st_mtime)
    return found[-1] if found else None


def missing_for_build(source: Source | None) -> list[Missing]:
    """Return what this machine lacks to build a kernel."""
    lacks = missing_tools(BUILD_TOOLS)
    if source is None:
        lacks.append(Missing(f"a kernel's source (package {PACKAGE}, or --source)", PACKAGE))
    return lacks


@dataclass(frozen=True)
class Built:
    """A kernel in the cache."""

    folder: Path
    absent: list[str]
    """Options that this version of the kernel does not have."""
    fresh: bool
    """Whether it was built now."""

    @property
    def program(self) -> Path:
        """The kernel itself."""
        return self.folder / PROGRAM


def build_kernel(source: Source | None, options: Options, *, jobs: int, force: bool, report: Report) -> Built:
    """Build a kernel, or return the one that was built from the same source with the same options.

    An interrupted build goes on where it was. Raises NotInstalledError, BuildError, or InputError.
    """
    lacks = missing_for_build(source)
    if lacks or source is None:
        raise NotInstalledError("building the kernel uml-virtual", lacks)
    key = source.key(options.digest)
    folder = kernels_folder() / key
    if (folder / PROGRAM).is_file() and not force:
        return Built(folder, json.loads((folder / _ABOUT).read_text(encoding="utf-8"))["absent"], fresh=False)
    work = folder.with_name(f".work-{key}")
    work.mkdir(parents=True, exist_ok=True)
    with _locked(work):
        absent = _Builder(source, options, work, report).build(jobs)
        _install(work / "objects", folder, {"source": source.path.name, "options": options.digest, "absent": absent})
        shutil.rmtree(work, ignore_errors=True)
    return Built(folder, absent, fresh=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BuildError("another process is building this kernel") from None
        yield


class _Builder:
    """One build, in a folder that stays until it is done."""

    def __init__(self, source: Source, options: Options, work: Path, report: Report) -> None:
        self.source = source
        self.options = options
        self.tree = source.path if source.is_tree else work / "source"
        self.objects = work / "objects"
        self.log = work / _LOG
        self.report = report
        self.work = work

    def build(self, jobs: int) -> list[str]:
        """Do what is left to do; return the wanted options that this kernel does not have."""
        self.log.unlink(missing_ok=True)
        if not self.tree.is_dir():
            self._check_space("unpack")
            self._unpack()
        if not (self.objects / "configured").is_file():
            self._check_space("build")
            self._configure()
        required, wanted = self.options.absent((self.objects / ".config").read_text(encoding="utf-8"))
        if required:
            raise BuildError(f"{self.source.path.name} cannot be built with {', '.join(required)}, which it needs")
        self._compile(jobs)
        return wanted

    def _check_space(self, step: str) -> None:
        free, needed = shutil.disk_usage(self.work).free, _NEEDED_BYTES[step]
        if free < needed:
            raise BuildError(
                f"{kernels_folder()} has {free / 1e9:.1f} GB left; to {step} the kernel takes {needed / 1e9:.1f} GB. "
                "XDG_CACHE_HOME names another place"
            )

    def _unpack(self) -> None:
        partial = self.work / "source.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        command = ["tar", "--extract", "--verbose", "--file", str(self.source.path), "--strip-components=1"]
        files = 0

        def count(text: str) -> None:
            nonlocal files
            files += text.count("\n")
            self.report(min(files / _SOURCE_FILES, 1) * _UNPACKED, f"unpacking, {files} files")

        self._run([*command, "--directory", str(partial)], count)
        partial.rename(self.tree)

    def _configure(self) -> None:
        self.report(_UNPACKED, "configuring")
        shutil.rmtree(self.objects, ignore_errors=True)
        self.objects.mkdir()
        self._make(self.options.defconfig)
        with (self.objects / ".config").open("a", encoding="utf-8") as config:
            config.write(self.options.fragment())
        self._make("olddefconfig")
        (self.objects / "configured").touch()

    def _compile(self, jobs: int) -> None:
        done = {path.relative_to(self.objects).as_posix() for path in self.objects.rglob("*.o")}

        def count(text: str) -> None:
            names = _COMPILED.findall(text)
            done.update(names)
            part = min(len(done) / self.options.objects, 1)
            note = f"{len(done)} of about {self.options.objects} objects{f', {names[-1]}' if names else ''}"
            self.report(_CONFIGURED + part * (1 - _CONFIGURED), note)

        self._make(f"--jobs={jobs}", PROGRAM, watch=count)

    def _make(self, *arguments: str, watch: Callable[[str], None] = lambda _text: None) -> None:
        command = ["make", "-C", str(self.tree), f"O={self.objects}", "ARCH=um", *arguments]
        self._run(command, watch)

    def _run(self, command: Sequence[str], watch: Callable[[str], None]) -> None:
        """Run a command to its end, give what it prints to `watch` as it comes, and keep that in the log."""
        # Always the same kernel, whoever builds it and when.
        stamps = {
            "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
            "KBUILD_BUILD_USER": "sojourn",
            "KBUILD_BUILD_HOST": "sojourn",
        }
        # Options of a make that happens to be above this one are not for this one.
        own = {"MAKEFLAGS": "", "MAKELEVEL": "", "LC_ALL": "C", **stamps}
        with keeper_folder() as place, Kept(place, command, signal.SIGTERM, own) as kept:
            with self.log.open("a", encoding="utf-8") as log:
                for text in _output(kept, place / CONSOLE):
                    log.write(text)
                    watch(text)
            if kept.exit_code != 0:
                raise BuildError(f"{command[0]} failed; its last lines:{self._last_lines()}")

    def _last_lines(self) -> str:
        lines = self.log.read_text(encoding="utf-8").splitlines()
        told = [line for line in lines if re.search(r"error|\*\*\*", line, flags=re.I)] or lines
        return "".join(f"\n  {line}" for line in told[-_SHOWN_LINES:])


def _output(kept: Kept, file: Path) -> Iterator[str]:
    """Give what a command prints, whole lines only, until it ends."""
    offset, rest, over = 0, "", False
    while not over:
        over = kept.ended(_POLL_S)
        if not file.exists():
            continue
        with file.open(encoding="utf-8", errors="replace", newline="") as opened:
            opened.seek(offset)
            text = rest + opened.read()
            offset = opened.tell()
        whole, newline, rest = text.rpartition("\n")
        yield whole + newline
    yield rest


def _install(objects: Path, folder: Path, about: dict[str, object]) -> None:
    """Move the finished kernel to its place at once."""
    fresh = folder.with_name(f".new-{folder.name}")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    shutil.copy2(objects / PROGRAM, fresh / PROGRAM)
    shutil.copy2(objects / ".config", fresh / _CONFIG)
    (fresh / _ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    os.utime(fresh / PROGRAM)
    if folder.exists():
        old = folder.with_name(f".old-{folder.name}")
        shutil.rmtree(old, ignore_errors=True)
        folder.rename(old)
        fresh.rename(folder)
        shutil.rmtree(old)
    else:
        fresh.rename(folder)
