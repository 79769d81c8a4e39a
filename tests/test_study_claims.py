"""What tables of a study can claim of means, and how figures draw them."""

from pathlib import Path
from typing import Any

import pytest
from matplotlib.container import ErrorbarContainer

from sojourn import InputError
from sojourn.study.claims import checks
from sojourn.study.drawings import draw
from sojourn.study.load import StudyFolder, chosen
from sojourn.study.means import Means, Reduced, read, write
from sojourn.study.model import Check
from sojourn.study.numbers import Number
from sojourn.study.sweeps import sweep_tables
from sojourn.study.template import make

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
