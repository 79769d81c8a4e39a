"""Settings that were not printed are found again from the numbers that were."""

import contextlib
import itertools
import json
import math
import random
import statistics
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sojourn
from conftest import Command
from sojourn import _native
from sojourn.study.fit import ANY, Fit, numbers_for, of_dataset, simulated, words
from sojourn.study.means import Means, Reduced
from sojourn.study.numbers import Number
from sojourn.study.printed import Printed, read_numbers
from sojourn.sweeps import Dataset, Plan
from sojourn.sweeps.local import batch_size, run_local

NS2 = {"preset": "ns2", "ack_every": 2}
SWEEP: dict[str, Any] = {
    "base": "motivating-red",
    "seeds": 5,
    "set": {"duration": "20 s", "bottleneck.rate": "4 Mbit/s"},
    "axes": {
        "queue": {
            "RED": {"bottleneck.queue": {"kind": "red", "preset": "ns2"}},
            "DropTail": {"bottleneck.queue": {"kind": "droptail", "limit": "100 packets"}},
        },
        "acks": {"each": {}, "delayed": {"group.tcp.transport": NS2, "group.background.transport": NS2}},
        "gain": {"values": [0.25, 1.0], "set": {"group.background.control.gain": "{}"}},
        "target": {"values": [25, 100], "set": {"group.background.control.target": "{} ms"}},
    },
}
COLUMNS = (("share", "tcp", "%", 100.0), ("bottleneck_queue_packets_mean", "", "packets", 1.0))
QUEUES = ("RED", "DropTail")
HEAD = "quantity,group,queue,value,error,unit,runs\n"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Dataset]:
    plan = Plan.of(SWEEP)
    dataset = Dataset.create(tmp_path_factory.mktemp("fit") / "data", plan, *batch_size(plan))
    run_local(plan, dataset, 2, lambda status: None)
    return plan, dataset


def paper(truth: dict[str, Any], seed: int) -> str:
    """What a paper would print that had these settings, three runs of its own, and one decimal."""
    lines = []
    plan = Plan.of({**SWEEP, "seeds": [seed, seed + 1, seed + 2]})
    for point in map(plan.point, range(plan.points)):
        if all(point.coordinates[axis] == value for axis, value in truth.items()):
            result = sojourn.Scenario(plan.scenario(point)).run(runs=3, seed=seed)
            for metric, group, unit, scale in COLUMNS:
                of = f"{metric}.{group}" if group else metric
                mean = scale * statistics.fmean(row[of] for row in map(sojourn.data.metrics.values, result.runs))
                lines.append(f"{metric},{group},{point.coordinates['queue']},{mean:.1f},0.05,{unit},3\n")
    return HEAD + "".join(lines)


def test_settings_are_found_again(swept: tuple[Plan, Dataset], tmp_path: Path) -> None:
    plan, dataset = swept
    values = [("acks", ["each", "delayed"]), ("gain", [0.25, 1.0]), ("target", [25, 100])]
    truths = [
        dict(zip((axis for axis, _ in values), row, strict=True)) for row in itertools.product(*(v for _, v in values))
    ]
    drawn = [*truths, *random.Random(1).sample(truths, 2)]
    table = tmp_path / "printed.csv"
    found = []
    for number, truth in enumerate(drawn):
        table.write_text(paper(truth, 1000 + 10 * number), encoding="utf-8")
        fit = of_dataset(plan, dataset, numbers_for(plan, str(table)), model_percent=1.0)
        found.append(fit.best.at == truth)
        assert any(one.at == truth for one in fit.alike), fit.sentences()
    assert sum(found) >= 9, found


def printed(value: float, name: str = "x", **more: Any) -> Printed:
    return Printed(
        **{
            "name": name,
            "metric": "m",
            "group": None,
            "where": {},
            "steps": [],
            "value": value,
            "error": 0.1,
            "runs": 10,
            **more,
        }
    )


def test_a_number_that_nothing_explains_is_named() -> None:
    tried = {(("gain", gain),): [Number(10 * gain, 0.1, 5), Number(3.0, 0.1, 5)] for gain in (1.0, 2.0)}
    fit = Fit.of([printed(20.0, "share"), printed(5.0, "queue")], tried)
    assert fit.best.at == {"gain": 2.0}
    assert fit.sentences() == [
        "Best: gain = 2. It explains 1 of 2 numbers.",
        "0 of 2 settings are excluded (together less than 0.1 % of the weight).",
        "No setting tried explains queue (5): the nearest, gain = 2, has 3.",
    ]


def test_settings_that_the_numbers_do_not_tell_apart_share_the_weight() -> None:
    tried = {(("acks", acks),): [Number(7.0, 0.1, 5)] for acks in ("each", "delayed")}
    fit = Fit.of([printed(7.0)], tried)
    assert [one.weight for one in fit.settings] == [0.5, 0.5]
    assert len(fit.alike) == 2
    assert fit.excluded == 0
    assert fit.weights() == {"acks": {"each": 0.5, "delayed": 0.5}}


