"""The detector: what both ends log, what the trains tell, and that it says nothing where nothing can be known."""

import json
import re
from dataclasses import replace
from pathlib import Path as File
from typing import Any

import numpy as np
import pytest

import sojourn
from sojourn import api
from sojourn.detect import hosts, plan, remedies
from sojourn.detect.answer import answer, fair_queueing
from sojourn.detect.download import NAMES as DOWNLOAD_NAMES
from sojourn.detect.draw import FAMILIES, LEFT_OUT, PARTS, draw, name_of
from sojourn.detect.features import NAMES, REASONS, find_rate, vector
from sojourn.detect.log import FlowLog, of_table
from sojourn.detect.model import Forest, calibrated
from sojourn.detect.page import headline
from sojourn.detect.plan import FULL, GREEDY, LONGEST_S, OVERLOAD, QUESTIONS, Path
from sojourn.detect.population import _passes_mbps, crossed, is_held_out, learnt_from
from sojourn.detect.probe import BudgetError, Probed, estimate, over, probe
from sojourn.detect.stored import load_model


def path(queue: Any, rate: str = "10 Mbit/s", **link: Any) -> Path:
    return Path({"bottleneck": {"rate": rate, "queue": queue, **link}}, "40 ms")


def test_the_log_is_what_happened() -> None:
    scenario = api.scenario(plan.load(5e6).scenario(path({"kind": "droptail", "limit": "20 packets"}, "5 Mbit/s"), 1))
    result = scenario.run(series=False, packets=True)
    log = of_table(result.packets)
    record = result.runs[0]
    flow = log[GREEDY]
    drops = sum(one.drops for one in record.flows if one.group == GREEDY)
    assert flow.lost.sum() == drops > 0
    # Half of the RTT, a packet's own time, and the queue.
    assert np.nanmin(flow.delay_s) >= 0.02 + 1500 * 8 / 5e6 - 1e-9
    assert np.nanmax(flow.delay_s) <= 0.02 + 21.2 * 1500 * 8 / 5e6
    assert (np.diff(flow.sent_s) >= 0).all()


def test_what_was_still_on_its_way_is_not_lost() -> None:
    buffer = path({"kind": "droptail", "limit": "5000 packets"}, "2 Mbit/s")
    seen = probe(over(buffer, 1))
    assert not any(flow.lost.any() for log in seen.logs.values() for flow in log.values())


@pytest.mark.parametrize("rate", [1.0, 12.5, 80.0])
def test_trains_tell_the_rate(rate: float) -> None:
    stage = plan.find()
    log = over(path("droptail", f"{rate} Mbit/s"), 1)(stage)
    assert len(log[FULL].sent_s) == 24
    seen = Probed()
    seen.add(stage, log)
    from sojourn.detect.features import find_rate

    assert find_rate(seen.logs["find"]) == pytest.approx(rate * 1e6, rel=1e-6)


@pytest.mark.parametrize(
    ("queue", "turns"),
    [
        ("droptail", False),
        ("codel", False),
        ("pie", False),
        ("red", False),
        ("fq_codel", True),
        ("sfq", True),
        ("cake", True),
    ],
)
@pytest.mark.parametrize("rate", ["4 Mbit/s", "40 Mbit/s"])
def test_trains_alone_tell_fair_queueing(queue: str, rate: str, turns: bool) -> None:
    seen = probe(over(path(queue, rate), 3), decided=lambda _seen: True)
    assert fair_queueing(seen) is turns


def test_a_probe_keeps_its_bounds() -> None:
    seen = probe(over(path({"kind": "droptail", "limit": "5000 packets"}), 1))
    assert seen.active_s <= LONGEST_S
    cost = estimate(seen.rate_bps)
    assert seen.sent_bytes <= cost["bytes"] * 1.02
    assert cost["bps"] == pytest.approx(seen.rate_bps * OVERLOAD)


def test_a_budget_is_kept_before_anything_is_sent() -> None:
    asked = []

    def send(stage: plan.Stage) -> dict[str, FlowLog]:
        asked.append(stage.name)
        return dict(over(path("droptail"), 1)(stage))

    with pytest.raises(BudgetError, match=r"'load' sends up to .* MB; .* of the budget are left"):
        probe(send, budget_bytes=1e6)
    assert asked == ["find"]


