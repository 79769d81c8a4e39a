"""The wheels that `make wheels` builds: installed in a new environment, one runs a scenario and writes a page."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import sojourn

ROOT = Path(__file__).parent.parent
ALL = sorted(ROOT.glob(f"dist/sojourn-{sojourn.__version__}-*linux*.whl"))
HERE = [path for path in ROOT.glob(f"dist/sojourn-{sojourn.__version__}-*linux*_x86_64.whl") if "musl" not in path.name]

pytestmark = pytest.mark.skipif(not HERE, reason="no wheel of this version for this platform in dist: make wheels")


@pytest.fixture(scope="module")
def wheel() -> Path:
    return max(HERE, key=lambda path: path.stat().st_mtime)


def test_a_wheel_has_all_that_is_read_at_run_time(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for path in (ROOT / "python" / "sojourn").rglob("*"):
        kept = path.suffix in {".py", ".toml", ".html", ".css", ".js", ".template", ".parquet", ".json"}
        if path.is_file() and kept and "page" not in path.relative_to(ROOT / "python" / "sojourn").parts[:1]:
            assert path.relative_to(ROOT / "python").as_posix() in names


def test_one_wheel_serves_all_versions_of_python(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name


# What a C library brings. All else, Python's symbols too, is in the wheel or resolved when Python loads it.
_LIBC = re.compile(
    r"(lib(c|m|gcc_s|pthread|dl|rt|util)\.so\.\d+|libc\.so|ld-linux-[\w-]+\.so\.\d|libc\.musl-\w+\.so\.1)"
)
_MACHINES = {"x86_64": 62, "aarch64": 183}


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem.rpartition("-")[2])
def test_each_is_for_the_machine_in_its_name(path: Path) -> None:
    tag = path.stem.rpartition("-")[2]
    with zipfile.ZipFile(path) as opened:
        (name,) = [name for name in opened.namelist() if name.endswith(".so")]
        engine = opened.read(name)
    assert engine[:4] == b"\x7fELF"
    machine = next(machine for machine in _MACHINES if tag.endswith(machine))
    assert int.from_bytes(engine[18:20], "little") == _MACHINES[machine]
    needed = _needed(engine)
    assert all(_LIBC.fullmatch(library) for library in needed), needed
    # A library of glibc names the versions of its symbols; there are none in one for musl.
    assert (b"GLIBC_" in engine) == ("manylinux" in tag)


def _needed(engine: bytes) -> list[str]:
    """Return the libraries that a 64-bit ELF file names: DT_NEEDED of its dynamic section."""

    def number(at: int, size: int) -> int:
        return int.from_bytes(engine[at : at + size], "little")

    start, size, count = number(40, 8), number(58, 2), number(60, 2)
    sections = [start + index * size for index in range(count)]
    dynamic = next(at for at in sections if number(at + 4, 4) == 6)
    strings = number(sections[number(dynamic + 40, 4)] + 24, 8)
    entries = range(number(dynamic + 24, 8), number(dynamic + 24, 8) + number(dynamic + 32, 8), 16)
    names = [strings + number(at + 8, 8) for at in entries if number(at, 8) == 1]
    return [engine[at : engine.index(b"\0", at)].decode() for at in names]


def test_it_runs_in_a_new_environment(wheel: Path, tmp_path: Path) -> None:
    """The dependencies are those that are here: what is tested is the package."""
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    here = next(path for path in sys.path if path.endswith("site-packages"))
    (inside,) = home.glob("lib/python*/site-packages")
    subprocess.run([home / "bin/pip", "install", "--quiet", "--no-deps", "--no-index", wheel], check=True)
    # After the new environment's own packages on the path; files that make this project editable are not looked at.
    (inside / "dependencies.pth").write_text(f"import sys; sys.path.append({here!r})\n", encoding="utf-8")
    command = [home / "bin/sojourn", "run", "motivating-red", "--runs", "2", "--page", tmp_path / "page.html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("motivating-red: 60 s, 2 runs")
    assert "<h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    where = subprocess.run(
        [home / "bin/python", "-c", "import sojourn; print(sojourn.__file__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(where.stdout.strip()).is_relative_to(home)