def test_errors_that_are_too_small_do_not_make_a_winner() -> None:
    """Both settings are far from the number; by the Birge ratio neither is certain."""
    tried = {(("gain", gain),): [Number(gain, 0.01, 5)] for gain in (50.0, 51.0)}
    fit = Fit.of([printed(100.0)], tried)
    assert fit.missed(fit.best) == [0]
    assert all(one.weight > 0.4 for one in fit.settings)


def test_a_setting_may_matter_to_some_conditions_alone() -> None:
    reduced = Reduced(("case", "cycle"))
    for case, cycle, mean in (("plain", ANY, 5.0), ("on-off", 1, 7.0), ("on-off", 10, 9.0)):
        reduced.add({"case": case, "cycle": cycle}, "", "m", Number(mean, 0.1, 2, (mean - 0.1, mean + 0.1)))
    asked = [printed(5.0, where={"case": "plain"}), printed(9.0, where={"case": "on-off"})]
    found = simulated(Means({"sweep": reduced}), "sweep", asked)
    assert {words(dict(at)): [round(one.mean, 6) for one in numbers] for at, numbers in found.items()} == {
        "cycle = 1": [5.0, 7.0],
        "cycle = 10": [5.0, 9.0],
    }
    assert [round(one.sd, 6) for one in found[("cycle", 1),]] == [0.1, 0.1]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("share,tcp,RED,59.1,0.05,kB,3\n", "unit: found 'kB'; allowed: '%'"),
        ("share,tcp,SFQ,59.1,0.05,%,3\n", "queue: found 'SFQ'; allowed: RED, DropTail"),
        ("shaer,tcp,RED,59.1,0.05,,3\n", "no quantity is called 'shaer'; did you mean 'share'"),
        ("share,tcp,RED,59.1\n", "line 2: 4 cells; allowed: 7"),
        ("share,tcp,RED,much,0.05,%,3\n", "value: found 'much'; allowed: a number"),
        ("share,tcp,RED,1,-1,%,3\n", "error: found '-1'; allowed: a number, 0 or more"),
        ("", "has no column 'quantity' or no row"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_before_anything_runs(rows: str, said: str, tmp_path: Path) -> None:
    table = tmp_path / "printed.csv"
    table.write_text(HEAD + rows, encoding="utf-8")
    with pytest.raises(_native.InputError) as refused:
        numbers_for(Plan.of(SWEEP), str(table))
    assert said in str(refused.value)
    assert str(table) in str(refused.value)


def test_a_table_that_names_every_axis_leaves_nothing_to_find(tmp_path: Path) -> None:
    table = tmp_path / "printed.csv"
    table.write_text("quantity,queue,acks,gain,target,value,error\nshare,RED,each,1,25,50,1\n", encoding="utf-8")
    with pytest.raises(_native.InputError, match="names every axis of the sweep"):
        numbers_for(Plan.of(SWEEP), str(table))


def test_the_command_fits_and_goes_on(command: Command, tmp_path: Path) -> None:
    (tmp_path / "unprinted.toml").write_text(
        'base = "motivating-red"\nseeds = 2\nset = { duration = "5 s" }\n'
        '[axes]\nqueue = { RED = {}, DropTail = { "bottleneck.queue" = "droptail" } }\n'
        'gain = { values = [0.5, 1.0], set = { "group.background.control.gain" = "{}" } }\n',
        encoding="utf-8",
    )
    (tmp_path / "printed.csv").write_text(
        "quantity,group,queue,steps,value,error\nshare,tcp,RED,,60,1\nshare,tcp,RED,change queue=DropTail,-30,5\n",
        encoding="utf-8",
    )
    files = [str(tmp_path / name) for name in ("unprinted.toml", "printed.csv")]
    given = ("fit", *files, "--out", str(tmp_path / "out"))
    assert "Best: gain = " in command(*given).out
    document = json.loads(command(*given, "--json").out)
    assert len(document["settings"]) == 2
    assert sum(one["weight"] for one in document["settings"]) == pytest.approx(1)


NAMES = ["quantity", "value", "error", "queue", "steps", "runs", "share", "", "*"]
CELLS = ["share", "RED", "RED|DropTail", "1", "0.5", "-1", "nan", "1e999", "\0", '"', "", "a,b"]
STEPS = [
    "change queue=RED",
    "variation queue; mean queue",
    "percent of 0",
    "times less",
    "mean",
    "plus x",
    "ratio queue",
]


@given(
    st.one_of(st.just(NAMES[:5]), st.lists(st.sampled_from(NAMES), max_size=7)),
    st.lists(st.lists(st.sampled_from([*CELLS, *STEPS]), max_size=7), max_size=4),
)
def test_any_table_is_read_or_refused(head: list[str], rows: list[list[str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "printed.csv"
        table.write_text("\n".join(map(",".join, [head, *rows])), encoding="utf-8")
        with contextlib.suppress(_native.InputError):
            found = read_numbers(table, {"queue": ["RED", "DropTail"]}, lambda one: one.selection().unit(Means()).name)
            assert all(math.isfinite(one.value) and one.error >= 0 for one in found)