@pytest.mark.parametrize("rate_mbps", [0.5, 3, 9, 10, 20, 21, 60, 100, 1000])
def test_a_probe_sends_less_where_a_line_is_faster(rate_mbps: float) -> None:
    """A probe cost 41 MB at 20 Mbit/s and 407 MB at 200."""
    rate = rate_mbps * 1e6
    sent = sum(stage.size_bytes for stage in (plan.find(), plan.load(rate), plan.overload(rate, plan.LONG_OVERLOAD_S)))
    assert sent < (19e6 if rate_mbps <= 20 else 60e6)


def test_trains_that_a_bucket_let_pass_do_not_plan_the_load() -> None:
    """Behind a wire of 1 Gbit/s the first trains told 1 Gbit/s, and the load would have been over in 0.2 s."""
    table = {"queue": "droptail", "rate": "1 Gbit/s", "shaper": {"rate": "20 Mbit/s", "burst": "200 kB"}}
    seen = probe(over(Path({"bottleneck": table}, "30 ms"), 1))
    assert [stage.name for stage in seen.stages] == ["find", "load", "load", "overload"]
    assert seen.stages[2].active_s == pytest.approx(plan.load(20e6).active_s, rel=0.1)
    assert seen.sent_bytes < 25e6
    assert seen.sent_bytes > sum(flow.size_bytes.sum() for log in seen.logs.values() for flow in log.values())


def test_a_line_whose_trains_tell_too_little_is_not_flooded() -> None:
    """Jitter of 3 ms stretches trains: they tell 20 Mbit/s of 300, and the greedy flow took 143 MB."""
    table = {"queue": "droptail", "rate": "300 Mbit/s", "jitter": {"kind": "uniform", "max": "3 ms", "reorder": False}}
    seen = probe(over(Path({"bottleneck": table}, "30 ms"), 1))
    assert find_rate(seen.logs["find"]) < 90e6
    assert seen.rate_bps > 200e6
    assert seen.sent_bytes < 60e6


@pytest.mark.parametrize("limit", [300, 500, 1000])
@pytest.mark.parametrize("rate", ["3 Mbit/s", "6 Mbit/s", "10 Mbit/s"])
def test_a_deep_fifo_is_not_called_anything_else(rate: str, limit: int) -> None:
    """All of them were named hhf at 98 % and more: at these rates HHF, a FIFO of the same limit, finds no hitters."""
    found = answer(probe(over(path({"kind": "droptail", "limit": f"{limit} packets"}, rate), 4)), load_model())
    assert found.judgement is not None
    assert found.judgement.names["droptail"] > 0.25
    assert max(share for name, share in found.judgement.names.items() if name != "droptail") < 0.8


def test_random_loss_is_said_where_it_is() -> None:
    for queue in ("droptail", "fq_codel"):
        with_loss = answer(probe(over(path(queue, loss=0.01), 2)), load_model())
        without = answer(probe(over(path(queue), 2)), load_model())
        assert with_loss.causes["loss"] > 0.8
        assert without.causes["loss"] < 0.3
        assert with_loss.evidence[0].startswith("Packets are lost at random as well")


def test_where_a_full_buffer_dropped_its_depth_is_said() -> None:
    found = answer(probe(over(path({"kind": "droptail", "limit": "100 packets"}, "10 Mbit/s"), 2)), load_model())
    (said,) = [one for one in found.evidence if "deepest" in one]
    # Some of the 100 packets are small.
    found_ms, packets = re.findall(r"\d[0-9.]*", said)
    assert 0.9 * 120 < float(found_ms) <= 121
    assert 90 < float(packets) <= 100


def test_every_name_is_drawn_by_its_part() -> None:
    drawn = [name_of(place) for place in range(2 * sum(PARTS.values()))]
    assert {name: drawn.count(name) for name in FAMILIES} == {name: 2 * parts for name, parts in PARTS.items()}


def test_training_draws_no_line_that_is_held_out() -> None:
    lines = learnt_from(300.0)
    assert not any(is_held_out(one.line) for one in lines)
    assert {one.name for one in lines} == {"droptail", "cake", "pie"}
    held_out = [line["name"] for line in sojourn.catalogue()["lines"] if is_held_out(line["name"])]
    assert 0.4 < len(held_out) / len(sojourn.catalogue()["lines"]) < 0.6


