"""Studies as data: what tables can claim, what a study keeps, and that a changed claim is noticed."""

import dataclasses
import importlib.metadata
import json
import re
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from matplotlib.container import ErrorbarContainer
from tests.conftest import Command

from sojourn import InputError, plugins
from sojourn.cli import run_command_line
from sojourn.data.provenance import Provenance
from sojourn.study import replay
from sojourn.study.claims import checks
from sojourn.study.drawings import draw
from sojourn.study.find import find_folder, folders, titles
from sojourn.study.lab import Lab
from sojourn.study.load import StudyFolder, chosen
from sojourn.study.means import Means, Reduced, read, write
from sojourn.study.model import Check
from sojourn.study.mutate import score
from sojourn.study.numbers import Number
from sojourn.study.replay import differences
from sojourn.study.sweeps import sweep_tables
from sojourn.study.template import make
from sojourn.sweeps import Dataset

AXES = {"queue": {"levels": {"DropTail": {}, "RED": {}}, "label": "{}"}, "rate": {"label": "{} Mbit/s"}}
SHARES = {("DropTail", 1): 0.98, ("DropTail", 10): 0.55, ("RED", 1): 0.5, ("RED", 10): 0.56}


def means(sd: float = 0.005) -> Means:
    reduced = Reduced(("queue", "rate"))
    for (queue, rate), share in SHARES.items():
        reduced.add({"queue": queue, "rate": rate}, "tcp", "share", Number(share, sd, 10))
        reduced.add({"queue": queue, "rate": rate}, "background", "share", Number(1 - share, sd, 10))
        reduced.add({"queue": queue, "rate": rate}, "", "bottleneck_queue_packets_mean", Number(100.0 * rate, 1.0, 10))
    return Means({"grid": reduced})


def judged(**claim: Any) -> list[Check]:
    said = {"text": "it holds", "sweep": "grid", "metric": "share", "group": "tcp", **claim}
    return list(checks(said, means(), AXES))


def test_a_pairwise_claim_names_where_it_does_not_hold() -> None:
    (one,) = judged(where={"queue": "RED"}, relation="below", than={"queue": "DropTail"}, why="A full buffer is short.")
    assert one.agrees is False
    assert one.measured.startswith("holds at 1 of 2 points (the exception at 10 Mbit/s)")
    assert (one.held, one.points) == (1, 2)
    assert one.margin == pytest.approx(-1 - 2 * 100 * 0.005 * (2 / 10) ** 0.5, rel=1e-4)
    assert one.tolerance == "2 standard errors of the difference"
    assert one.note == "A full buffer is short."


def test_a_pairwise_claim_may_ask_each_against_all() -> None:
    (one,) = judged(where={"queue": "DropTail"}, relation="above", than={"queue": "RED", "rate": "*"})
    assert (one.held, one.points) == (3, 4)


@pytest.mark.parametrize(
    ("claim", "held", "points"),
    [
        ({"relation": "at least", "value": 50}, 4, 4),
        ({"relation": "more than", "value": 50}, 3, 4),
        ({"relation": "at most", "value": 55.5}, 2, 4),
        ({"relation": "less than", "value": 50}, 0, 4),
        ({"relation": "between", "range": [50, 60]}, 3, 4),
        ({"relation": "near", "paper": 55, "tolerance": "2 %"}, 2, 4),
        ({"relation": "near", "paper": 50, "tolerance": "5.5 points"}, 2, 4),
        ({"relation": "near", "paper": 110, "tolerance": "factor 2"}, 3, 4),
        ({"relation": "rising", "along": "rate"}, 1, 2),
        ({"relation": "falling", "along": "rate", "tolerance": "0 se"}, 1, 2),
        ({"relation": "not falling", "along": "rate", "tolerance": 50}, 2, 2),
        ({"relation": "falling", "along": "rate", "order": [10, 1]}, 1, 2),
        ({"relation": "largest", "along": "queue", "which": "DropTail"}, 1, 2),
        ({"relation": "smallest", "along": "queue", "which": "RED"}, 1, 2),
        ({"relation": "equal", "than": {"group": "background"}}, 1, 4),
        ({"relation": "not below", "than": {"group": "background"}}, 4, 4),
    ],
)
def test_relations(claim: dict[str, Any], held: int, points: int) -> None:
    (one,) = judged(**claim)
    assert (one.held, one.points) == (held, points)
    assert one.agrees is (held == points)
    assert one.tolerance


