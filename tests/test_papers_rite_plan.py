"""RITE's study plan of section 4.1.2: its measures on worked numbers, and its items with few seeds and short runs."""

import itertools
import math
import random
from pathlib import Path

import pytest

import sojourn
from sojourn.papers.measures import measure
from sojourn.papers.rite import RITE, buffers, extremes, isolation, sharing, sizes, synchrony
from sojourn.papers.rite.plan import DISCIPLINES, bulk, link
from sojourn.papers.rite.synchrony import Synchrony
from sojourn.study.lab import Lab
from sojourn.study.model import Item
from sojourn.study.numbers import Number

ITEMS = (
    *buffers.ITEMS,
    *synchrony.ITEMS,
    *sharing.ITEMS,
    *isolation.ITEMS,
    *sizes.ITEMS,
    *extremes.ITEMS,
)


def test_an_epoch_begins_with_a_loss_and_lasts_so_long() -> None:
    # Epochs of 1 s: 0.5 to 1.5 with flows 0 and 1, from 1.5 with flow 2 alone; the others lie outside.
    losses = [(0.5, 0), (1.4, 1), (1.4, 1), (1.5, 2), (10.0, 3), (-0.1, 3)]
    found = synchrony.synchrony(losses, 4, 1.0, 0.0, 10.0)
    assert found.epochs == 2
    assert found.share == pytest.approx((2 / 4 + 1 / 4) / 2)
    # Three losses dealt to four flows hit 1 - (3/4)^3 of them, one hits a quarter.
    assert found.by_chance == pytest.approx((1 - 0.75**3 + 0.25) / 2)
    assert found.excess == pytest.approx(found.share - found.by_chance)


def test_flows_that_always_lose_together_are_synchronised() -> None:
    together = [(5.0 * round_, flow) for round_ in range(20) for flow in range(8)]
    found = synchrony.synchrony(together, 8, 1.0, 0.0, 100.0)
    assert (found.epochs, found.share) == (20, 1.0)
    assert found.phi == pytest.approx(1.0)
    assert found.excess > 0.3


def test_flows_that_take_turns_are_not() -> None:
    turns = [(float(second), second % 8) for second in range(80)]
    found = synchrony.synchrony(turns, 8, 1.0, 0.0, 80.0)
    assert found.share == found.by_chance == pytest.approx(1 / 8)
    # Each loses in an eighth of the windows, never with another: -(1/64) / (7/64).
    assert found.phi == pytest.approx(-1 / 7)


def test_independent_flows_are_not_correlated_whatever_their_number_of_losses() -> None:
    draw = random.Random(1)
    for part in (0.1, 0.5):
        losses = [(window + 0.5, flow) for window in range(4000) for flow in range(6) if draw.random() < part]
        found = synchrony.synchrony(losses, 6, 1.0, 0.0, 4000.0)
        assert abs(found.phi) < 0.02
    # The share, which takes only windows with losses, does grow: 0.5 / (1 - 0.5^6).
    assert found.share == pytest.approx(0.5 / (1 - 0.5**6), rel=0.02)


def test_without_losses_there_is_no_synchrony() -> None:
    assert synchrony.synchrony([], 4, 1.0, 0.0, 10.0) == Synchrony(0, 0.0, 0.0, 0.0)
    assert synchrony.synchrony([(1.0, 2)], 4, 1.0, 0.0, 10.0).phi == 0.0