def test_the_first_of_two_queues_of_one_rate_holds_the_packets() -> None:
    """Behind the provider's FIFO a shaper as fast as the line finds nothing to queue; in front of the modem it does."""
    assert crossed("vdsl-50-10-shaped-close", "down").name == "droptail"
    assert crossed("vdsl-50-10-shaped-close", "up").name == "cake"
    assert crossed("vdsl-50-10-shaped-close", "up").rate_mbps < 10


def test_every_feature_has_a_reason_and_a_place() -> None:
    values = probe(over(path("codel"), 1)).features
    assert tuple(values) == NAMES == tuple(REASONS)
    assert len(vector(values)) == len(NAMES)
    assert not np.isinf(vector(values)).any()
    assert set(Probed().features.values()) != set()
    assert np.isnan(vector(Probed().features)).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_drawn_paths_can_be_run(name: str) -> None:
    for number in range(3):
        drawn = draw(name, np.random.default_rng([5, number]))
        assert api.scenario(plan.find().scenario(drawn.path, 1)).duration_s > 0
    assert name not in LEFT_OUT


@pytest.mark.parametrize("name", ["droptail", "codel", "pie", "red", "fq_codel", "sfq", "cake"])
def test_the_names_of_linux_defaults(name: str) -> None:
    table = {
        "red": {"preset": "linux", "limit": "150000 B", "min": "15000 B", "max": "45000 B", "max_p": 0.05},
        "droptail": {"limit": "100 packets"},
        "cake": {},
    }.get(name, {"preset": "linux"})
    found = answer(probe(over(path({"kind": name, **table}), 11)), load_model())
    assert found.cannot is None
    assert found.judgement is not None
    assert found.judgement.best == name, found.judgement.names
    assert found.document()["name"] == name
    assert sum(found.judgement.names.values()) == pytest.approx(1)
    assert name in found.judgement.sets["95 %"]


def test_parameters_are_read() -> None:
    """Within a factor of 1.5 of the truth; how far off they are in the median stands on the page of validation."""
    queues: list[tuple[dict[str, Any], str, float]] = [
        ({"kind": "droptail", "limit": "150 packets"}, "limit_packets", 150),
        ({"kind": "pie", "preset": "linux", "target": "15 ms"}, "target_ms", 15),
        ({"kind": "codel", "preset": "linux"}, "interval_ms", 100),
    ]
    for queue, parameter, truth in queues:
        found = answer(probe(over(path(queue), 2)), load_model())
        read = found.parameters[parameter]
        assert read.low < read.value < read.high
        assert truth / 1.5 < read.value < truth * 1.5, (queue, read)
        assert found.document()["parameters"][parameter]["value"] == read.value


def test_a_path_that_loses_everything_has_no_name() -> None:
    found = answer(probe(over(path("codel", loss=1.0), 1)), load_model())
    assert found.judgement is None
    assert (
        found.verdict
        == "cannot say, because 100% of the first trains were lost, so that the rate of the path is not known"
    )


def test_a_path_without_a_queue_has_no_name() -> None:
    """Nothing waits behind a sender that is slower than the link."""
    sent = np.arange(0, 9, 0.01)
    calm = FlowLog(sent, sent + 0.02, np.full(len(sent), 1500), np.zeros(len(sent), dtype=bool))
    trains = np.repeat(np.arange(4) * 0.25, 6)
    spread = FlowLog(
        trains, trains + 0.02 + np.tile(np.arange(6), 4) * 1e-4, np.full(24, 1500), np.zeros(24, dtype=bool)
    )
    seen = Probed(1.2e8)
    seen.add(plan.find(), {FULL: spread})
    seen.add(plan.load(1.2e8), {GREEDY: calm, FULL: spread})
    found = answer(seen, load_model())
    assert found.judgement is None
    assert "no queue was seen" in found.verdict


def test_a_path_whose_rate_changes_has_no_name(tmp_path: File) -> None:
    # 12 Mbit/s for five seconds, then 3 Mbit/s.
    times = [*range(1, 5001), *range(5004, 12_001, 4)]
    (tmp_path / "change.trace").write_text("\n".join(map(str, times)), encoding="utf-8")

    def send(stage: plan.Stage) -> Any:
        tables = stage.scenario(path({"kind": "droptail", "limit": "50 packets"}), 1)
        tables["bottleneck"].pop("rate", None)
        tables["bottleneck"] = {"trace": "change.trace", "queue": {"kind": "droptail", "limit": "50 packets"}}
        return of_table(sojourn.scenario(tables, base_dir=tmp_path).run(series=False, packets=True).packets)

    found = answer(probe(send), load_model())
    assert found.judgement is None
    assert "rate of the path changed" in found.verdict


