"""The peers' programs, compiled where they are not there yet."""

import glob
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.packages import package_version

HERE = Path(__file__).resolve().parent
NS3_SOURCE = HERE / "ns3_dumbbell.cc"
NS3_MODULES = (
    *("applications", "nix-vector-routing", "internet", "traffic-control"),
    *("point-to-point", "network", "core"),
)
HTSIM_SOURCE = HERE / "htsim_dumbbell.cc"
HTSIM_COMMIT = "841d9e7be46bb968eece766aa4b6c044c7799f67"
HTSIM_FROM = "SOJOURN_HTSIM"
"""The environment variable with another clone of htsim's repository, such as a folder where there is no network."""
_HTSIM_REPOSITORY = "https://github.com/Broadcom/csg-htsim"
_HTSIM_FILES = ("sim/Makefile", ":(glob)sim/*.cpp", ":(glob)sim/*.h")


class PeerError(RuntimeError):
    """A peer is missing, does not build, or failed; the message says which and what to do."""


def default_cache() -> Path:
    """Where compiled peers are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sojourn" / "peers"


def build_ns3(cache_dir: Path | None = None, source: Path = NS3_SOURCE) -> Path:
    """Compile a program with -O2 against the installed ns-3 and return it.

    A build is reused until the source, the compiler or the package changes.

    Args:
        cache_dir: folder for the program; ``default_cache()`` where absent.
        source: the program in C++.
    """
    libraries = _ns3_libraries()
    return _compiled(source, ["-O2", *libraries], package_version("libns3-dev") or "", cache_dir or default_cache())


def build_htsim(cache_dir: Path | None = None) -> Path:
    """Compile the dumbbell against htsim's library and return it; both with -O3, as htsim's Makefile has it.

    The library is built from HTSIM_COMMIT, which is cloned once: from the repository in the environment variable
    SOJOURN_HTSIM where it is set. A failure names what is absent: git, make, g++, the repository or its commit.

    Args:
        cache_dir: folder for library and program; ``default_cache()`` where absent.
    """
    folder = cache_dir or default_cache()
    library = _htsim_library(folder / f"htsim-{HTSIM_COMMIT[:12]}")
    return _compiled(HTSIM_SOURCE, ["-O3", f"-I{library.parent}", str(library)], HTSIM_COMMIT, folder)


def _htsim_library(home: Path) -> Path:
    library = home / "sim" / "libhtsim.a"
    if library.exists():
        return library
    if absent := [tool for tool in ("git", "make", "g++") if shutil.which(tool) is None]:
        raise PeerError(f"htsim needs {', '.join(absent)}")
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as place:
        clone, tree = Path(place) / "clone", Path(place) / "tree"
        repository = os.environ.get(HTSIM_FROM, _HTSIM_REPOSITORY)
        steps = (
            ["git", "clone", "--quiet", "--no-checkout", repository, str(clone)],
            ["git", "-C", str(clone), "archive", "-o", f"{place}/files.tar", HTSIM_COMMIT, *_HTSIM_FILES],
        )
        for step in steps:
            _done(step, f"htsim cannot be had from {repository} ({HTSIM_FROM} names another clone)")
        with tarfile.open(f"{place}/files.tar") as files:
            files.extractall(tree, filter="data")
        _done(["make", "-C", f"{tree}/sim", "libhtsim.a"], "htsim does not build here")
        tree.replace(home)
    return library


def _compiled(source: Path, options: Sequence[str], version: str, folder: Path) -> Path:
    """Return a program in C++, compiled unless one of the same source, compiler, options and version is there."""
    compiler = shutil.which("g++")
    if compiler is None:
        raise PeerError("g++ is not installed (Debian package g++)")
    compiler_version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout
    key = hashlib.sha256(source.read_bytes())
    for part in (version, compiler_version, *options):
        key.update(part.encode() + b"\0")
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / f"{source.stem}-{key.hexdigest()[:16]}"
    if not program.exists():
        partial = program.with_suffix(f".{os.getpid()}")
        command = [compiler, "-std=c++17", "-o", str(partial), str(source), *options]
        _done(command, f"{source.name} does not compile here")
        partial.replace(program)
    return program


def _done(command: Sequence[str], complaint: str) -> None:
    """Run a command to its end; its first error follows the complaint where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise PeerError(f"{complaint}: {next((line for line in said if 'error' in line or 'fatal' in line), said[-1])}")


def _ns3_libraries() -> list[str]:
    """Linker options for the installed ns-3. Debian's pkg-config files name libraries that may be absent."""
    for found in sorted(glob.glob("/usr/lib/*/libns3*-core*.so") + glob.glob("/usr/lib/libns3*-core*.so")):
        prefix, suffix = Path(found).stem.removeprefix("lib").split("-core", 1)
        if suffix in ("", "-optimized", "-default", "-release"):
            return [f"-l{prefix}-{module}{suffix}" for module in NS3_MODULES]
    raise PeerError("ns-3 is not installed (Debian package libns3-dev)")
