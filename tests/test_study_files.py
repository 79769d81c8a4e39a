"""A study in several files, and figures with a paper's own numbers and lines of another place."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.test_study_claims import AXES, means

from sojourn import InputError
from sojourn.study.drawings import draw
from sojourn.study.find import titles
from sojourn.study.load import StudyFolder
from sojourn.study.marks import marked
from sojourn.study.mutate import mutants
from sojourn.study.template import make

MEASURED = """
from sojourn.study import Number, measure

HALF = 50


@measure("model")
def model():
    yield {"rate_mbps": 5}, "tcp", "share", Number(HALF / 100, 0.0, 1)
"""
CLAIMS = """
from sojourn.study import Outcome, claim

from .measured import HALF


@claim("priority", "the model is near", paper="half")
def near(means):
    gap = abs(means.number("model", "share").mean - HALF)
    return Outcome(gap <= 5, f"{gap:.1f} points", margin=5 - gap)
"""


def split(folder: Path, half: int = 50) -> StudyFolder:
    make(folder)
    (folder / "study.py").write_text(CLAIMS, encoding="utf-8")
    (folder / "measured.py").write_text(MEASURED.replace("50", str(half)), encoding="utf-8")
    return StudyFolder.load(folder)


def test_marks_are_those_of_all_files_that_study_py_imports(tmp_path: Path) -> None:
    study = split(tmp_path / "mine")
    assert [mark.names for mark, _ in marked(study.module, "measure")] == [("model",)]
    assert [mark.names for mark, _ in marked(study.module, "claim")] == [("priority",)]


def test_two_folders_of_one_name_do_not_share_their_files(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    found = []
    for place, half in (("one", 50), ("other", 40)):
        ((_, model),) = marked(split(tmp_path / place / "mine", half).module, "measure")
        found += [number.mean for *_, number in model()]
    assert found == [0.5, 0.4]


def test_a_changed_claim_still_reads_the_other_files(tmp_path: Path) -> None:
    changed = [one for one in mutants(split(tmp_path / "mine")) if one.what.startswith("study.py")]
    assert {one.what.partition(", line")[0] for one in changed} == {"study.py", "study.py: HALF is changed"}
    for one in changed:
        assert len(marked(one.study.module, "measure")) == 1


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    study = split(tmp_path / "mine")
    (tmp_path / "mine" / "measured.py").unlink()
    with pytest.raises(ModuleNotFoundError, match="measured"):
        _ = study.module


TABLES: dict[str, Any] = {"name": "one", "caption": "", "sweep": "grid", "metric": "share", "x": "queue"}


@pytest.mark.parametrize("kind", ["bars", "dots"])
def test_each_of_several_bars_has_its_own_star(kind: str) -> None:
    tables = TABLES | {"kind": kind, "where": {"rate": 1}, "by": "group", "group": ["tcp", "background"]}
    tables["paper"] = {"RED": {"tcp": 60, "background": 40}, "DropTail": 50}
    (axes,) = draw(tables, means(), AXES).axes
    (stars,) = [line for line in axes.lines if line.get_label() == "paper"]
    places = dict(zip(stars.get_xdata(), stars.get_ydata(), strict=True))
    # DropTail's number is of the whole place, RED's are beside its middle.
    assert places == {0.0: 50, 0.8: 60, 1.2: 40}


def test_lines_of_another_place_are_drawn_behind() -> None:
    tables = TABLES | {"kind": "points", "group": "tcp", "against": {"group": "background"}, "by": "rate"}
    without = draw(tables | {"where": {"queue": "RED"}}, means(), AXES).axes[0]
    (axes,) = draw(tables | {"where": {"queue": "RED"}, "behind": {"queue": "DropTail"}}, means(), AXES).axes
    assert len(axes.lines) == len(without.lines) + 2
    behind = [(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.lines if line.get_alpha()]
    assert behind == [pytest.approx((98.0, 2.0)), pytest.approx((55.0, 45.0))]


def test_an_axis_says_what_steps_have_made() -> None:
    tables = TABLES | {"kind": "bars", "group": "tcp", "where": {"rate": 1}, "steps": [["plus", 100]]}
    assert draw(tables, means(), AXES).axes[0].get_ylabel() == "tcp: share of the link [%]"
    assert draw(tables | {"label": "sum [%]"}, means(), AXES).axes[0].get_ylabel() == "sum [%]"


def parted(folder: Path, names: str = '["more.toml"]') -> Path:
    """Make a study whose axes and item are in a file of their own; return that file."""
    make(folder)
    file, more = folder / "study.toml", folder / "more.toml"
    text = file.read_text(encoding="utf-8")
    cut = text.index("[axes.")
    file.write_text(f"parts = {names}\n{text[:cut]}", encoding="utf-8")
    more.write_text(text[cut:], encoding="utf-8")
    return more


def test_a_study_of_several_files_is_the_study_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    make(whole)
    parted(parts)
    assert StudyFolder.load(parts).tables == StudyFolder.load(whole).tables
    monkeypatch.setattr("sojourn.study.find.folders", lambda: [whole, parts])
    one, other = titles()
    assert one[1:] == other[1:]


@pytest.mark.parametrize(
    ("names", "wrong", "said"),
    [
        ('["more.toml"]', 'title = "Another"\n', "no key of a part of a study is called 'title'"),
        ('["more.toml"]', "item = 1\n", "item: allowed: a list of tables"),
        ('["more.toml"]', "axes = []\n", "axes: allowed: a table"),
        ('["more.toml", "more.toml"]', "", "stated twice"),
        ('["../more.toml"]', "", "allowed: names of files in the study's folder"),
        ('"more.toml"', "", "allowed: names of files in the study's folder"),
        ('["less.toml"]', "", "less.toml"),
    ],
)
def test_a_wrong_part_of_a_study_is_refused(names: str, wrong: str, said: str, tmp_path: Path) -> None:
    more = parted(tmp_path / "mine", names)
    if wrong:
        more.write_text(wrong, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(said)):
        StudyFolder.load(tmp_path / "mine")