def test_steps_reduce_and_compare() -> None:
    (one,) = judged(
        where={"queue": "RED"},
        steps=[["change", {"queue": "DropTail"}]],
        relation="near",
        paper=-49,
        tolerance="1 points",
    )
    assert one.measured.startswith("holds at 1 of 2 points")
    mean, spread = (judged(steps=[[what, "rate"]], where={"queue": "RED"})[0] for what in ("mean", "range"))
    assert (mean.measured, spread.measured) == ("53.0 ± 4.2 %", "6.0 ± 4.2 points")
    assert mean.agrees is None
    (variation,) = judged(steps=[["variation", "rate"], ["mean", "queue"]])
    assert variation.measured.startswith("0.2")


def paired_means() -> Means:
    """Return two queues whose runs differ much from seed to seed, and always by as much from each other."""
    reduced = Reduced(("queue",))
    for queue, more in (("DropTail", 0.0), ("RED", 1.0), ("SFQ", 10.0)):
        number = Number.by_run([more + seed for seed in (1.0, 5.0, 12.0)])
        reduced.add({"queue": queue}, "web", "page_ms_mean", number)
    return Means({"pages": reduced})


def paired(**claim: Any) -> Check:
    said = {"text": "it holds", "sweep": "pages", "metric": "page_ms_mean", "where": {"queue": "RED"}, **claim}
    (one,) = checks(said, paired_means(), AXES)
    return one


def test_runs_with_the_same_seed_are_compared_one_by_one(tmp_path: Path) -> None:
    beside = {"steps": [["difference by run", {"queue": "DropTail"}]]}
    assert paired(relation="more than", value=0, surely=True, **beside).margin == 1.0
    assert paired(relation="above", than={"queue": "DropTail"}, surely=True).agrees is False
    assert paired(steps=[["ratio by run", {"queue": "DropTail"}]]).measured == "1.4 ± 0.5 times"
    write(tmp_path, paired_means().sweeps)
    assert read(tmp_path, ["pages"])["pages"].cells == paired_means().sweeps["pages"].cells
    with pytest.raises(InputError, match="keeps no runs of the metric"):
        judged(steps=[["change by run", {"queue": "DropTail"}]])


def test_a_run_without_a_value_leaves_none() -> None:
    assert str(Number.by_run([1.0, None]).mean) == "nan"
    assert Number.by_run([1.0, None]).times(2.0).values[0] == 2.0


def test_surely_is_said_of_whole_intervals() -> None:
    middle = paired_means().number("pages", "page_ms_mean", queue="RED")
    low, _ = middle.interval()
    assert paired(relation="more than", value=middle.mean - 1).agrees is True
    assert paired(relation="more than", value=low - 0.1, surely=True).agrees is True
    assert paired(relation="more than", value=low + 0.1, surely=True).agrees is False
    assert paired(relation="between", range=[low + 0.1, 1e6], surely=True).agrees is False
    assert "95 % interval" in paired(relation="at least", value=1, surely=True).tolerance


def test_a_claim_may_hold_at_more_than_a_part_of_the_points() -> None:
    other = {"relation": "above", "than": {"queue": "*"}, "tolerance": 1000}
    assert judged(relation="more than", value=50, often=0.5)[0].agrees is True
    one = judged(relation="more than", value=55.5, often=0.5)[0]
    assert (one.agrees, one.held, one.points) == (False, 2, 4)
    assert one.tolerance == "more than 55.5 %; at more than 50 % of the points"
    assert judged(often=0.5, where={"queue": "RED"}, **other)[0].points == 2, "each against all is a point each"


def test_a_value_may_be_that_of_a_place() -> None:
    found = judged(each="queue", where={"rate": 1}, relation="at least", value={"RED": 50, "DropTail": 99})
    assert [one.agrees for one in found] == [False, True]


def test_a_function_may_leave_out_points() -> None:
    tables = {"axes": {"queue": ["RED", "SFQ"], "rate": [1, 2]}}
    made = sweep_tables("grid", tables, {}, lambda queue, rate: None if (queue, rate) == ("SFQ", 2) else {})
    assert [point["at"] for point in made["points"]] == [
        {"queue": "RED", "rate": 1},
        {"queue": "RED", "rate": 2},
        {"queue": "SFQ", "rate": 1},
    ]


def test_each_gives_a_verdict_and_a_number_of_the_paper_for_every_value() -> None:
    found = judged(
        text="{queue}: fair",
        each="queue",
        where={"rate": 1},
        relation="near",
        paper={"RED": 50, "DropTail": 50},
        tolerance=5,
    )
    assert [(one.claim, one.agrees, one.paper) for one in found] == [
        ("DropTail: fair", False, "50 %"),
        ("RED: fair", True, "50 %"),
    ]
    assert found[0].tolerance == "± 5 %"


def test_a_reason_is_chosen_by_where_a_claim_fails() -> None:
    why = [{"where": {"rate": 1}, "text": "slow"}, {"where": {"rate": 10}, "text": "fast"}, "elsewhere"]
    said = {"where": {"queue": "RED"}, "relation": "below", "than": {"queue": "DropTail"}, "why": why}
    assert judged(**said)[0].note == "fast"
    assert judged(relation="at most", value=1, why=why)[0].note == "elsewhere"


