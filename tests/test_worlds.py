"""The registry of worlds: what it refuses, what a sweep does in each, and a world that another package brings."""

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Command

import sojourn
from sojourn import _native, worlds
from sojourn.sweeps import Dataset, Plan
from sojourn.sweeps.local import batch_size, run_local
from sojourn.worlds import registry

FLUID: dict[str, Any] = {
    "duration": "20 s",
    "warmup": "5 s",
    "bottleneck": {
        "rate": "10 Mbit/s",
        "queue": {
            "kind": "red",
            "limit": "100 packets",
            "min": "10 packets",
            "max": "40 packets",
            "weight": 0.002,
            "ecn": False,
        },
    },
    "group": [{"name": "tcp", "control": "newreno", "flows": 2, "rtt": "40 ms"}],
}


@dataclass(frozen=True)
class SlowedOptions:
    speed: float = worlds.option("part of the link's rate that is left", 1.0, kind=float)
    tier: str = worlds.option("whose", "gold", choices=("gold", "tin"))


class Slowed(worlds.World[SlowedOptions]):
    """A world of another package: the simulation behind a slower link."""

    name = "slowed"
    summary = "the simulation, slowed"
    keeps = frozenset({worlds.SERIES})
    options = SlowedOptions
    parallel = True

    def fit(self, scenario: _native.Scenario, options: SlowedOptions) -> list[str]:
        return [f"{scenario.name} is slowed to {options.speed:g}"]

    def estimate_s(self, scenario: _native.Scenario, options: SlowedOptions) -> float:
        return 1.0

    def run(
        self,
        scenario: _native.Scenario,
        seeds: Sequence[int],
        wanted: worlds.Wanted,
        options: SlowedOptions,
        *,
        jobs: int | None,
        progress: Any,
    ) -> Any:
        rate = json.loads(scenario.to_json())["bottleneck"]["rate"]
        mbps = (_native.quantity(rate) or (0.0, ""))[0] / 1e6 * options.speed
        slower = _native.load_json(scenario.to_json(), overrides=[f"bottleneck.rate={mbps} Mbit/s"])
        return worlds.find("sim").run(slower, seeds, wanted, None, jobs=jobs, progress=progress)


SLOWED = Slowed()


@pytest.fixture
def slowed(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, "slowed", f"{__name__}:SLOWED")


