"""Sweeps whose points run on a kernel: what a file may say, and what a failing kernel leaves."""

from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Command

import sojourn
from sojourn import worlds
from sojourn.sweeps import Dataset, Plan
from sojourn.sweeps.local import batch_size, estimate_s, run_local
from sojourn.worlds.linux.errors import KernelError, NotInstalledError
from sojourn.worlds.linux.kernels import choose

BASE: dict[str, Any] = {
    "duration": "1 s",
    "bottleneck": {"rate": "1 Mbit/s", "queue": {"kind": "droptail", "preset": "linux", "limit": "50 packets"}},
    "group": [
        {
            "name": "tcp",
            "control": {"kind": "newreno", "preset": "linux"},
            "transport": "linux",
            "flows": 1,
            "rtt": "30 ms",
        }
    ],
}
TWO = {"axes": {"group.tcp.flows": [1, 2]}}


def plan(**tables: Any) -> Plan:
    return Plan.of({"base": BASE, "world": "linux", **TWO, **tables})


@pytest.mark.parametrize(
    ("tables", "complaint"),
    [
        ({"world": "linus"}, r"no world is called 'linus'; did you mean 'linux'\?"),
        ({"world": None}, r"world: None is no name of a world; there is: sim, fluid, linux, hosts"),
        ({"shaper": "cbq"}, r"shaper: 'cbq'; allowed: 'htb' or 'tbf' or 'device'"),
        ({"world": "sim", "shaper": "tbf"}, r'shaper needs world = "linux"; the world here is .sim.'),
        ({"keep": ["transfers"]}, r"the world 'linux' keeps no transfers; it keeps: packets, series"),
        (
            {"axes": {"bottleneck.queue": ["blue"]}},
            r"bottleneck.queue.kind: the Linux kernel cannot have blue",
        ),
    ],
)
def test_what_a_kernel_cannot_do_is_refused_before_anything_runs(tables: dict[str, Any], complaint: str) -> None:
    with pytest.raises(sojourn.InputError, match=complaint):
        plan(**tables)


def test_a_plan_for_another_world_is_another_plan() -> None:
    simulated = Plan.of({"base": BASE, **TWO})
    prints = {one.fingerprint() for one in (simulated, plan(), plan(shaper="device"))}
    assert len(prints) == 3
    assert Plan.of({"base": BASE, "world": "sim", **TWO}).fingerprint() == simulated.fingerprint()


def test_each_point_is_a_batch_because_a_kernel_takes_seconds() -> None:
    assert batch_size(plan()) == (1, 1)
    assert estimate_s(plan()) > 100 * estimate_s(Plan.of({"base": BASE, **TWO}))


def test_a_failing_kernel_stops_the_sweep_and_what_was_done_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[int] = []

    def run(scenario: Any, seeds: list[int], *_rest: Any, jobs: int, **_named: Any) -> Any:
        flows = sojourn.Scenario(scenario).groups["tcp"]
        asked.append(flows)
        assert jobs == 1
        if flows == 2 and len(asked) == 2:
            raise KernelError("the kernel went away")
        # What a kernel gives has the form of what a simulation gives.
        return scenario.run(seeds, 1, worlds.Wanted().native, None)

    monkeypatch.setattr("sojourn.worlds.linux.world.run", run)
    dataset = Dataset.create(tmp_path / "data", plan(), 1)
    with pytest.raises(KernelError, match="the kernel went away"):
        run_local(plan(), dataset, 1, lambda _status: None)
    assert dataset.missing == [1]
    run_local(plan(), dataset, 1, lambda _status: None)
    assert asked == [1, 2, 2]
    assert dataset.failures() == 0


def test_the_command_line_ends_with_1_when_the_kernel_fails(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(*_all: Any, **_named: Any) -> Any:
        raise KernelError("the kernel went away")

    monkeypatch.setattr("sojourn.worlds.linux.world.run", run)
    file = tmp_path / "sweep.toml"
    (tmp_path / "base.toml").write_text(sojourn.scenario(BASE).to_toml(), encoding="utf-8")
    file.write_text('base = "base.toml"\nbackend = "linux"\n[axes]\n"group.tcp.flows" = [1, 2]\n', encoding="utf-8")
    done = command("sweep", file, "--out", tmp_path / "out")
    assert done.code == 1
    assert "the kernel went away" in done.err


@pytest.mark.testbed
def test_a_kernel_fills_the_same_columns_as_a_simulation(tmp_path: Path) -> None:
    try:
        choose()
    except NotInstalledError as error:
        pytest.skip(str(error))
    kept = {"keep": ["series"], "bin": "500 ms"}
    real, simulated = plan(**kept), Plan.of({"base": BASE, **TWO, **kept})
    found = []
    for name, one in (("real", real), ("simulated", simulated)):
        dataset = Dataset.create(tmp_path / name, one, 1)
        run_local(one, dataset, 2, lambda _status: None)
        found.append(dataset)
    assert found[0].failures() == 0
    assert found[0].tables == found[1].tables == ["runs", "groups", "links", "queue", "flows"]
    columns = [
        {name for table in ("runs", "groups") for name in dataset.table(table).column_names} for dataset in found
    ]
    assert {"point", "seed", "group", "share", "goodput_mbps", "bottleneck_queue_ms_mean"} <= columns[0] & columns[1]
    assert "bottleneck_ping_ms_mean" in columns[0]
