"""Sweeps: what a file means, that datasets are complete and resumable, and what is refused."""

import hashlib
import json
import math
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.conftest import PATIENCE_S, SMALL, Command, wait_for

import sojourn
from sojourn import _native
from sojourn.data.provenance import Provenance
from sojourn.sweeps import Dataset, Plan
from sojourn.sweeps.local import batch_size, run_local

AXES = {"bottleneck.rate": ["1 Mbit/s", "4 Mbit/s"], "group.tcp.flows": [1, 2]}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "base.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def plan_of(file: Path, /, **tables: Any) -> Plan:
    return Plan.of({"base": file.name, "seeds": 2, "axes": AXES, **tables}, folder=str(file.parent))


def ran(plan: Plan, folder: Path, jobs: int = 1, size: int = 1) -> Dataset:
    dataset = Dataset.create(folder, plan, size)
    run_local(plan, dataset, jobs, lambda status: None)
    return dataset


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}


def test_all_points_of_a_product_in_the_order_of_the_file(base: Path) -> None:
    plan = plan_of(base)
    assert (plan.points, plan.runs) == (4, 8)
    assert [tuple(plan.point(index).coordinates.values()) for index in range(4)] == [
        ("1 Mbit/s", 1),
        ("1 Mbit/s", 2),
        ("4 Mbit/s", 1),
        ("4 Mbit/s", 2),
    ]


def test_zipped_keys_move_together_and_cases_change_several(base: Path) -> None:
    plan = plan_of(
        base,
        axes={},
        zip={"group.tcp.flows": [1, 2], "group.background.flows": [3, 4]},
        cases={
            "plain": {"bottleneck.queue": "droptail"},
            "red": {"bottleneck.queue": {"kind": "red", "limit": "80 packets"}},
        },
    )
    seen = [plan.point(index) for index in range(plan.points)]
    assert [tuple(point.coordinates.values()) for point in seen] == [
        (1, 3, "plain"),
        (1, 3, "red"),
        (2, 4, "plain"),
        (2, 4, "red"),
    ]
    assert seen[3].changes == {
        "group.tcp.flows": 2,
        "group.background.flows": 4,
        "bottleneck.queue": {"kind": "red", "limit": "80 packets"},
    }


@pytest.mark.parametrize("method", ["latin-hypercube", "random"])
def test_samples_lie_in_their_ranges_and_repeat(base: Path, method: str) -> None:
    axes = {"bottleneck.rate": {"from": "1 Mbit/s", "to": "9 Mbit/s", "scale": "log"}, "group.tcp.flows": [1, 2, 3]}
    tables = {"axes": {}, "sample": {"count": 30, "method": method, "seed": 5, "axes": axes}}
    plan = plan_of(base, **tables)
    drawn = [plan.point(index).changes for index in range(plan.points)]
    assert drawn == [plan_of(base, **tables).point(index).changes for index in range(30)]
    rates = [float(change["bottleneck.rate"].split()[0]) for change in drawn]
    assert len(set(rates)) == 30
    assert all(1 <= rate <= 9 for rate in rates)
    assert {change["group.tcp.flows"] for change in drawn} == {1, 2, 3}
    if method == "latin-hypercube":
        # One in each tenth-root stratum: the defining property.
        assert sorted(int(30 * (math.log(rate) / math.log(9))) for rate in rates) == list(range(30))


