"""The twin: the queue that is named, simulated under the same probe, fits; another one does not."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sojourn import api
from sojourn.detect import plan
from sojourn.detect.answer import answer, strangeness, twin_of
from sojourn.detect.log import FlowLog
from sojourn.detect.model import Reading
from sojourn.detect.plan import GREEDY, Path
from sojourn.detect.probe import Probed, over, probe
from sojourn.detect.scales import with_scales
from sojourn.detect.stored import load_model
from sojourn.detect.table import queue_table
from sojourn.detect.twin import COMPARED, COMPONENTS, distances, line_bps, missing, samples, twin, waits_ms

QUEUES: dict[str, dict[str, Any]] = {
    "droptail": {"limit": "100 packets"},
    "codel": {"preset": "linux"},
    "pie": {"preset": "linux"},
    "red": {"preset": "linux", "limit": "150000 B", "min": "15000 B", "max": "45000 B", "max_p": 0.05},
    "fq_codel": {"preset": "linux"},
    "sfq": {"preset": "linux"},
    "cake": {},
}


# Both serve flows in turns, with quanta of a packet.
ALIKE = {"sfq": {"sfq", "drr"}}


def probed(kind: str, *, rate: str = "8 Mbit/s", others: list[Any] | None = None, **queue: Any) -> Probed:
    path = Path({"bottleneck": {"rate": rate, "queue": {"kind": kind, **queue}}}, "40 ms", others or [])
    return probe(over(path, 7), rtt_ms=lambda: path.rtt_ms)


@pytest.mark.parametrize("name", QUEUES)
def test_the_right_name_fits_and_another_one_is_farther(name: str) -> None:
    seen, model = probed(name, **QUEUES[name]), load_model()
    found = answer(seen, model)
    assert found.judgement is not None
    best = found.judgement.best
    assert best in ALIKE.get(name, {name})
    assert found.twin is not None
    assert found.twin.fits, found.twin.document()
    assert not found.is_new
    assert any(f"Simulated under the same probe {best} fits" in sentence for sentence in found.evidence)
    other = {"codel": "fq_codel", "sfq": "droptail"}.get(name, "codel" if name != "codel" else "pie")
    wrong = twin(seen, other, model.read(other, seen.features, whole=True), model.twins["full"])
    assert wrong is not None
    assert wrong.distance > 2 * found.twin.distance


@pytest.mark.parametrize(
    ("kind", "queue", "like"),
    [
        ("choke", {"preset": "linux", "limit": "150 packets", "min": "15 packets", "max": "45 packets"}, "red"),
        ("fq_pie", {"preset": "linux"}, "fq_codel"),
    ],
)
def test_a_queue_that_was_never_trained_is_stranger(kind: str, queue: dict[str, Any], like: str) -> None:
    model = load_model()
    strange = {}
    for name, table in ((kind, queue), (like, QUEUES[like])):
        found = answer(probed(name, **table), model)
        assert found.judgement is not None
        strange[name] = strangeness(found.judgement, found.twin)
    assert strange[kind] > 1.5 * strange[like]


def test_a_twin_that_does_not_fit_makes_the_queue_unknown() -> None:
    seen, model = probed("codel", preset="linux"), load_model()
    strict = replace(model.twins["full"], limits=np.array([1e-3, 1.0, 1.0]))
    found = answer(seen, replace(model, twins={**model.twins, "full": strict}))
    assert found.is_new
    assert found.verdict.startswith("unknown, most like codel (")
    assert found.parameters == {}
    assert any("does not fit" in sentence and "Farthest are the" in sentence for sentence in found.evidence)
    # Unlike the training, or with a poor fit: either is enough, and so are both together.
    limits = replace(strict, limits=np.array([0.5, 1.0, 1.6]))
    assert limits.strangeness(0.6, 0.1) == pytest.approx(1.2)
    assert limits.strangeness(0.1, 1.3) == pytest.approx(1.3)
    assert limits.strangeness(0.45, 0.9) == pytest.approx(1.8 / 1.6)


@pytest.mark.parametrize(("kind", "queue"), [("pie", {"preset": "linux"}), ("fq_codel", {"preset": "linux"})])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.25])
def test_other_traffic_is_part_of_the_twin(kind: str, queue: dict[str, Any], share: float) -> None:
    traffic = {"kind": "cbr", "rate": f"{8 * share} Mbit/s", "packet": "1000 B"}
    others = [{"name": "others", "rtt": "40 ms", "traffic": traffic}] if share else []
    seen, model = probed(kind, others=others, **queue), load_model()
    # The trains as a whole are slowed down by it, the gaps within them are not.
    assert line_bps(seen) == pytest.approx(8e6, rel=0.01)
    assert missing(seen, kind) == pytest.approx(share, abs=0.03)
    nearest = twin(seen, kind, model.read(kind, seen.features, whole=True), model.twins["full"])
    assert nearest is not None
    assert nearest.fits


def test_what_has_no_twin() -> None:
    seen, model = probed("codel", preset="linux"), load_model()
    unknown_rtt = answer(replace(seen, rtt_ms=None), model)
    assert unknown_rtt.twin is None
    assert not unknown_rtt.is_new
    assert unknown_rtt.document()["twin"] is None
    for name in ("policer", "shaper"):
        assert twin(seen, name, {}, model.twins["full"]) is None


def test_a_probe_has_no_distance_from_itself() -> None:
    times = np.arange(0, 8, 0.01)
    waits = np.abs(np.sin(times)) / 10
    flow = FlowLog(times, times + waits, np.full(len(times), 1500), np.zeros(len(times), dtype=bool))
    one = samples({"load": {GREEDY: flow}}, 0.001)
    slow = FlowLog(times, times + 10 * waits, flow.size_bytes, flow.marked)
    other = samples({"load": {GREEDY: slow}}, 0.001)
    same, apart = distances(one, one), distances(one, other)
    assert np.nanmax(same) == 0
    named = dict(zip(COMPONENTS, apart, strict=True))
    # Ten times the wait is the logarithm of ten, but for waits below a packet's time.
    assert named["waits of the greedy flow, later"] == pytest.approx(np.log(10), abs=0.2)
    assert named["losses of the greedy flow, later"] == 0
    assert np.isnan(named["waits of the larger flow of the overload, later"])
    assert len(waits_ms({"load": {GREEDY: flow}}, "greedy flow, later")) == pytest.approx(0.65 * len(times), abs=2)
    assert len(waits_ms({}, next(iter(COMPARED)))) == 0


@pytest.mark.long
def test_scales_do_not_depend_on_the_number_of_processes() -> None:
    model = load_model()
    one, two = (with_scales(model, 5, jobs, (18, 18)).twins["full"] for jobs in (1, 2))
    for name in ("usual", "limits"):
        assert (getattr(one, name) == getattr(two, name)).all()


def test_the_table_of_what_was_read() -> None:
    def reading(value: float) -> Reading:
        return Reading(value, value, value)

    table = queue_table("sfq", {"limit_packets": reading(140)}, None, None)
    assert table == {"kind": "sfq", "preset": "linux", "limit": "127 packets"}
    red = {"min_bytes": reading(50e3), "max_bytes": reading(40e3), "max_p": reading(0.1)}
    table = queue_table("red", red, 100.0, 12.0)
    assert table is not None
    assert (table["min"], table["max"]) == ("35500 B", "40000 B")
    assert table["limit"] == "100 packets"
    assert queue_table("shaper", {}, 1.0, 1.0) is None


@pytest.mark.long
def test_the_command_says_whether_the_twin_fits(command: Any, tmp_path: Any) -> None:
    done = command(
        "detect", "first", "--json", "--set", "bottleneck.queue.kind=fq_codel", "--page", tmp_path / "p.html"
    )
    found = json.loads(done.out)
    assert found["twin"]["fits"] is True
    assert found["twin"]["queue"]["kind"] == "fq_codel"
    assert list(found["twin"]["apart"].values()) == sorted(found["twin"]["apart"].values(), reverse=True)
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "Does fq_codel fit, simulated under the same probe? Yes" in page


def test_a_twin_is_that_of_the_best_name() -> None:
    seen, model = probed("codel", preset="linux"), load_model()
    judged = model.judge(seen.features, whole=True)
    nearest = twin_of(seen, judged, model)
    assert nearest is not None
    assert nearest.name == judged.best == "codel"


@pytest.mark.parametrize("least", [2e3, 17.2e3, 19e3, 60e3, 2e5])
@pytest.mark.parametrize("most", [3e3, 6e3, 19.1e3, 21e3, 63e3])
def test_thresholds_of_red_make_a_queue_however_they_were_read(least: float, most: float) -> None:
    """17.2 and 19.1 kB were refused: a burst of theirs was shorter than min."""
    read = {"min_bytes": Reading(least, least, least), "max_bytes": Reading(most, most, most)}
    table = queue_table("red", read, 50.0, 10.0)
    link = {"rate": "10 Mbit/s", "queue": table}
    assert api.scenario(plan.find().scenario(Path({"bottleneck": link}, "30 ms"), 1)).duration_s > 0