def test_a_claim_of_several_parts_holds_where_all_do() -> None:
    parts = [
        {"where": {"rate": 1}, "relation": "at least", "value": 50},
        {"where": {"rate": 10}, "relation": "at most", "value": 1},
    ]
    assert judged(parts=parts[:1])[0].agrees is True
    assert judged(parts=parts)[0].agrees is False


def test_the_metric_of_a_link_needs_no_group() -> None:
    (one,) = judged(metric="bottleneck_queue_packets_mean", where={"queue": "RED"}, relation="rising", along="rate")
    assert one.agrees is True


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ({"relation": "abowe"}, "no relation is called 'abowe'; did you mean 'above'?"),
        ({"metric": "shares"}, "did you mean 'share'?"),
        ({"sweep": "gird"}, "did you mean 'grid'?"),
        ({"where": {"queues": "RED"}}, "did you mean 'queue'?"),
        ({"where": {"queue": "Red"}}, "no point has {'queue': 'Red'}"),
        ({"steps": [["median", "rate"]]}, "no step is called 'median'"),
        ({"steps": [["mean", "rat"]]}, "did you mean 'rate'?"),
        ({"relation": "at least"}, "value: nothing"),
        ({"relation": "near", "paper": 1, "tolerance": "much"}, "tolerance: 'much'; allowed: a number"),
        ({"relation": "below"}, "than: None"),
        ({"largest": 1}, "no key of a claim is called 'largest'"),
    ],
)
def test_a_wrong_claim_says_what_is_allowed(claim: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        judged(**claim)
    assert said in str(error.value)


def test_a_sentence_is_chosen_by_what_became_of_the_claims() -> None:
    held, failed = (Check("c", "", "5 %", agrees, "Open.", name=name) for name, agrees in (("a", True), ("b", False)))
    given = [{"when": ["a", "b"], "text": "both"}, {"when": ["a"], "text": "only {a}"}]
    assert chosen(given, [held, failed]) == "only 5 %"
    assert chosen([{"unless": ["b"], "text": "not b"}], [held, failed]) == "not b"
    assert chosen([{"unless": ["a"], "text": "not a"}], [held, failed]) == ""
    with pytest.raises(InputError, match="no claim is called 'c'"):
        chosen([{"text": "{c}"}], [held, failed])


def test_means_are_the_same_when_they_are_read_again(tmp_path: Path) -> None:
    written = means().sweeps
    write(tmp_path, written)
    again = read(tmp_path, ["grid", "absent"])
    assert list(again) == ["grid"]
    assert again["grid"].axes == written["grid"].axes
    assert again["grid"].cells == written["grid"].cells


@pytest.mark.parametrize("kind", ["line", "bars", "dots", "points"])
def test_every_number_that_is_drawn_has_its_interval(kind: str) -> None:
    tables = {"name": "one", "caption": "", "kind": kind, "sweep": "grid", "metric": "share", "group": "tcp"}
    tables |= {"x": "rate", "by": "queue", "against": {"group": "background"}}
    (axes,) = draw(tables, means(), AXES).axes
    bars = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
    assert len(bars) == 2
    drawn = [segment for one in bars for segment in one.lines[2][0].get_segments()]
    assert len(drawn) == 4
    assert all(
        abs(segment[0] - segment[1]).max()
        == pytest.approx(2 * 100 * means().number("grid", "share", "tcp", queue="RED", rate=1).half / 100, rel=1e-6)
        for segment in drawn
    )


def test_whiskers_and_tables_show_every_number() -> None:
    tables = {"name": "one", "caption": "", "kind": "whiskers", "sweep": "grid", "group": "tcp", "x": "rate"}
    (axes,) = draw({**tables, "metric": ["share"] * 5, "by": "queue"}, means(), AXES).axes
    assert len(axes.patches) == 4
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1 Mbit/s", "10 Mbit/s"]
    heat = {**tables, "kind": "heat", "metric": "share", "x": ["queue", "rate"], "by": [], "range": [0, 100]}
    (axes,) = draw(heat, means(), AXES).axes
    assert [text.get_text() for text in axes.texts] == ["98.0", "55.0", "50.0", "56.0"]
    assert axes.get_xticklabels()[0].get_text() == "DropTail\n1 Mbit/s"


def test_panels_may_be_those_of_several_axes() -> None:
    tables = {"name": "one", "caption": "", "kind": "dots", "sweep": "grid", "metric": ["share"], "x": "metric"}
    drawn = draw({**tables, "each": ["rate", "queue"], "columns": 2, "group": "tcp"}, means(), AXES)
    named = [axes.get_title() for axes in drawn.axes]
    assert named == ["1 Mbit/s, DropTail", "1 Mbit/s, RED", "10 Mbit/s, DropTail", "10 Mbit/s, RED"]


def test_values_are_shown_after_the_claims(tmp_path: Path) -> None:
    place = make(tmp_path / "mine")
    text = place.read_text(encoding="utf-8").replace(
        "found = [", 'shown = [{ text = "shares", sweep = "capacity", metric = "share" }]\nfound = ['
    )
    place.write_text(text, encoding="utf-8")
    study = StudyFolder.load(tmp_path / "mine")
    claims = study.claims(study.tables["item"][0])
    assert [one["relation"] for one in claims] == ["below", "at most", "shown"]


def test_panels_may_stand_in_several_rows() -> None:
    tables = {"name": "one", "caption": "", "sweep": "grid", "metric": "share", "x": "rate", "each": "queue"}
    whole = draw({**tables, "columns": 1, "logx": True, "group": "tcp"}, means(), AXES)
    assert [axes.get_subplotspec().get_geometry()[:2] for axes in whole.axes] == [(2, 1)] * 2  # type: ignore[union-attr]


def test_bars_have_the_papers_numbers_of_their_panel() -> None:
    tables: dict[str, Any] = {
        "name": "one",
        "caption": "",
        "kind": "bars",
        "sweep": "grid",
        "metric": "share",
        "x": "queue",
    }
    tables |= {"group": "tcp", "paper": {"RED": {"1": 50}, "DropTail": {"1": 99, "10": 60}}}
    for rate, numbers in ((1, [99, 50]), (10, [60])):
        (axes,) = draw(tables | {"where": {"rate": rate}}, means(), AXES).axes
        (stars,) = [line for line in axes.lines if line.get_label() == "paper"]
        assert list(stars.get_ydata()) == numbers


def test_the_largest_of_several_tolerances_counts() -> None:
    near = {"where": {"queue": "RED", "rate": 10}, "relation": "near", "paper": 50}
    assert judged(**near, tolerance=["5 %", 7])[0].agrees is True
    assert judged(**near, tolerance=["5 %", 5])[0].agrees is False
    assert judged(**near, tolerance=["5 %", 7])[0].tolerance == "± 5 % or ± 7 %"


def test_words_stand_around_what_was_measured() -> None:
    parts = [{"where": {"queue": "RED"}, "measured": "RED {}"}, {"where": {"queue": "DropTail"}}]
    (one,) = judged(steps=[["max", "rate"]], parts=parts)
    assert one.measured == "RED 56.0 ± 4.2 %; 98.0 ± 30.4 %"


def test_a_figure_has_a_panel_for_each_value() -> None:
    tables = {
        "name": "one",
        "caption": "",
        "sweep": "grid",
        "metric": "share",
        "group": "tcp",
        "x": "rate",
        "each": "queue",
    }
    assert [axes.get_title() for axes in draw(tables, means(), AXES).axes] == ["DropTail", "RED"]


# The whole way, with the study that `sojourn study new` makes.


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study") / "mine"
    make(folder)
    return folder


@pytest.fixture(scope="module")
def kept(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out")
    assert run_command_line(["study", "run", str(study), "--out", str(out), "--keep"]) == 0
    return out


def test_the_template_runs_as_it_is(kept: Path, study: Path) -> None:
    assert (kept / "priority" / "share.png").is_file()
    assert "TCP has less under CoDel" in (kept / "index.html").read_text(encoding="utf-8")
    assert (study / "data" / "capacity.parquet").stat().st_size < 20_000
    dataset = Dataset.open(kept / "data" / "capacity")
    # Axes are columns, to be plotted and queried as those of any sweep.
    assert {"queue", "rate_mbps"} <= set(dataset.table().column_names)


@pytest.mark.long
def test_a_sweep_that_becomes_another_one_says_that_its_runs_are_removed(tmp_path: Path, command: Command) -> None:
    make(tmp_path / "mine")
    file, out = tmp_path / "mine" / "study.toml", tmp_path / "out"
    file.write_text(re.sub('duration = ".*"', 'duration = "2 s"', file.read_text(encoding="utf-8")), encoding="utf-8")
    for _ in range(2):
        done = command("study", "run", tmp_path / "mine", "--out", out)
        assert done.code == 0
        assert "note: " not in done.err
    file.write_text(file.read_text(encoding="utf-8").replace('"2 s"', '"3 s"'), encoding="utf-8")
    done = command("study", "run", tmp_path / "mine", "--out", out)
    assert done.code == 0
    assert "note: " in done.err
    assert f"{out / 'data' / 'capacity'}: held another sweep" in done.err
    assert "which is removed: all runs are made anew" in done.err


@pytest.mark.long
def test_runs_of_another_engine_are_made_again_in_a_studys_folder(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "mine")
    file, out = tmp_path / "mine" / "study.toml", tmp_path / "out"
    file.write_text(re.sub('duration = ".*"', 'duration = "2 s"', file.read_text(encoding="utf-8")), encoding="utf-8")
    assert command("study", "run", tmp_path / "mine", "--out", out).code == 0
    made = Provenance.of
    monkeypatch.setattr(Provenance, "of", lambda *given: dataclasses.replace(made(*given), build="another"))
    done = command("study", "run", tmp_path / "mine", "--out", out)
    assert done.code == 0
    assert "were made before the engine changed and are made again" in done.err
    part = next((out / "data" / "capacity" / "runs").iterdir())
    again = Provenance.read(part)
    assert again is not None
    assert again.build == "another"


def test_a_study_has_no_numbers_where_a_run_failed(kept: Path, study: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    shutil.copytree(study, tmp_path / "mine")
    shutil.copytree(kept, tmp_path / "out")
    code = (
        'from sojourn.study import measure\n\n@measure("own", of="capacity")\ndef own(plan, dataset):\n    return []\n'
    )
    (tmp_path / "mine" / "study.py").write_text(code, encoding="utf-8")
    part = next((tmp_path / "out" / "data" / "capacity" / "runs").iterdir())
    table = pq.read_table(part)
    place = table.column_names.index("error")
    errors = pa.array([*["it broke"], *[None] * (len(table) - 1)], pa.string())
    pq.write_table(table.set_column(place, table.schema.field(place), errors), part)
    # What a function makes of runs needs all of them, as means do.
    for name in ("capacity", "own"):
        with pytest.raises(RuntimeError, match=r"capacity, .*: it broke"):
            StudyFolder.load(tmp_path / "mine").measured(Lab(tmp_path / "out", 1), [name])


def test_kept_means_give_kept_verdicts(kept: Path, study: Path, command: Command) -> None:
    assert kept
    done = command("study", "check", study, "--mutate")
    assert done.code == 0, done.err
    assert "the kept means give the kept verdicts" in done.out
    assert "(100 %)" in done.out
    assert re.search(r"0 of [1-9]\d* verdicts? survives? a number that is wrong by ten", done.out)


def test_a_verdict_that_survives_a_number_wrong_by_ten_is_named(
    kept: Path, study: Path, tmp_path: Path, command: Command
) -> None:
    assert kept
    loose = tmp_path / "loose"
    shutil.copytree(study, loose)
    file = loose / "study.toml"
    # No share comes near the bound, also where that is ten times as small.
    text = file.read_text(encoding="utf-8")
    claim = 'name = "loose"\ntext = "any"\nsweep = "capacity"\nmetric = "share"\n'
    claim += 'relation = "less than"\nvalue = 100000\nsays = "any"\n'
    file.write_text(text.replace("[[item.claim]]", f"[[item.claim]]\n{claim}\n[[item.claim]]", 1), encoding="utf-8")
    done = command("study", "check", loose, "--mutate")
    assert "survives: " in done.out
    assert "loose: value is wrong by ten" in done.out


def test_a_changed_claim_is_noticed(kept: Path, study: Path, tmp_path: Path, command: Command) -> None:
    assert kept
    changed = tmp_path / "changed"
    shutil.copytree(study, changed)
    file = changed / "study.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("value = 50", "value = 51"), encoding="utf-8")
    done = command("study", "check", changed)
    assert done.code == 1
    assert "margin was" in done.err
    assert differences(StudyFolder.load(changed))


def test_an_outside_study_of_thirty_lines_works_from_another_folder(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    guide = (Path(__file__).parents[1] / "docs" / "guide" / "studies.md").read_text(encoding="utf-8")
    text = guide.split("```toml\n# codel/study.toml\n", 1)[1].split("```", 1)[0]
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) <= 30
    folder = tmp_path / "theirs" / "codel"
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(text.replace("20 s", "5 s"), encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    done = command("paper", "../theirs/codel", "--out", "out")
    assert done.code == 0, done.err
    page = Path("out/index.html").read_text(encoding="utf-8")
    assert "TCP has less under CoDel than under DropTail" in page
    assert command("study", "run", "../theirs/codel", "--out", "out", "--keep").code == 0
    assert command("study", "check", "../theirs/codel").code == 0
    # Its dataset is one like any other.
    assert command("stats", "out/data/queues", "--metric", "share", "--by", "queue,group").code == 0


CODE = """
from sojourn.study import Number, Outcome, changes, claim, figure, measure


@changes("capacity")
def limit(queue, rate_mbps):
    return {"bottleneck.queue.limit": f"{20 * rate_mbps} packets"} if queue == "DropTail" else {}


@measure("model")
def model():
    yield {"rate_mbps": 5}, "tcp", "share", Number(0.5, 0.0, 1)


@measure("rows", of=("capacity", "capacity"))
def rows(plan, dataset):
    yield {"sweep": plan.name}, "", "rows", Number(len(dataset.table()), 0.0, 1)


@claim("priority", "{rate_mbps} Mbit/s: the model is near", paper="half")
def near(means):
    for cell in means.cells("model", "share"):
        gap = abs(cell.number.mean - 50)
        yield Outcome(gap <= 5, f"{gap:.1f} points", margin=5 - gap, at=cell.at)


@figure("priority", "drawn", "Nothing.")
def drawn(means):
    from matplotlib.figure import Figure

    return Figure()
"""


@pytest.mark.long
def test_functions_do_what_tables_will_not(tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "mine"
    make(folder)
    (folder / "study.py").write_text(CODE, encoding="utf-8")
    file = folder / "study.toml"
    text = file.read_text(encoding="utf-8").replace(
        'name = "priority"', 'name = "priority"\nsweeps = ["model", "rows"]', 1
    )
    file.write_text(text.replace("20 s", "2 s"), encoding="utf-8")
    plan = StudyFolder.load(folder).checked("capacity")
    assert [plan.point(index).changes.get("bottleneck.queue.limit") for index in range(4)] == [
        "100 packets",
        "200 packets",
        None,
        None,
    ]
    out = tmp_path / "out"
    done = command("paper", folder, "--out", out)
    assert done.code == 0, done.err
    found = json.loads((out / "priority" / "found.json").read_text(encoding="utf-8"))
    assert "5 Mbit/s: the model is near" in [check["claim"] for check in found["checks"]]
    assert (out / "priority" / "drawn.png").is_file()
    assert command("study", "run", folder, "--out", out, "--keep").code == 0
    assert score(StudyFolder.load(folder)).survivors == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("title =", "titel ="), "did you mean 'title'?"),
        (("levels.CoDel", "level.CoDel"), "did you mean 'levels'?"),
        (('axes = ["queue", "rate_mbps"]', 'axes = ["queue", "rate"]'), "the study has no axis 'rate'"),
        (('kind = "codel"', 'kind = "codle"'), "codel"),
        (("seeds = 3", "seeds = 3\nsets.a = ["), "not TOML"),
        (('where = { queue = "CoDel" }', 'where = { queue = "@aqms" }'), "no set 'aqms'"),
    ],
)
def test_a_wrong_study_says_where(wrong: tuple[str, str], said: str, tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "mine"
    make(folder)
    file = folder / "study.toml"
    file.write_text(file.read_text(encoding="utf-8").replace(*wrong), encoding="utf-8")
    done = command("study", "check", folder)
    assert done.code == 2
    assert said in done.err


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


def test_a_sweep_loads_the_plug_ins_of_its_folder_and_no_others(tmp_path: Path) -> None:
    make(tmp_path / "mine")
    file = tmp_path / "mine" / "study.toml"
    shutil.copyfile(Path(__file__).parent / "plugins" / "newreno.py", tmp_path / "mine" / "own.py")
    sound = file.read_text(encoding="utf-8")
    named = sound.replace("[sweep.capacity]", '[sweep.capacity]\nplugins = ["own.py"]')
    assert named != sound
    file.write_text(named, encoding="utf-8")
    study = StudyFolder.load(tmp_path / "mine")
    assert [item.laboratory() for item in study.study().items] == [{"share": []}]
    assert plugins.added()["controls"] == []
    study.plan("capacity")
    try:
        assert len(plugins.added()["controls"]) == 1
    finally:
        plugins.unload()
    file.write_text(named.replace("own.py", "../own.py"), encoding="utf-8")
    with pytest.raises(InputError, match=r"allowed: names of files in the study's folder"):
        StudyFolder.load(tmp_path / "mine").plan("capacity")


def test_a_study_writes_only_where_the_command_says(tmp_path: Path, command: Command) -> None:
    """Names of items, figures and sweeps become names of files: none may lead elsewhere."""
    make(tmp_path / "in" / "mine")
    file = tmp_path / "in" / "mine" / "study.toml"
    sound = file.read_text(encoding="utf-8")
    for wrong in (
        sound.replace('name = "priority"', 'name = "../../../priority"'),
        sound.replace('name = "share"', 'name = "../../../../share"'),
        sound.replace("[sweep.capacity]", '[sweep.capacity]\nname = "../../../capacity"'),
        sound.replace("[sweep.capacity]", '[sweep."../../../capacity"]'),
    ):
        assert wrong != sound
        file.write_text(wrong.replace("20 s", "0.2 s"), encoding="utf-8")
        done = command("study", "run", file.parent, "--out", tmp_path / "in" / "out" / "results")
        assert done.code == 2
        assert "allowed: a name of letters, digits" in done.err
        assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_what_is_no_study_is_refused(tmp_path: Path, command: Command) -> None:
    done = command("paper", str(tmp_path), "--out", tmp_path / "out")
    assert done.code == 2
    assert "holds no study" in done.err
    (tmp_path / "file").touch()
    assert "not empty" in command("study", "new", str(tmp_path)).err
    assert "no study and no folder is called" in command("paper", "gongg", "--out", tmp_path / "out").err


@pytest.mark.parametrize("folder", list(folders()), ids=lambda folder: folder.name)
def test_the_packages_studies_replay_their_verdicts(folder: Path) -> None:
    assert differences(find_folder(folder.name)) == []


@pytest.mark.long
@pytest.mark.parametrize("folder", list(folders()), ids=lambda folder: folder.name)
def test_changed_claims_of_the_packages_studies_are_noticed(folder: Path) -> None:
    found = score(find_folder(folder.name))
    assert found.part >= 0.95, found.survivors


@pytest.mark.long
@pytest.mark.parametrize("folder", list(folders()), ids=lambda folder: folder.name)
def test_figures_of_the_packages_studies_have_their_intervals(folder: Path) -> None:
    study = find_folder(folder.name)
    means = study.replayed()
    for item in study.tables["item"]:
        for tables in study.figures(item):
            # Whiskers and ellipses show the spread itself.
            if tables.get("kind") in {"whiskers", "heat", "ellipses"}:
                continue
            for axes in draw(tables, means, study.axes).axes:
                bars = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
                assert bars, (item["name"], tables["name"])
                assert all(one.lines[2] for one in bars)


def test_a_package_brings_studies_by_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    make(tmp_path / "brought")
    (tmp_path / "brought" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    entry = importlib.metadata.EntryPoint("brought", "brought", "sojourn.studies")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: [entry] if group == entry.group else [])
    assert re.search(r"^brought +\d+ +A question of your own$", command("paper").out, re.MULTILINE)
    assert command("study", "check", "brought").code == 2


def test_the_listing_reads_no_code_of_studies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make(tmp_path / "mine")
    (tmp_path / "mine" / "study.py").write_text("raise RuntimeError('was run')", encoding="utf-8")
    study = StudyFolder.load(tmp_path / "mine")
    assert study.study().title
    with pytest.raises(RuntimeError, match="was run"):
        assert study.module


def listed(tables: Mapping[str, Any]) -> tuple[str, Mapping[str, str]]:
    return tables["source"], {item["name"]: item.get("title", item["name"]) for item in tables["item"]}


def test_the_heads_of_a_studys_file_say_what_the_whole_file_says() -> None:
    whole = {folder: StudyFolder.load(folder) for folder in folders()}
    assert list(titles()) == [(study.name, *listed(study.tables)) for study in whole.values()]


@pytest.mark.parametrize(
    "text",
    [
        # A cut through a value, items as one value, an item of another spelling, and one that ends the file.
        'source = """\n[[item]]\nname = "no item"\n"""\n[[item]]\nname = "one"',
        'source = "S"\nitem = [\n{ name = "one" },\n]\n[units]',
        'source = "S"\n[units]\n[[ item ]]\nname = "one"\n[[item.claim]]\ntext = "name"\n',
        'source = "S"\n[[item]]\nname = "one"\ntitle = "T"',
    ],
)
def test_a_head_is_found_however_the_file_is_written(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(text, encoding="utf-8")
    monkeypatch.setattr("sojourn.study.find.folders", lambda: [tmp_path])
    monkeypatch.setattr(StudyFolder, "load", lambda folder: StudyFolder(folder, tomllib.loads(file.read_text())))
    assert list(titles()) == [(tmp_path.name, *listed(tomllib.loads(text)))]


def test_the_list_of_studies_says_what_is_wrong_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.setattr("sojourn.study.find.folders", lambda: [tmp_path])
    for wrong, said in (
        (b"source = 1", "source: found 1; allowed: a text"),
        (b"\xff", "study.toml"),
        (None, "holds no study"),
    ):
        if wrong is None:
            (tmp_path / "study.toml").unlink()
        else:
            (tmp_path / "study.toml").write_bytes(wrong)
        done = command("paper")
        assert (done.code, done.out) == (2, ""), done.out
        assert said in done.err


@pytest.mark.long
def test_items_of_a_kernel_are_left_out_where_nothing_is_kept_of_them(tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "braud"
    shutil.copytree(find_folder("braud").folder, folder)
    (folder / "data" / "table2-linux.parquet").unlink()
    kept = replay.kept(StudyFolder.load(folder))
    others = [row for row in kept if row["item"] != "table2-linux"]
    assert len(others) < len(kept)
    replay.write(folder / replay.VERDICTS, others)
    done = command("study", "check", folder)
    assert done.code == 0, done.err
    assert "table2-linux: no means are kept; they need a kernel" in done.err


@pytest.mark.long
def test_a_changed_study_is_about_the_readers_question(command: Command, tmp_path: Path) -> None:
    study, out = str(tmp_path / "mine"), tmp_path / "own"
    assert command("study", "new", study).code == 0
    asked = ("--set", "group.background.control=nice", "--set", "duration=5 s")
    assert command("paper", study, *asked, "--out", str(out)).code == 0
    changed = "group.background.control = nice, duration = 5 s"
    page, claims = ((out / name).read_text(encoding="utf-8") for name in ("summary.md", "claims.md"))
    assert f"3 runs; changed: {changed}.*" in claims
    assert '--set "group.background.control=nice"' in page
    assert "takes the priority away" not in page
    assert "The setting was changed." in page
    assert f"Who has the link? Changed: {changed}." in (out / "index.html").read_text(encoding="utf-8")
    refused = str(tmp_path / "refused")
    assert command("paper", study, "--set", "duration", "--out", refused).code == 2
    assert command("paper", "gong", "--kept", *asked, "--out", refused).code == 2
    assert not (tmp_path / "refused").exists()


@pytest.mark.long
def test_a_copied_study_draws_its_own_runs(command: Command, tmp_path: Path) -> None:
    study = str(tmp_path / "mine")
    assert command("study", "new", study, "--from", "gong").code == 0
    copied = sorted(one.name for one in (tmp_path / "mine").iterdir())
    assert copied == ["figures.py", "printed.csv", "study.py", "study.toml"]
    for folder, words in (("plain", ()), ("own", ("--set", "group.background.control=nice"))):
        assert command("paper", study, "fig2", *words, "--out", str(tmp_path / folder)).code == 0
    own, plain = ((tmp_path / folder / "fig2" / "fig2.svg").read_text() for folder in ("own", "plain"))
    assert ("5 nice flows" in own, "5 LEDBAT flows" in own) == (True, False)
    assert ("5 nice flows" in plain, "5 LEDBAT flows" in plain) == (False, True)


@pytest.mark.long
def test_a_change_is_not_blamed_for_what_fails_without_it(command: Command, tmp_path: Path) -> None:
    plugin = Path(__file__).parent / "plugins" / "newreno.py"
    asked = ("--plugin", str(plugin), "--set", "group.background.control=nice")
    assert command("paper", "gong", "fig2", *asked, "--out", str(tmp_path)).code == 0
    claims, page = ((tmp_path / name).read_text(encoding="utf-8") for name in ("claims.md", "index.html"))
    (share,) = (line for line in claims.splitlines() if line.startswith("| RED, starts within 0.1 s: TCP's share"))
    assert "It does not hold without the change either: The paper prints neither" in share
    assert "--plugin newreno.py fig2 --out DIR" in page


@pytest.mark.parametrize(("item", "sweep"), [("fig4", "disciplines"), ("fig10", "rtts")])
def test_what_the_points_of_a_sweep_differ_in_is_not_changed(
    item: str, sweep: str, command: Command, tmp_path: Path
) -> None:
    done = command("paper", "gong", item, "--set", "group.background.rtt=100 ms", "--out", str(tmp_path / "out"))
    assert done.code == 2
    assert f"--set group.background.rtt: the points of the sweep {sweep} differ in it" in done.err
    assert not (tmp_path / "out").exists()


def test_claims_are_tried_again_over_other_sweeps(tmp_path: Path) -> None:
    """A claim and its second reading count once; an item that there is not is refused."""
    (tmp_path / "study.toml").write_text(
        'title = "t"\nsource = "s"\nmetrics = ["share"]\nbase = "motivating-red"\nseeds = 1\n'
        '[sweep.one]\n[sweep.two]\nset = { "group.background.control.gain" = 0.5 }\n'
        '[[item]]\nname = "a"\ndefaults = { sweep = "one", metric = "share", group = "tcp" }\n'
        '[[item.claim]]\ntext = "half"\nrelation = "at least"\nvalue = 50\nsays = "half"\n'
        '[[item.claim]]\ntext = "seen"\nrelation = "shown"\n'
        '[[item]]\nname = "b"\nagain = { items = ["a"], sweeps = { one = "two" } }\n',
        encoding="utf-8",
    )
    study = StudyFolder.load(tmp_path)
    a, b = study.tables["item"]
    (again,) = study.claims(b)
    assert (again["text"], again["of"], again["sweep"]) == ("a: half", "a: half", "two")
    assert [one["of"] for one in study.claims(a)] == ["a: half", "a: seen"]
    b["again"]["items"] = ["c"]
    with pytest.raises(InputError, match="again: the study has no item"):
        study.claims(b)
