"""The study of RFC 7928: its ellipse, the points of its sweeps, its phases, and one's own discipline beside others."""

import json
import math
import random
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import Command, points_of

from sojourn import InputError, scenario
from sojourn._native import seconds
from sojourn.pages.pictures import narrowed
from sojourn.study.beside import beside
from sojourn.study.drawings import draw
from sojourn.study.ellipse import Ellipse
from sojourn.study.find import find_folder
from sojourn.study.lab import Lab
from sojourn.study.load import StudyFolder
from sojourn.study.means import Means, Reduced
from sojourn.study.numbers import Number
from sojourn.sweeps.plan import Point

RFC = find_folder("rfc7928")
assert RFC.module is not None
CODE = RFC.module


def gaussian(count: int, longer: float, shorter: float, angle_rad: float) -> list[tuple[float, float]]:
    stream = random.Random(7928)
    cosine, sine = math.cos(angle_rad), math.sin(angle_rad)
    drawn = [(stream.gauss(0, longer), stream.gauss(0, shorter)) for _ in range(count)]
    return [(20 + x * cosine - y * sine, 8 + x * sine + y * cosine) for x, y in drawn]


@pytest.mark.parametrize("angle_rad", [-1.2, -0.4, 0.0, 0.7, 1.5])
def test_the_ellipse_of_a_known_gaussian_has_its_axes_and_its_angle(angle_rad: float) -> None:
    points = gaussian(10_000, 3.0, 1.0, angle_rad)
    found = Ellipse.of(points)
    assert found is not None
    assert found.centre == pytest.approx((20, 8), abs=0.1)
    assert found.half_axes == pytest.approx((3.0, 1.0), rel=0.03)
    # Where an axis points is the same after half a turn.
    assert math.sin(found.angle_rad - angle_rad) == pytest.approx(0, abs=0.03)
    assert inside(points, found) / len(points) == pytest.approx(1 - math.exp(-0.5), abs=0.01)
    for x, y in found.contour():
        assert distance((x, y), found) == pytest.approx(1.0)
    assert found.contour()[0] == pytest.approx(found.contour()[-1])


def distance(point: tuple[float, float], ellipse: Ellipse) -> float:
    """Return how many standard deviations a point is away from the centre."""
    x, y = (one - middle for one, middle in zip(point, ellipse.centre, strict=True))
    cosine, sine = math.cos(ellipse.angle_rad), math.sin(ellipse.angle_rad)
    longer, shorter = ellipse.half_axes
    return math.hypot((x * cosine + y * sine) / longer, (y * cosine - x * sine) / shorter)


def inside(points: list[tuple[float, float]], ellipse: Ellipse) -> int:
    return sum(distance(point, ellipse) <= 1 for point in points)


def test_delay_that_costs_goodput_leans_the_ellipse_down() -> None:
    found = Ellipse.of([(1.0, 9.0), (2.0, 8.2), (3.0, 6.9), (4.0, 6.0)])
    assert found is not None
    assert -math.pi / 2 < found.angle_rad < 0


@pytest.mark.parametrize(
    "points", [[], [(1, 2)], [(1, 2), (2, 3)], [(1, 2)] * 5, [(1, 2), (2, 4), (5, 10)], [(1, 2), (1, 3), (1, 5)]]
)
def test_few_runs_and_runs_on_a_line_have_no_ellipse(points: list[tuple[float, float]]) -> None:
    assert Ellipse.of(points) is None


RUNS = [(10.0, 5.0), (12.0, 5.5), (14.0, 5.2), (30.0, 7.0)]
FIGURE: dict[str, Any] = {
    "name": "one",
    "caption": "",
    "kind": "ellipses",
    "sweep": "s",
    "metric": "queue_ms_mean",
    "against": {"metric": "goodput_mbps"},
    "by": "queue",
}


def runs(*, kept: bool = True) -> Means:
    reduced = Reduced(("queue",))
    for place, metric in enumerate(("queue_ms_mean", "goodput_mbps")):
        values = [run[place] for run in RUNS]
        reduced.add({"queue": "PIE"}, "tcp", metric, (Number.by_run if kept else Number.of)(values))
    return Means({"s": reduced})


@pytest.mark.parametrize("log", [False, True])
def test_a_trade_off_plot_shows_runs_their_ellipse_and_the_median_run(*, log: bool) -> None:
    (axes,) = draw({**FIGURE, "log": log}, runs(), {}).axes
    drawn, contour, median = ([tuple(map(float, xy)) for xy in np.asarray(one.get_xydata())] for one in axes.lines)
    assert drawn == RUNS
    assert median == [(13.0, statistics.median(goodput for _, goodput in RUNS))]
    ellipse = Ellipse.of(RUNS)
    assert ellipse is not None
    assert contour == [(max(x, 5.0) if log else x, y) for x, y in ellipse.contour()]
    # Better is above and right.
    assert axes.xaxis_inverted()
    assert not axes.yaxis_inverted()