def test_tables_of_runs_groups_and_links_as_single_runs_give(base: Path, tmp_path: Path) -> None:
    dataset = ran(plan_of(base), tmp_path / "out")
    assert dataset.tables == ["runs", "groups", "links"]
    runs, groups, links = (dataset.table(name).to_pylist() for name in dataset.tables)
    places = [(point, seed) for point in range(4) for seed in (1, 2)]
    assert [(row["point"], row["seed"]) for row in runs] == places
    assert [(row["point"], row["seed"], row["group"]) for row in groups] == [
        (*place, group) for place in places for group in ("background", "tcp")
    ]
    assert [(row["point"], row["seed"], row["link"]) for row in links] == [(*place, "bottleneck") for place in places]
    changes = {"bottleneck.rate": "4 Mbit/s", "group.tcp.flows": 2}
    (record,) = sojourn.Scenario.load(base, changes).run(seed=2, runs=1).runs
    for row in (runs[-1], groups[-1], links[-1]):
        assert (row["bottleneck.rate_mbps"], row["group.tcp.flows"]) == (4.0, 2)
    assert groups[-1]["share"] == record.groups.tcp.share
    assert runs[-1]["bottleneck_queue_ms_p99"] == links[-1]["queue_ms_p99"] == record.bottleneck.queue_ms.p99
    assert runs[-1]["jain_all"] == record.jain_all
    assert runs[-1]["error"] is None


def test_the_table_of_runs_leaves_very_many_links_to_theirs(tmp_path: Path) -> None:
    def street(homes: int) -> Dataset:
        link = {"rate": "100 Mbit/s", "delay": "1 ms"}
        hop = {"name": "down", "count": homes, "from": "street", "to": "home-*", **link}
        group = {"name": "tcp", "flows": homes, "from": "internet", "to": "home-*", "control": "cubic", "rtt": "10 ms"}
        bottleneck = {"from": "internet", "to": "street", **link}
        tables = {"duration": "1 s", "bottleneck": bottleneck, "hop": [hop], "group": [group]}
        base = tmp_path / f"street-{homes}.toml"
        base.write_text(sojourn.scenario(tables).to_toml(), encoding="utf-8")
        return ran(plan_of(base, axes={"bottleneck.rate": ["50 Mbit/s"]}), tmp_path / f"out-{homes}")

    few, many = street(63), street(64)
    assert "hops_down-0_utilization" in few.table("runs").column_names
    assert "hops_down-0_utilization" not in many.table("runs").column_names
    assert many.table("runs")["bottleneck_utilization"][0].as_py() > 0.5
    assert many.table("links").num_rows == 2 * 65


def test_seeds_may_be_listed(base: Path, tmp_path: Path) -> None:
    listed = plan_of(base, seeds=[7, 2], axes={})
    runs = ran(listed, tmp_path / "out").table().to_pylist()
    assert [row["seed"] for row in runs] == [7, 2]
    (record,) = sojourn.Scenario.load(base).run(seed=7, runs=1).runs
    assert runs[0]["jain_all"] == record.jain_all
    assert listed.fingerprint() != plan_of(base, seeds=2, axes={}).fingerprint()
    for wrong in ([], [1, 1], [1.5], [-1]):
        with pytest.raises(sojourn.InputError, match="different whole numbers"):
            plan_of(base, seeds=wrong, axes={})


def test_columns_have_units_and_meanings(base: Path, tmp_path: Path) -> None:
    dataset = ran(plan_of(base), tmp_path / "out")
    field = dataset.table("groups").schema.field("rtt_ms_p99")
    assert field.metadata[b"unit"] == b"ms"
    assert b"round-trip time" in field.metadata[b"meaning"]
    schemas = {pq.read_schema(part).serialize().to_pybytes() for part in (dataset.folder / "runs").iterdir()}
    assert len(schemas) == 1


def test_values_of_several_kinds_on_one_axis(base: Path, tmp_path: Path) -> None:
    # Each batch alone would take the numbers for numbers and the word for a text.
    queue = {"kind": "red", "limit": "80 packets"}
    plan = plan_of(base, set={"bottleneck.queue": queue}, axes={"bottleneck.queue.weight": [0.002, "auto", 1]})
    dataset = ran(plan, tmp_path / "out")
    assert dataset.table()["bottleneck.queue.weight"].to_pylist() == ["0.002"] * 2 + ["auto"] * 2 + ["1"] * 2
    assert len(dataset.stats(metrics=["bottleneck_utilization"])) == 3
    numbers = plan_of(base, axes={"bottleneck.loss": [0, 0.5], "group.tcp.flows": [1, 2]}).schema()
    assert [axis.kind for axis in numbers.axes] == ["double", "int64"]