def test_every_run_has_its_own_losses(tmp_path: Path) -> None:
    flows = synchrony.FLOWS
    base = {
        "name": "losses",
        "duration": "20 s",
        "warmup": "5 s",
        "bottleneck": link("10 Mbit/s", "125 kB"),
        "group": [bulk(flows, "100 ms")],
    }
    results = measure(Lab(tmp_path, 1), "losses", base, {("a",): {}}, seeds=2, keep=["packets"])
    runs = synchrony.measured(results)["a"]
    assert len(runs) == 2
    assert all(run.epochs > 0 and 1 / flows <= run.share <= 1 and -1 <= run.phi <= 1 for run in runs)
    drops = results.dataset.table("packets", columns=("seed", "event"), where={"event": "drop"})
    assert drops.column_names == ["seed", "event"]
    # A loss begins an epoch or lies in one: there are no more epochs than losses, nor than have room.
    counted = [drops["seed"].to_pylist().count(seed) for seed in (1, 2)]
    assert all(run.epochs <= losses for run, losses in zip(runs, counted, strict=True))
    assert all(run.by_chance < 1 and run.epochs < 15 / synchrony.EPOCH_S / 2 for run in runs), (
        "a loss is not an arrival"
    )
    every = results.dataset.table("packets")["event"].to_pylist()
    assert drops.num_rows == every.count("drop") < len(every)


def test_an_exponent_is_that_of_the_power() -> None:
    rtts = (10.0, 30.0, 100.0, 300.0)
    assert sharing.exponent([7 * rtt**-0.6 for rtt in rtts], rtts) == pytest.approx(0.6)


def test_scaled_constants_are_the_defaults_times_a_factor() -> None:
    """At a factor of one nothing changes, and every constant is one that the discipline has."""
    for name, times in extremes.scaled(1.0).items():
        if name != "ARED":
            assert _resolved({**DISCIPLINES[name], **times}) == _resolved(DISCIPLINES[name]), name
    # PIE's gains are per second of delay: for times half as long they are twice as large.
    halved = extremes.scaled(0.5)["PIE"]
    assert (halved["alpha"], halved["beta"], halved["target"]) == (0.25, 2.5, "7.5 ms")
    for place in (extremes.DATACENTRE, extremes.RURAL):
        resolved = [_resolved(queue, place.rate) for queue in place.queues().values()]
        assert all(one != other for one, other in itertools.combinations(resolved, 2))


def _resolved(queue: dict[str, object], rate: str = "10 Mbit/s") -> str:
    table = {"name": "x", "duration": "9 s", "bottleneck": link(rate, "1000 packets", queue)}
    return str(sojourn.scenario({**table, "group": [bulk(1, "10 ms")]}).to_dict()["bottleneck"]["queue"])


class Fixed:
    """Results with fixed values by case, metric and group."""

    def __init__(self, values: dict[tuple[str, str, str], list[float]]) -> None:
        self.fixed = values

    def values(self, key: tuple[str, ...], metric: str, group: str) -> list[float]:
        return self.fixed[key[0], metric, group]


def test_factors_compare_runs_with_the_same_seed() -> None:
    call = isolation.METRICS[0]
    results = Fixed({("slow", call.column, call.group): [8.0, 80.0], ("fast", call.column, call.group): [2.0, 20.0]})
    factor = isolation.factors(results, "slow", "fast", call)  # type: ignore[arg-type]
    assert factor == Number(pytest.approx(math.log(4)), 0.0, 2)  # type: ignore[arg-type]
    assert isolation.times(factor) == "4 (4 to 4)"


def test_the_ratio_of_loss_rates_leaves_out_runs_without_losses_of_large_packets() -> None:
    fixed = {("x", "drop_rate", sizes.SMALL): [0.01, 0.5], ("x", "drop_rate", sizes.LARGE): [0.02, 0.0]}
    assert sizes.ratio(Fixed(fixed), ("x",)) == Number(0.5, 0.0, 1)  # type: ignore[arg-type]


def test_all_items_are_part_of_the_study() -> None:
    assert [item for item in RITE.items if item in ITEMS] == list(ITEMS)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)
def test_items_with_few_seeds_and_short_runs(item: Item, tmp_path: Path) -> None:
    short = {
        "datacentre": {"duration": "0.05 s", "warmup": "0.02 s"},
        "rural": {"duration": "40 s", "warmup": "10 s"},
    }.get(item.name, {"duration": "36 s"})
    found = item.find(Lab(tmp_path, 1, overrides={"seeds": 2, "set": short}))
    assert found.checks
    assert found.verdict
    assert found.text
    assert set(found.figures) == set(found.captions) != set()
    for table in found.tables:
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows)