def test_calibration_keeps_probabilities() -> None:
    shares = calibrated(np.array([[0.9, 0.1, 0.0], [0.5, 0.5, 0.0]]), np.array([2.0, 0.1]))
    assert shares.sum(axis=1) == pytest.approx([1, 1])
    assert shares[0] == pytest.approx(np.array([1.0, 0.04, 0.01]) / 1.05)
    assert shares[1, 0] == shares[1, 1]


def test_a_forest_by_hand() -> None:
    """One tree: the first feature at most 2 is 'a', else 3 of 4 'b'; what was not seen is below every value."""
    arrays = {
        "roots": np.array([0]),
        "feature": np.array([0, -1, -1]),
        "threshold": np.array([2.0, 0, 0]),
        "left": np.array([1, 0, 1]),
        "right": np.array([2, 0, 0]),
        "shares": np.array([[255, 0], [64, 191]], dtype=np.uint8),
    }
    votes = Forest(["a", "b"], arrays).votes(np.array([[2.0], [2.1], [np.nan]]))
    assert votes == pytest.approx(np.array([[1, 0], [64 / 255, 191 / 255], [1, 0]]))


@pytest.mark.long
def test_training_gives_the_same_bytes_and_what_scikit_learn_says(tmp_path: File) -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    from sojourn.detect.causes import NAMES as SIGNS
    from sojourn.detect.stored import save
    from sojourn.detect.training import TREES, Examples, fit, train

    random = np.random.default_rng(1)
    names = np.array(["codel", "pie", "sfq"] * 60)
    rows = random.normal(size=(180, len(NAMES) + len(SIGNS))) + np.arange(180)[:, None] % 3
    rows[::7, 5] = np.nan
    first, second = tmp_path / "a.npz", tmp_path / "b.npz"
    known = [{"target_ms": 5.0 + place % 7} if name == "codel" else {} for place, name in enumerate(names)]
    causes = [("loss",) if place % 5 else ("bulk",) for place in range(len(names))]
    probes = Examples(rows, names, known, causes)
    watched = Examples(rows[:, : len(DOWNLOAD_NAMES)], names, [{}] * len(names), [()] * len(names))
    save(first, fit(probes, watched, 3))
    save(second, fit(probes, watched, 3))
    assert first.read_bytes() == second.read_bytes()
    model = load_model(first)
    assert model.provenance["probes"] == 180
    assert model.provenance["scikit_learn"]
    read = model.read("codel", dict(zip(NAMES, rows[0], strict=False)), whole=True)["target_ms"]
    assert 5 < read.value < 11
    assert read.low < read.value < read.high
    assert model.read("pie", dict(zip(NAMES, rows[0], strict=False)), whole=True) == {}
    chosen = ensemble.RandomForestClassifier(TREES, min_samples_leaf=2, max_features="sqrt", random_state=3)
    # The signs of causes behind the features take no part in naming the queue.
    of_queue = rows[:, : len(NAMES)]
    chosen.fit(np.where(np.isnan(of_queue), -1000, of_queue).astype(np.float32), names)
    said = chosen.predict_proba(np.where(np.isnan(of_queue[:20]), -1000, of_queue[:20]).astype(np.float32))
    assert train(probes, watched, 3)["full"].votes(of_queue[:20]) == pytest.approx(said, abs=0.01)


HELD_UP = np.array([0, 0, 0, 0, 0, 0.2])


def test_a_train_that_was_not_sent_in_one_go_is_none() -> None:
    def full(sent_s: Any) -> dict[str, FlowLog]:
        return {FULL: FlowLog(sent_s, sent_s + 0.02, np.full(len(sent_s), 1500), np.zeros(len(sent_s), dtype=bool))}

    hosts.check_trains(full(np.repeat([0.0, 0.25], 6)))
    hosts.check_trains({})
    with pytest.raises(hosts.HeldUpError, match="Run it again"):
        hosts.check_trains(full(np.concatenate([np.zeros(6), 0.25 + HELD_UP])))