def test_queues_inside_and_sizes_have_tables_of_their_own(base: Path, tmp_path: Path) -> None:
    traffic = {"kind": "transfers", "interval": "200 ms", "size": "10 kB"}
    plan = plan_of(base, seeds=1, axes={}, set={"bottleneck.queue": "dualpi2", "group.tcp.traffic": traffic})
    dataset = ran(plan, tmp_path / "out")
    assert dataset.tables == ["runs", "groups", "links", "classes", "sizes"]
    classes = dataset.table("classes").to_pylist()
    assert [(row["link"], row["class"]) for row in classes] == [("bottleneck", "classic"), ("bottleneck", "low")]
    assert sum(row["departures"] for row in classes) == dataset.table()["bottleneck_departures"].to_pylist()[0]
    (sizes,) = dataset.table("sizes").to_pylist()
    assert (sizes["group"], sizes["size"]) == ("tcp", "10kB")
    (tcp,) = (row for row in dataset.table("groups").to_pylist() if row["group"] == "tcp")
    assert sizes["fct_ms_count"] == tcp["fct_ms_count"] > 0


def test_the_same_bytes_at_any_number_of_processors_and_after_an_interruption(base: Path, tmp_path: Path) -> None:
    plan = plan_of(base, keep=["series"])
    whole = ran(plan, tmp_path / "whole", jobs=2)
    again = ran(plan, tmp_path / "again")
    for name in ("runs/part-000002.parquet", "queue/part-000002.parquet"):
        (again.folder / name).unlink()
    kept = {name: (again.folder / name).stat().st_mtime_ns for name in ("runs/part-000001.parquet",)}
    assert again.missing == [2]
    run_local(plan, again, 1, lambda status: None)
    assert contents(whole.folder) == contents(again.folder)
    assert {name: (again.folder / name).stat().st_mtime_ns for name in kept} == kept


def test_series_have_bins_of_the_width_asked_for_and_probes(base: Path, tmp_path: Path) -> None:
    narrow = plan_of(base, keep=["series"])
    plan = plan_of(base, keep=["series", "probes"], bin="500 ms")
    assert plan.fingerprint() != plan_of(base, keep=["series", "probes"], bin="1 s").fingerprint()
    dataset = ran(plan, tmp_path / "wide")
    assert dataset.tables == ["runs", "groups", "links", "queue", "flows", "queue_probes", "flow_probes"]
    both = (dataset, ran(narrow, tmp_path / "narrow"))
    times = [sorted(set(one.table("queue")["time_s"].to_pylist())) for one in both]
    assert times[0] == times[1][::5]
    assert set(dataset.table("flow_probes")["point"].to_pylist()) == {0, 1, 2, 3}
    assert "ssthresh_segments" in dataset.table("flow_probes")["name"].to_pylist()


def test_wider_bins_hold_as_much(base: Path, tmp_path: Path) -> None:
    def delivered(**kept: str) -> int:
        plan = plan_of(base, keep=["series"], axes={}, seeds=1, **kept)
        flows = ran(plan, tmp_path / kept.get("bin", "usual")).table("flows")
        return sum(flows["delivered_bytes"].to_pylist())

    assert delivered(bin="500 ms") == delivered() > 0


def test_transfers_are_kept_with_their_sizes(base: Path, tmp_path: Path) -> None:
    traffic = {"kind": "transfers", "interval": "200 ms", "size": "3 packets", "connections": 9}
    plan = plan_of(base, keep=["transfers"], axes={}, seeds=2, set={"group.tcp.traffic": traffic})
    dataset = ran(plan, tmp_path / "sweep")
    rows = dataset.table("transfers").to_pylist()
    runs = {row["seed"]: row["fct_ms_count"] for row in dataset.table("groups").to_pylist() if row["group"] == "tcp"}
    assert {seed: sum(row["seed"] == seed for row in rows) for seed in runs} == runs
    assert {row["size_bytes"] for row in rows} == {3 * 1448}
    assert {row["point"] for row in rows} == {0}


