"""The wheel that `make wheels` builds: installed in a new virtual environment, it runs a scenario and writes a page."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import sojourn

ROOT = Path(__file__).parent.parent
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