def test_a_trade_off_plot_needs_what_each_run_gave() -> None:
    with pytest.raises(InputError, match="keeps no runs of both metrics"):
        draw(FIGURE, runs(kept=False), {})


@pytest.mark.long
def test_the_table_of_all_scenarios_has_names_that_can_be_read_on_any_page() -> None:
    tables = next(figure for item in RFC.tables["item"] for figure in RFC.figures(item) if figure["name"] == "table")
    wide = draw(tables, RFC.replayed(), RFC.axes)
    for figure, turned in ((wide, 0), (narrowed(wide), 90)):
        (axes,) = figure.axes
        names = [label for tick in axes.xaxis.get_major_ticks() for label in (tick.label1, tick.label2)]
        assert {name.get_rotation() for name in names} == {turned}
        assert len(names) == 2 * len(RFC.axes["queue"]["levels"]) == 20
    assert "98\n93" in [text.get_text() for text in wide.axes[0].texts]


def points(sweep: str, study: StudyFolder = RFC) -> list[Point]:
    return points_of(study, sweep)


def test_the_link_has_its_two_rates_in_turns() -> None:
    changes = {point.coordinates["every"]: point.changes["change"] for point in points("capacity")}
    for every, period_s, duration in (("8.2.6 each 20 s", 20.0, "140 s"), ("8.2.6 each 0.1 s", 0.1, "60 s")):
        tcp = {"name": "tcp", "control": "newreno", "rtt": "100 ms"}
        link = {"rate": "100 Mbit/s"}
        said = {"duration": duration, "bottleneck": link, "change": changes[every], "group": [tcp]}
        made = scenario(said).to_dict().change
        assert [seconds("at", one.at) for one in made[:3]] == pytest.approx([period_s, 2 * period_s, 3 * period_s])
        assert [one.bottleneck.rate for one in made[:3]] == ["10 Mbit/s", "100 Mbit/s", "10 Mbit/s"]
        assert len(made) == round(float(duration[:-2]) / period_s) - 1


def test_every_discipline_but_cake_has_a_bandwidth_delay_product_of_buffer() -> None:
    queues = {point.coordinates["queue"]: point.changes["bottleneck.queue"] for point in points("levels")}
    assert len(queues) == 10
    limits = {name: queue.get("limit") for name, queue in queues.items()}
    assert limits.pop("CAKE") is None
    assert set(limits.values()) == {"100 ms"}
    marking = {point.coordinates["queue"] for point in points("rtts") if point.coordinates["signal"] == "marks"}
    assert set(queues) - marking == {"DropTail"}


def test_a_phase_has_what_left_in_its_seconds(tmp_path: Path) -> None:
    """Half of the time the link is ten times as fast: so is a buffer's goodput, and its delay a tenth."""
    axes = {"every": ["8.2.6 each 20 s"], "queue": ["DropTail"]}
    sweep = {**RFC.tables["sweep"]["capacity"], "seeds": 1, "axes": axes}
    few = StudyFolder(RFC.folder, {**RFC.tables, "sweep": {**RFC.tables["sweep"], "capacity": sweep}})
    means = few.measured(Lab(tmp_path, 1), ["rates"])
    slow, fast = (means.number("rates", "phase_mbps", phase=rate).mean for rate in ("10 Mbit/s", "100 Mbit/s"))
    # Payload of 1448 bytes in packets of 1500.
    assert slow == pytest.approx(10 * 1448 / 1500, rel=0.03)
    assert 80 < fast < 100 * 1448 / 1500
    delays = [means.number("rates", "phase_ms_mean", phase=rate).mean for rate in ("10 Mbit/s", "100 Mbit/s")]
    assert delays[0] > 5 * delays[1]


PLUGIN = Path(__file__).parent / "plugins" / "codel.py"