@pytest.mark.long
@pytest.mark.parametrize("with_signal", [signal.SIGKILL, signal.SIGINT])
def test_a_sweep_that_was_killed_goes_on(base: Path, tmp_path: Path, with_signal: signal.Signals) -> None:
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        'base = "base.toml"\nseeds = 20\n[set]\nduration = "40 s"\n[axes]\n'
        '"bottleneck.rate" = { from = "5 Mbit/s", to = "20 Mbit/s", count = 8 }\n',
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "sojourn", "sweep", str(sweep), "--jobs", "1", "--out"]
    process = subprocess.Popen([*command, str(tmp_path / "killed")], stderr=subprocess.PIPE)
    first = tmp_path / "killed/runs/part-000000.parquet"
    assert wait_for(first.exists)
    process.send_signal(with_signal)
    _, complaint = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == (130 if with_signal == signal.SIGINT else -signal.SIGKILL), complaint
    assert Dataset.open(tmp_path / "killed").missing
    before = first.stat().st_mtime_ns
    for folder in ("killed", "whole"):
        subprocess.run([*command, str(tmp_path / folder)], check=True, capture_output=True)
    assert first.stat().st_mtime_ns == before
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_a_point_that_fails_has_rows(base: Path, tmp_path: Path) -> None:
    # Each value is right with the first of the other axis; the warm-up of 3 s in a run of 2 s is not.
    plan = plan_of(base, axes={"warmup": ["0 s", "3 s"], "duration": ["5 s", "2 s"]})
    rows = ran(plan, tmp_path / "out", size=4).table().to_pylist()
    failed = [row for row in rows if row["error"]]
    assert [(row["point"], row["seed"], row["jain_all"]) for row in failed] == [(3, 1, None), (3, 2, None)]
    assert all("warmup" in row["error"] for row in failed)
    assert [row["point"] for row in rows] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_batches_do_not_depend_on_the_machine(base: Path) -> None:
    plan = plan_of(base, seeds=1000)
    assert batch_size(plan) == batch_size(plan_of(base, seeds=1000))
    points, seeds = batch_size(plan)
    assert points == 1
    assert 1 <= seeds < 1000
    assert batch_size(plan_of(base, seeds=2))[1] == 2


def test_what_comes_down_counts_in_how_long_a_run_takes() -> None:
    plan = Plan.of({"base": "gateway-and-modem", "axes": {"access.gateway": [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]}})
    points, _ = batch_size(plan)
    assert points < 8, "eight runs of 0.1 s are work for several processors"