@pytest.mark.parametrize(
    ("queue", "meaning", "command"),
    [
        ({"kind": "droptail", "limit": "150 packets"}, "The queue is a FIFO: ", "root cake bandwidth 9.5mbit"),
        ({"kind": "fq_codel", "preset": "linux"}, "The queue is fair queueing with AQM: ", None),
    ],
)
def test_what_to_do_follows_from_what_was_found(queue: dict[str, Any], meaning: str, command: str | None) -> None:
    found = answer(probe(over(path(queue), 2)), load_model())
    advised = remedies.remedy(found, 40.0)
    assert advised is not None
    line, what, do = advised.sentences
    assert line.startswith("The line carries 10 Mbit/s, and 95 % of a call's packets wait up to ")
    assert what.startswith(meaning)
    assert (advised.command is None) == (command is None)
    assert do.endswith(command or "such as CAKE's.")
    assert advised.table is not None
    waits = {name: one.summary["voip_delay_ms_p99.call"]["mean"] for name, one in advised.table.results.items()}
    # The line that was found waits as the line that was probed, and a queue of one's own in front of it does not.
    if command is not None:
        assert waits[remedies.AS_IT_IS] > 3 * waits["cake at 95 %"]
    else:
        assert waits[remedies.AS_IT_IS] < 25
    assert advised.document()["variants"]


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_every_queue_that_is_known_has_a_remedy(name: str) -> None:
    drawn = draw(name, np.random.default_rng([8, 1]))
    found = answer(probe(over(drawn.path, 1)), load_model())
    if found.judgement is None:
        assert remedies.remedy(found) is None
        return
    advised = remedies.remedy(found)
    assert advised is not None
    assert len(advised.sentences) == 3
    unknown = found.line.low_mbps is None
    assert (advised.table is None) == (unknown or found.judgement.best in ("policer", "shaper"))
    assert not (unknown and advised.command)


CLASSES = [{"name": "rest"}, {"name": "low", "dscp": "le"}]


@pytest.mark.parametrize(
    ("queue", "counts"),
    [
        ({"kind": "prio", "class": CLASSES}, True),
        ({"kind": "dwrr", "class": [{**CLASSES[0], "weight": 4}, CLASSES[1]]}, True),
        ({"kind": "cake", "diffserv": "diffserv4"}, True),
        ({"kind": "cake", "diffserv": "besteffort"}, False),
        ({"kind": "droptail", "limit": "100 packets"}, False),
        ({"kind": "codel", "preset": "linux"}, False),
        ({"kind": "fq_codel", "preset": "linux"}, False),
        ({"kind": "sfq", "preset": "linux"}, False),
    ],
)
@pytest.mark.parametrize("rate", ["3 Mbit/s", "30 Mbit/s"])
def test_classes_are_told_where_they_are_asked_for(queue: dict[str, Any], counts: bool, rate: str) -> None:
    send = over(path(queue, rate), 1)
    seen = probe(send, asks=QUESTIONS)
    found = answer(seen, load_model())
    assert found.classes is counts, seen.logs["classes"]
    assert seen.active_s <= LONGEST_S
    assert found.document()["classes"] is counts
    if found.cannot is None:
        assert any("code point LE" in sentence for sentence in found.evidence)
    assert answer(probe(send), load_model()).classes is None


@pytest.mark.parametrize(
    ("queue", "share"),
    [
        ({"kind": "prio", "class": CLASSES}, 0.0),
        ({"kind": "dwrr", "class": [{**CLASSES[0], "weight": 19}, CLASSES[1]]}, 0.05),
        ({"kind": "wrr", "class": [{**CLASSES[0], "weight": 19}, CLASSES[1]]}, 0.05),
        ({"kind": "cake", "diffserv": "diffserv4"}, 1 / 16),
    ],
)
def test_what_is_left_tells_priority_from_turns(queue: dict[str, Any], share: float) -> None:
    found = answer(probe(over(path(queue), 1), asks=QUESTIONS), load_model())
    assert found.low_share == pytest.approx(share, abs=0.015)
    words = "priority is strict" if share == 0 else "its class keeps"
    assert any(words in sentence for sentence in found.evidence)
    without = answer(probe(over(path("droptail"), 1), asks=QUESTIONS), load_model())
    assert without.low_share is None