def test_a_discipline_is_set_beside_those_that_everybody_knows() -> None:
    study = beside(RFC, "pie")
    assert list(study.tables["axes"]["queue"]["levels"]) == ["DropTail", "FQ-CoDel", "PIE"]
    assert {point.coordinates["queue"] for point in points("levels", study)} == {"DropTail", "FQ-CoDel", "PIE"}
    assert study.name == "rfc7928 --queue pie"
    claims = [claim["text"] for item in study.tables["item"] for claim in study.claims(item)]
    assert "{queue}: the mean delay is near its target" in claims
    # What is said of others, and reasons that are theirs, go.
    assert not any("why" in claim for item in study.tables["item"] for claim in item["claim"])
    assert "{queue}: the mean delay is at most twice its target" not in claims, (
        "that is FQ-CoDel's, which is there as well"
    )
    assert not any("main" in claim for item in study.tables["item"] for claim in item["claim"])
    assert beside(RFC, "droptail").tables["axes"]["queue"]["levels"].keys() == {"DropTail", "FQ-CoDel"}
    with pytest.raises(InputError, match="did you mean 'pie'"):
        beside(RFC, "pye")
    with pytest.raises(InputError, match="compares no queue disciplines"):
        beside(find_folder("gong"), "pie")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"axis": "queues"}, "did you mean 'queue'"),
        ({"axis": "rtt_ms"}, "no axis with levels is called 'rtt_ms'"),
        ({"levels": ["Droptail"]}, "did you mean 'DropTail'"),
        ({"keys": "bottleneck.queue"}, "did you mean 'key'"),
        ({"key": None}, "beside.key: nothing; allowed: the key that it sets"),
    ],
)
def test_what_a_study_says_wrongly_of_its_disciplines_is_told(said: dict[str, Any], message: str) -> None:
    changed = {**RFC.tables["beside"], **said}
    tables = {**RFC.tables, "beside": {key: value for key, value in changed.items() if value is not None}}
    with pytest.raises(InputError, match=message):
        beside(StudyFolder(RFC.folder, tables), "pie")


def test_a_discipline_may_be_named_alone_in_an_axis() -> None:
    levels = {**RFC.axes["queue"]["levels"], "Plain": {"bottleneck.queue": "sfb"}}
    tables = {**RFC.tables, "axes": {**RFC.axes, "queue": {"levels": levels}}}
    found = beside(StudyFolder(RFC.folder, tables), "sfb").axes["queue"]["levels"]
    assert list(found) == ["DropTail", "FQ-CoDel", "Plain"]
    assert list(RFC.axes["queue"]["levels"]) == list(levels)[:-1], "the study itself stays as it is"


def test_items_without_a_claim_or_figure_of_the_discipline_go() -> None:
    names = [item["name"] for item in beside(RFC, "sfq").tables["item"]]
    assert "targets" not in names, "sfq has no target"
    assert {"table", "levels", "unresponsive"} <= set(names)
    assert "targets" in [item["name"] for item in beside(RFC, "codel").tables["item"]]


def test_a_report_of_ones_own_discipline(tmp_path: Path, command: Command) -> None:
    done = command("paper", "rfc7928", "sizes", "--queue", "nothing-like-it", "--out", tmp_path)
    assert done.code == 2
    assert "no queue discipline is called 'nothing-like-it'" in done.err
    done = command("paper", "rfc7928", "sizes", "--queue", "pi2", "--kept", "--out", tmp_path)
    assert done.code == 2
    assert "--kept" in done.err


def short(study: StudyFolder) -> StudyFolder:
    """Return the study with few seeds and short runs."""
    times = {"duration": "24 s", "warmup": "12 s"}
    sweeps = {
        name: {**one, "seeds": 3, "set": {**one.get("set", {}), **times}} for name, one in study.tables["sweep"].items()
    }
    windows = sweeps["windows"]["set"]
    windows["group"] = [
        {**group, "start": {"uniform": ["12 s", "20 s"]}} if group["name"] == "short" else group
        for group in windows["group"]
    ]
    return StudyFolder(study.folder, {**study.tables, "sweep": sweeps})


@pytest.mark.long
def test_a_plug_in_has_a_report(tmp_path: Path) -> None:
    """In a process of its own, since a plug-in stays loaded."""
    shutil.copytree(RFC.folder, tmp_path / "rfc7928")
    file = tmp_path / "rfc7928" / "study.toml"
    text = file.read_text(encoding="utf-8")
    for long, quick in (("seeds = 10", "seeds = 2"), ('"300 s"', '"24 s"'), ('"60 s"', '"12 s"')):
        text = text.replace(long, quick, 1)
    file.write_text(text, encoding="utf-8")
    command = ["paper", "./rfc7928", "sizes", "--queue", "py-codel", "--plugin", str(PLUGIN), "--out", "out", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "sojourn", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    (document,) = json.loads(done.stdout)
    assert document["name"] == "rfc7928 --queue py-codel --plugin codel.py"
    assert {check["claim"].split(":")[0] for check in document["items"]["sizes"]} == {"FQ-CoDel", "py-codel"}
    assert (tmp_path / "out" / "sizes" / "sizes.png").is_file()
    assert "py-codel beside DropTail and FQ-CoDel" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize("name", ["trade-off", "rtt", "two-way", "buffers", "startup", "variation", "hops"])
def test_items_with_few_seeds_and_short_runs(name: str, tmp_path: Path) -> None:
    item = next(one for one in short(beside(RFC, "codel")).study().items if one.name == name)
    found = item.find(Lab(tmp_path, 1))
    assert found.checks
    assert set(found.figures) == set(found.captions) != set()