REFUSED = {
    "an unknown key": ({"axis": {}}, "no key of a sweep is called 'axis'; did you mean 'axes'"),
    "an axis of no key": ({"axes": {"bottleneck.speed": ["1 Mbit/s"]}}, "bottleneck.speed"),
    "an axis of no group": ({"axes": {"group.udp.flows": [1]}}, '"udp", which is no group'),
    "a value of another kind": ({"axes": {"bottleneck.rate": ["4 ms"]}}, "which is a time"),
    "no values": ({"axes": {"bottleneck.rate": []}}, "an empty list; allowed: at least one value"),
    "unequal lengths": ({"zip": {"warmup": ["0 s", "1 s"], "name": ["a"]}}, "2 values of warmup, 1 values of name"),
    "an axis of seeds": (
        {"axes": {"seed": [1, 10]}},
        "seed: changed from point to point, but all points have the same",
    ),
    "an axis of runs": ({"zip": {"runs": [1, 2]}}, "runs: changed from point to point"),
    "an axis of groups": ({"axes": {"group": [[]]}}, "group: an axis with the name of a column"),
    "seeds of a case": ({"cases": {"a": {"seed": 2}}}, "cases.a.seed: changed from point to point"),
    "runs beside seeds": ({"set": {"runs": 2}}, "set.runs: 2; allowed: seeds = N"),
    "two axes for a key": ({"zip": {"bottleneck.rate": ["1 Mbit/s"]}}, "given by 2 axes"),
    "no seeds": ({"seeds": 0}, "seeds: 0; allowed: a whole number from 1"),
    "nothing to keep": ({"keep": ["all"]}, "some of 'series', 'probes', 'packets', 'transfers'"),
    "probes without bins": ({"keep": ["probes"]}, "'probes' beside 'series'"),
    "bins of nothing": ({"bin": "1 s"}, "bin: '1 s'; allowed: only with keep = ['series']"),
    "bins of no time": ({"keep": ["series"], "bin": "0 s"}, "bin: '0 s'; allowed: a time above zero, such as '10 s'"),
    "bins of a number": ({"keep": ["series"], "bin": 10}, "bin: 10; allowed: a time above zero"),
    "bins of another kind": ({"keep": ["series"], "bin": "10 B"}, "bin: '10 B'; allowed: a time above zero"),
    "no base": ({"base": 3}, "base: 3; allowed: a file relative to the sweep's"),
    "a range of two units": (
        {"axes": {"bottleneck.rate": {"from": "1 Mbit/s", "to": "1 Gbit/s", "count": 2}}},
        "both ends in the same unit",
    ),
    "an endless range": ({"axes": {"group.tcp.flows": {"from": 1, "to": 1e9, "step": 1}}}, "too many values"),
    "a sample of none": ({"sample": {"count": 0, "axes": {"warmup": [1]}}}, "sample.count: 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(base: Path, case: str) -> None:
    tables, complaint = REFUSED[case]
    with pytest.raises(sojourn.InputError) as error:
        plan_of(base, **tables)
    assert complaint in str(error.value)


def test_a_folder_with_something_else_is_left_alone(base: Path, tmp_path: Path, command: Command) -> None:
    sweep = tmp_path / "sweep.toml"
    sweep.write_text('base = "base.toml"\n[axes]\n"group.tcp.flows" = [1]\n', encoding="utf-8")
    out = tmp_path / "out"
    assert command("sweep", str(sweep), "--out", str(out)).code == 0
    before = contents(out)
    sweep.write_text('base = "base.toml"\n[axes]\n"group.tcp.flows" = [2]\n', encoding="utf-8")
    refused = command("sweep", str(sweep), "--out", str(out))
    assert refused.code == 2
    assert "holds another sweep" in refused.err
    assert contents(out) == before
    refused = command("sweep", str(sweep), "--out", str(tmp_path))
    assert "exists and holds no sweep" in refused.err


def test_very_many_runs_want_a_yes(base: Path, tmp_path: Path, command: Command) -> None:
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        'base = "base.toml"\nseeds = 1000\n[axes]\n"group.tcp.flows" = { from = 1, to = 1000, step = 1 }\n',
        encoding="utf-8",
    )
    refused = command("sweep", str(sweep), "--out", str(tmp_path / "out"))
    assert refused.code == 2
    assert "1,000,000 runs, about" in refused.err
    assert "--yes" in refused.err
    assert not (tmp_path / "out").exists()


def test_two_processes_do_not_share_a_folder(base: Path, tmp_path: Path) -> None:
    plan = plan_of(base)
    dataset = Dataset.create(tmp_path / "out", plan, 1)
    with dataset.locked(), pytest.raises(sojourn.InputError, match="another process"):
        run_local(plan, dataset, 1, lambda status: None)


def test_a_full_disk_loses_nothing(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(base)
    dataset = Dataset.create(tmp_path / "out", plan, 1)
    saved = []

    def save(self: Dataset, number: int, tables: Any) -> None:
        if saved:
            raise OSError(28, "No space left on device")
        saved.append(number)
        original(self, number, tables)

    original = Dataset.save
    monkeypatch.setattr(Dataset, "save", save)
    with pytest.raises(OSError, match="No space left"):
        run_local(plan, dataset, 1, lambda status: None)
    monkeypatch.undo()
    assert len(dataset.missing) == 3
    run_local(plan, dataset, 1, lambda status: None)
    assert contents(dataset.folder) == contents(ran(plan, tmp_path / "whole").folder)


def test_the_seeds_of_a_point_are_several_batches_with_the_same_rows(base: Path, tmp_path: Path) -> None:
    plan = plan_of(base, axes={"group.tcp.flows": [1, 2]}, seeds=5)
    whole = ran(plan, tmp_path / "whole", size=2)
    split = Dataset.create(tmp_path / "split", plan, 1, 2)
    assert [(list(batch.points), list(batch.seeds)) for batch in split.batches] == [
        (points, seeds) for points in ([0], [1]) for seeds in ([0, 1], [2, 3], [4])
    ]
    run_local(plan, split, 2, lambda status: None)
    for name in ("runs", "groups", "links"):
        assert split.table(name).equals(whole.table(name))
    # What lacks is made again, and nothing else.
    part = split.folder / "runs/part-000001.parquet"
    others = {path: path.stat().st_mtime_ns for path in (split.folder / "runs").iterdir() if path != part}
    part.unlink()
    again = Dataset.create(tmp_path / "split", plan, 1, 2)
    assert again.missing == [1]
    done = []
    run_local(plan, again, 1, lambda status: done.append((status.saved, status.done)))
    assert done[-1] == (8, 10)
    assert all(path.stat().st_mtime_ns == time for path, time in others.items())
    assert again.table().equals(whole.table())


def test_one_point_is_shared_by_processors(base: Path) -> None:
    plan = plan_of(base, axes={}, seeds=600, set={"duration": "20 s"})
    points, seeds = batch_size(plan)
    assert points == 1
    assert 600 / seeds >= 16


def trace_of(path: Path, milliseconds: int) -> None:
    path.write_text("".join(f"{at}\n" for at in range(1, 1001, milliseconds)), encoding="utf-8")


@pytest.fixture
def traced(base: Path) -> Path:
    """Return a sweep file over a trace of its own."""
    trace_of(base.parent / "link.trace", 2)
    text = base.read_text(encoding="utf-8").replace('rate = "10 Mbit/s"', 'trace = "link.trace"')
    base.write_text(text, encoding="utf-8")
    sweep = base.parent / "sweep.toml"
    sweep.write_text('base = "base.toml"\n[axes]\n"group.tcp.flows" = [1, 2]\n', encoding="utf-8")
    return sweep


def swept(command: Command, sweep: Path, *words: str) -> tuple[str, float]:
    """Return what a sweep says on stderr, and the goodput of its first group."""
    out = sweep.parent / "out"
    done = command("sweep", str(sweep), "--out", str(out), *words)
    assert done.code == 0, done.err
    return done.err, Dataset.open(out).table("groups")["goodput_mbps"].to_pylist()[1]


def test_numbers_of_a_changed_trace_are_made_again(traced: Path, command: Command) -> None:
    before = swept(command, traced)[1]
    assert swept(command, traced) == ("", before)
    trace_of(traced.parent / "link.trace", 8)
    said, kept = swept(command, traced, "--keep-old")
    assert "older than link.trace and are kept" in said
    assert kept == before
    said, after = swept(command, traced)
    assert "were made before link.trace changed and are made again" in said
    assert said.count("\n") == 1
    assert after < before / 2
    assert swept(command, traced) == ("", after)


def test_python_warns_that_numbers_are_made_again(traced: Path) -> None:
    base, out = traced.parent / "base.toml", traced.parent / "from-python"
    before = sojourn.sweep(base, seeds=1, out=out).table()["bottleneck_departures"].to_pylist()
    trace_of(traced.parent / "link.trace", 8)
    with pytest.warns(UserWarning, match=r"from-python: 1 of 1 parts were made before link.trace changed"):
        after = sojourn.sweep(base, seeds=1, out=out).table()["bottleneck_departures"].to_pylist()
    assert after < before


def test_numbers_of_a_changed_base_or_engine_are_made_again(
    traced: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = swept(command, traced)[1]
    base = traced.parent / "base.toml"
    base.write_text(base.read_text(encoding="utf-8").replace('limit = "50', 'limit = "5'), encoding="utf-8")
    said, after = swept(command, traced)
    assert "before the base scenario changed" in said
    assert after != before
    assert 'limit = "5 packets"' in (traced.parent / "out/base.toml").read_text(encoding="utf-8")
    made = Provenance.of
    monkeypatch.setattr(Provenance, "of", lambda *given: replace(made(*given), build="another"))
    assert "before the engine changed" in swept(command, traced)[0]
    assert swept(command, traced)[0] == ""


def test_every_part_says_where_it_comes_from(traced: Path, command: Command) -> None:
    swept(command, traced)
    parts = [path for path in (traced.parent / "out").rglob("*.parquet") if path.is_file()]
    assert len(parts) > 2
    for part in parts:
        found = Provenance.read(part)
        assert found is not None
        assert (found.version, found.build) == (sojourn.__version__, _native.__build__)
        digest = hashlib.sha256((traced.parent / "link.trace").read_bytes()).hexdigest()
        assert found.files == {"link.trace": digest}
        assert str(traced.parent) not in str(found)
    assert len(_native.__build__) == 16


def test_a_part_that_cannot_be_read_is_made_again(traced: Path, command: Command) -> None:
    swept(command, traced)
    part = next(iter(sorted((traced.parent / "out/runs").iterdir())))
    whole = part.read_bytes()
    part.write_bytes(whole[:-20])
    assert "cannot be read and are made again" in swept(command, traced)[0]
    assert part.read_bytes() == whole


def test_a_dataset_of_an_older_format_is_refused(traced: Path, command: Command) -> None:
    swept(command, traced)
    file = traced.parent / "out/sweep.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | {"format": 1}), encoding="utf-8")
    for words in (["stats", str(file.parent)], ["sweep", str(traced), "--out", str(file.parent)]):
        refused = command(*words)
        assert refused.code == 2
        assert "sweep.json: was written by another version; name a new folder" in refused.err


def test_a_disk_that_is_full_is_named(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(base)
    dataset = Dataset.create(tmp_path / "out", plan, 1)

    def full(*_given: Any, **_named: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"No space left on device; what was finished is kept: .*part-000000\.parquet"):
        run_local(plan, dataset, 1, lambda status: None)
    assert not list(dataset.folder.glob("*/*.parquet"))


def test_sequences_of_python_and_numpy_are_axes(base: Path) -> None:
    import numpy as np

    given: list[Any] = [range(1, 4), (1, 2, 3), np.arange(1, 4), [np.int64(1), np.int32(2), 3]]
    plans = [plan_of(base, axes={"group.tcp.flows": one}) for one in given]
    assert {plan.fingerprint() for plan in plans} == {plan_of(base, axes={"group.tcp.flows": [1, 2, 3]}).fingerprint()}
    (kind,) = (axis.kind for axis in plans[0].schema().axes)
    assert kind == "int64"
    loss = plan_of(base, axes={"bottleneck.loss": np.linspace(0, 0.5, 3)})
    assert [loss.point(index).changes["bottleneck.loss"] for index in range(3)] == [0.0, 0.25, 0.5]


def test_a_scenario_is_a_base(base: Path) -> None:
    scenario = sojourn.Scenario.load(base)
    plan = Plan.of({"base": scenario, "axes": {"group.tcp.flows": [1, 2]}})
    assert plan.scenario(plan.point(1)).groups == [("tcp", 2), ("background", 1)]