@pytest.mark.parametrize(
    ("queue", "l4s"),
    [
        ({"kind": "dualpi2"}, True),
        ({"kind": "pie", "preset": "linux", "ecn": True}, False),
        ({"kind": "fq_codel", "preset": "linux"}, False),
        ({"kind": "cake"}, False),
        ({"kind": "droptail", "limit": "100 packets"}, None),
    ],
)
@pytest.mark.parametrize("rate", ["4 Mbit/s", "40 Mbit/s"])
def test_l4s_is_told_where_it_is_asked_for(queue: dict[str, Any], rate: str, l4s: bool | None) -> None:
    seen = probe(over(path(queue, rate), 1), asks=QUESTIONS)
    assert answer(seen, load_model()).l4s is l4s
    assert ("l4s" in seen.logs) == (l4s is not None)
    assert seen.active_s <= LONGEST_S


def test_a_slow_flow_of_other_traffic_does_not_make_classes() -> None:
    others = [{"name": "others", "rtt": "40 ms", "control": "cubic"}]
    for queue in ({"kind": "droptail", "limit": "100 packets"}, {"kind": "fq_codel", "preset": "linux"}):
        shared = replace(path(queue), others=others)
        assert answer(probe(over(shared, 2), asks=QUESTIONS), load_model()).classes is False


def test_what_is_not_sure_is_not_said_as_if_it_were() -> None:
    found = answer(probe(over(path({"kind": "droptail", "limit": "150 packets"}), 2)), load_model())
    assert found.judgement is not None
    unsure = replace(found.judgement, families={**found.judgement.families, "FIFO": 0.6})
    advised = remedies.remedy(replace(found, judgement=unsure))
    assert advised is not None
    assert advised.sentences[1].startswith("The queue is most like a FIFO: ")
    policed = replace(
        found, delay_ms=1.0, judgement=replace(found.judgement, names={"policer": 1.0}, families={"policer": 1.0})
    )
    advised = remedies.remedy(policed)
    assert advised is not None
    assert advised.command is not None
    assert advised.table is None


def test_a_first_word_is_a_host_or_a_scenario(command: Any, tmp_path: File) -> None:
    for word in ("192.0.2.7", "192.0.2.7:99", "localhost", "localhost:5340", "gateway.example"):
        done = command("detect", word, "--dry-run")
        assert (done.code, done.out) == (0, ""), word
        assert "at 100 Mbit/s" in done.err, word
    done = command("detect", "no-such.toml", "--dry-run")
    assert done.code == 2
    assert "no-such.toml" in done.err
    done = command("detect", "first", "--world", "hosts", "--peer", "192.0.2.7")
    assert done.code == 2
    assert "sojourn detect ADDRESS" in done.err


def test_the_command(command: Any) -> None:
    done = command("detect", "first", "--dry-run")
    assert done.code == 0
    assert "a whole probe takes up to" in done.err
    assert done.out == ""
    done = command("detect", "first", "--json", "--set", "bottleneck.queue.kind=fq_codel")
    found = json.loads(done.out)
    assert found["fair_queueing"] is True
    assert found["family"] == "fair queueing with AQM"
    done = command("detect", "first", "--budget", "1 MB")
    assert done.code == 2
    assert "--budget: found 1 MB; at 10 Mbit/s a probe needs 9.42 MB to end; nothing was sent" in done.err
    done = command("detect", "first", "--budget", "15 MB", "--dry-run")
    assert "That may pass the budget of 15 MB (--budget); a stage that might is not sent" in done.err


@pytest.mark.parametrize(
    ("verdict", "title"),
    [("fq_codel", "fq_codel"), ("hhf, or fq_codel", "hhf, or fq_codel"), ("no queue was seen", "No queue was seen")],
)
def test_a_title_leaves_the_name_of_a_discipline_as_it_is(verdict: str, title: str) -> None:
    assert headline(verdict) == title


@pytest.mark.parametrize(
    ("queue", "mbps"),
    [
        ({"kind": "cake", "bandwidth": "auto"}, 10.0),
        ({"kind": "cake", "bandwidth": "9 Mbit/s"}, 9.0),
        # By which RED ages its average, whatever the link is.
        ({"kind": "red", "bandwidth": "1.5 Mbit/s"}, 10.0),
    ],
)
def test_a_link_passes_its_rate_or_that_of_a_shaper(queue: dict[str, str], mbps: float) -> None:
    assert _passes_mbps({"rate": "10 Mbit/s", "queue": queue}) == mbps
