"""The tutorials' notebooks run from their first cell to the last, in the kernel that people use."""

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
GUIDE = ROOT / "docs" / "guide"
PATIENCE_S = 300
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder in which a kernel finds the command `sojourn`, and leaves nothing anywhere else."""
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "jupyter"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def ran(notebook: Any, place: Path) -> Any:
    """Run a notebook in a folder; raises nbclient's CellExecutionError with what a cell raised."""
    resources = {"metadata": {"path": str(place)}}
    return NotebookClient(notebook, timeout=PATIENCE_S, kernel_name="python3", resources=resources).execute()


def outputs(notebook: Any) -> list[dict[str, str]]:
    """Return what the cells show, by media type."""
    shown = [one for cell in notebook.cells if cell.cell_type == "code" for one in cell.outputs]
    return [{"text/plain": one["text"]} if one.output_type == "stream" else dict(one["data"]) for one in shown]


@pytest.mark.long
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_tutorial_runs_and_shows_what_it_says(file: Path, place: Path) -> None:
    notebook = nbformat.read(file, 4)
    nbformat.validate(notebook)
    assert all(not cell.outputs and cell.execution_count is None for cell in notebook.cells if "outputs" in cell), (
        "a notebook is kept without what it showed: its reader makes that"
    )
    shown = outputs(ran(notebook, place))
    # A sentence about numbers is followed by the question whether it is so.
    assert {"text/plain": "False"} not in shown
    assert {"text/plain": "True"} in shown or file.stem == "study"
    assert [one for one in shown if "Error" in one["text/plain"] or "error:" in one["text/plain"]] == []
    # What people look at is more than its name.
    for one in shown:
        if one["text/plain"].startswith("<sojourn."):
            assert "<table>" in one.get("text/html", "") or WIDGET in one
        if one["text/plain"].startswith("<Drawing"):
            assert "image/png" in one


@pytest.mark.long
def test_the_first_tutorial_ends_with_the_laboratory(place: Path) -> None:
    notebook = nbformat.read(ROOT / "docs" / "tutorials" / "first-link.ipynb", 4)
    cells = [notebook.cells[2], notebook.cells[-1]]
    shown = outputs(ran(nbformat.v4.new_notebook(cells=cells), place))[-1]
    assert WIDGET in shown


def test_each_tutorial_is_linked_from_its_page_of_the_guide() -> None:
    assert len(NOTEBOOKS) >= 4
    pages = "".join(page.read_text(encoding="utf-8") for page in GUIDE.glob("*.md"))
    assert [file.name for file in NOTEBOOKS if f"(../tutorials/{file.name})" not in pages] == []


@pytest.mark.long
def test_a_notebook_shows_a_bar_that_goes_when_the_work_is_done(place: Path) -> None:
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [
        nbformat.v4.new_code_cell(
            "import sojourn, sojourn.progress as shown\n"
            "shown.SHOWN_AFTER_S = 0\n"
            "bars, draw = [], shown.bar_html\n"
            "shown.bar_html = lambda *what: bars.append(draw(*what)) or bars[-1]\n"
            "_ = sojourn.sweep('first', axes={'group.download.flows': [1, 2]}, seeds=2, set={'duration': '1 s'})"
        ),
        nbformat.v4.new_code_cell("print(len(bars) > 1, '<progress' in bars[0], '100%' in bars[-1])"),
    ]
    bar, said = outputs(ran(notebook, place))
    assert bar["text/html"] == ""
    assert said["text/plain"].strip() == "True True True"