def offer(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Have a package with this entry point installed."""
    entries = [EntryPoint(name, value, registry.GROUP)]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entries if group == registry.GROUP else [])
    registry._others.cache_clear()
    monkeypatch.setattr(registry, "_others", registry._others.__wrapped__)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Linux", "no world is called 'Linux'; did you mean 'linux'?"),
        ("fluidd", "no world is called 'fluidd'; did you mean 'fluid'?"),
        ("", "no world is called ''; there is: sim, fluid, linux, hosts"),
        (None, "world=: None is no name of a world; there is: sim, fluid, linux, hosts"),
        (7, "world=: 7 is no name of a world"),
    ],
)
def test_an_unknown_world_is_never_a_simulation(small_scenario: sojourn.Scenario, name: Any, words: str) -> None:
    with pytest.raises(sojourn.InputError) as raised:
        small_scenario.run(world=name)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("world", "options", "words"),
    [
        ("sim", {"peer": "192.0.2.1"}, "peer= needs world='hosts'; the world here is 'sim'"),
        ("sim", {"shape": "eth0"}, "shape= needs world='hosts'"),
        ("sim", {"kernel": "uml"}, "kernel= needs world='linux'"),
        ("sim", {"seeds": 3}, "the world 'sim' has no option seeds=: it has none"),
        ("linux", {"shapers": "tbf"}, "the world 'linux' has no option 'shapers'; did you mean 'shaper'?"),
        ("linux", {"shaper": "cbq"}, "shaper=: 'cbq'; allowed: 'htb' or 'tbf' or 'device'"),
        ("hosts", {"peer": 7}, "peer=: 7; allowed: ADDRESS[:PORT]"),
        ("hosts", {}, "world='hosts' needs peer= ADDRESS"),
        ("fluid", {"packets": True}, "the world 'fluid' keeps no packets; it keeps: series"),
        ("linux", {"transfers": True}, "the world 'linux' keeps no transfers; it keeps: packets, series"),
    ],
)
def test_what_a_world_does_not_have_is_an_error(
    small_scenario: sojourn.Scenario, world: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(sojourn.InputError) as raised:
        small_scenario.run(world=world, **options)
    assert words in str(raised.value)


def test_an_option_that_is_none_is_left_to_the_world(small_scenario: sojourn.Scenario) -> None:
    assert small_scenario.run(peer=None, kernel=None).summary == small_scenario.run().summary
    assert worlds.choose("linux", {"kernel": None, "peer": None}).options == worlds.find("linux").options()


def test_messages_name_options_as_their_reader_gives_them(command: Command, small_file: Path) -> None:
    assert "with Linux's own rules: overrides={'group." in refusal(small_file)
    refused = command("run", small_file, "--world", "linux")
    assert "with Linux's own rules: --set group." in refused.err
    assert "(--world sim can)" in refused.err
    assert "(world='sim' can)" in refusal(small_file)


def refusal(file: Path) -> str:
    with pytest.raises(sojourn.InputError) as raised:
        sojourn.Scenario.load(file).run(world="linux")
    return str(raised.value)


def test_each_world_follows_the_protocol() -> None:
    for name in worlds.OWN:
        world = worlds.find(name)
        assert isinstance(world, worlds.World)
        assert world.name == name
        assert world.keeps <= {"series", "probes", "packets", "transfers", "delays", "decisions"}
        assert all(one.summary and one.allowed for one in worlds.stated(world.options))


def test_worlds_are_listed_and_shown(command: Command) -> None:
    listed = json.loads(command("list", "worlds", "--json").out)
    assert [row["name"] for row in listed][:4] == ["sim", "fluid", "linux", "hosts"]
    shown = command("show", "hosts").out
    assert "hosts (world)" in shown
    assert "ADDRESS[:PORT]" in shown
    assert json.loads(command("show", "fluid", "--json").out)[0]["keeps"] == ["series"]


def test_check_asks_the_world(command: Command, small_file: Path) -> None:
    assert command("check", small_file).code == 0
    refused = command("check", small_file, "--world", "fluid")
    assert refused.code == 2
    assert "the fluid model cannot have" in refused.err
    assert "did you mean 'fluid'?" in command("check", small_file, "--world", "fluids").err


def test_a_sweep_runs_in_the_fluid_world(tmp_path: Path) -> None:
    tables = {"base": FLUID, "seeds": 2, "world": "fluid", "keep": ["series"]}
    plan = Plan.of({**tables, "axes": {"group.tcp.flows": [1, 4]}})
    dataset = Dataset.create(tmp_path / "data", plan, *batch_size(plan))
    run_local(plan, dataset, 2, lambda _status: None)
    assert dataset.tables == ["runs", "groups", "links", "queue", "flows"]
    goodput = dataset.table("groups")["goodput_mbps"].to_pylist()
    assert len(goodput) == 4
    assert all(5 < value < 10 for value in goodput)
    with pytest.raises(sojourn.InputError, match=r"the fluid model cannot have codel; allowed: red"):
        Plan.of({**tables, "axes": {"bottleneck.queue": ["codel"]}})


def test_a_sweep_between_hosts_runs_one_after_the_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    under_way: list[int] = []
    most: list[int] = []

    def run(scenario: Any, seeds: list[int], *_rest: Any) -> Any:
        under_way.append(1)
        most.append(len(under_way))
        found = scenario.run(seeds, 1, worlds.Wanted().native, None)
        under_way.pop()
        return found

    monkeypatch.setattr("sojourn.worlds.hosts.world.run", run)
    group = {
        "name": "tcp",
        "control": {"kind": "newreno", "preset": "linux"},
        "transport": "linux",
        "rtt": "30 ms",
    }
    base = {**FLUID, "duration": "6 s", "group": [group]}
    tables = {"base": base, "world": "hosts", "peer": "192.0.2.1"}
    plan = Plan.of({**tables, "axes": {"group.tcp.flows": [1, 2, 3, 4]}})
    dataset = Dataset.create(tmp_path / "data", plan, 1)
    run_local(plan, dataset, 4, lambda _status: None)
    assert most == [1, 1, 1, 1]
    assert dataset.failures() == 0


@pytest.mark.usefixtures("slowed")
def test_a_world_of_another_package_runs_sweeps_and_shows_its_options(
    small_scenario: sojourn.Scenario, command: Command, small_file: Path, tmp_path: Path
) -> None:
    halved = small_scenario.run(world="slowed", speed=0.5).summary["goodput_mbps.tcp"]["mean"]
    full = small_scenario.run().summary["goodput_mbps.tcp"]["mean"]
    assert halved is not None
    assert full is not None
    assert halved < 0.6 * full
    done = command("run", small_file, "--world", "slowed", "--speed", "0.5", "--json")
    assert json.loads(done.out)["summary"]["goodput_mbps.tcp"]["mean"] == halved
    assert "--speed" not in command("run", "--help").out
    helped = command("run", "--world=slowed", "--help").out
    assert re.search(r"Options with --world slowed:\n  --speed \S+ +Part of the", helped)
    assert "note: small is slowed to 1" in command("check", small_file, "--world", "slowed").err
    assert "slowed" in command("list", "worlds").out
    plan = Plan.of({"base": str(small_file), "world": "slowed", "axes": {"bottleneck.rate": ["10 Mbit/s"]}})
    assert plan.chosen.options == SlowedOptions()
    with pytest.raises(sojourn.InputError, match="no key of a sweep is called 'spede'; did you mean 'speed'"):
        Plan.of({"base": str(small_file), "world": "slowed", "spede": 2})
    with pytest.raises(sojourn.InputError, match="the world 'slowed' keeps no packets"):
        small_scenario.run(world="slowed", packets=True)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("broken", "no_such_module_at_all:WORLD", "cannot be loaded: ModuleNotFoundError"),
        ("empty", f"{__name__}:FLUID", "is no instance of sojourn.worlds.World"),
        ("kind", f"{__name__}:Slowed", "is no instance of sojourn.worlds.World"),
    ],
)
def test_a_package_at_fault_is_named(
    small_scenario: sojourn.Scenario, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    offer(monkeypatch, name, value)
    with pytest.raises(sojourn.InputError, match=words):
        small_scenario.run(world=name)


def test_a_package_cannot_take_the_name_of_a_world(
    small_scenario: sojourn.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, "fluid", f"{__name__}:SLOWED")
    with pytest.raises(sojourn.InputError, match="names a world 'fluid', which there is already"):
        small_scenario.run(world="other")
    assert worlds.find("fluid").name == "fluid"
    assert "sojourn.worlds.fluid" in sys.modules


def test_what_a_world_was_called_is_still_read(
    command: Command, tmp_path: Path, small_scenario: sojourn.Scenario
) -> None:
    words = ("check", "motivating-red", "--json")
    assert command(*words, "--backend", "fluid").out == command(*words, "--world", "fluid").out
    assert command(*words, "--backend=fluid").out == command(*words, "--world=fluid").out
    with pytest.raises(sojourn.InputError, match="no name of a world"):
        small_scenario.run(backend=7)
    sweep = tmp_path / "sweep.toml"
    sweep.write_text('base = "motivating-red"\nbackend = "fluid"\n[axes]\n"group.tcp.flows" = [1]\n', encoding="utf-8")
    with pytest.raises(sojourn.InputError, match="the fluid model cannot have"):
        Plan.load(sweep)
