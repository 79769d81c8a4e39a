"""The fluid world: the integrator's order, the worked equilibria, stability, and what it refuses."""

import math
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Command

import sojourn
from sojourn.worlds.fluid.dde import integrate
from sojourn.worlds.fluid.equilibrium import equilibrium
from sojourn.worlds.fluid.model import Class, Model, Red
from sojourn.worlds.fluid.stability import rightmost_root
from sojourn.worlds.fluid.trajectory import trajectory

# The paper's setting: 1 Mbit/s in packets of 1250 B, 50 ms, RED from 10 to 100 packets with at most 0.1.
PACKETS_PER_S = 100


def setting(flows: int, target_packets: float, **changes: float) -> Model:
    red = Red(10, 100, 0.1, changes.pop("weight", 0.002))
    classes = (
        Class("tcp", "newreno", flows, 0.05),
        Class("ledbat", "ledbat", flows, 0.05, target_s=target_packets / PACKETS_PER_S),
    )
    return Model(PACKETS_PER_S, 100, red, classes, **changes)


def test_the_past_is_read_right_on_a_worked_example() -> None:
    # y' = -y(t - 1) with y = 1 before 0: 1 - t up to 1, then 1 - t + (t - 1)^2 / 2.
    solution = integrate(lambda y, t, past: [-past(t - 1)[0]], [1.0], 2.0, 0.1)
    assert solution.states[10][0] == pytest.approx(0, abs=1e-12)
    assert solution.states[15][0] == pytest.approx(1 - 1.5 + 0.5**2 / 2, abs=1e-9)
    assert solution.at(1.55)[0] == pytest.approx(1 - 1.55 + 0.55**2 / 2, abs=1e-6)


def test_the_integrator_is_of_fourth_order() -> None:
    # From the constant past y = 1, y' = -y(t - 1) is a polynomial on each unit interval; the delay is a whole
    # number of steps, so that its corners fall on steps.
    def error(steps_per_unit: int) -> float:
        def slope(y: list[float], t: float, past: object) -> list[float]:
            return [-math.sin(3 * past(t - 1)[0]) * y[0]]  # type: ignore[operator]

        fine = integrate(slope, [1.0], 4.0, 1 / 640)
        coarse = integrate(slope, [1.0], 4.0, 1 / steps_per_unit)
        return abs(coarse.states[-1][0] - fine.states[-1][0])

    ratios = [math.log2(error(steps) / error(2 * steps)) for steps in (10, 20)]
    assert all(3.5 < ratio < 4.7 for ratio in ratios), ratios


@pytest.mark.parametrize(
    ("flows", "target", "queue", "share"),
    [(1, 20, 17.0, 0.722), (1, 40, 19.1, 0.580), (5, 40, 39.0, 0.865), (5, 100, 49.9, 0.585)],
)
def test_the_worked_equilibria(flows: int, target: float, queue: float, share: float) -> None:
    rest = equilibrium(setting(flows, target))
    assert rest is not None
    assert rest.queue_packets == pytest.approx(queue, abs=0.05)
    assert rest.shares[0] == pytest.approx(share, abs=0.0006)
    # The closed form for equal numbers of flows.
    assert rest.shares[0] == pytest.approx(1 / (1 + math.sqrt((target - rest.queue_packets) / target)))


@pytest.mark.long
@pytest.mark.parametrize(("flows", "target"), [(1, 20), (5, 100)])
def test_a_stable_model_comes_to_rest_there(flows: int, target: float) -> None:
    model = setting(flows, target)
    rest = equilibrium(model)
    assert rest is not None
    assert rightmost_root(model, rest).real < 0
    path = trajectory(model, 150)
    assert path.queue_packets[-1] == pytest.approx(rest.queue_packets, rel=1e-3)
    assert path.average_packets[-1] == pytest.approx(rest.queue_packets, rel=1e-3)
    assert path.windows_packets[-1] == pytest.approx(rest.windows_packets, rel=1e-3)


@pytest.mark.long
def test_the_rightmost_root_is_the_rate_at_which_deviations_fade() -> None:
    model = setting(1, 40)
    rest = equilibrium(model)
    assert rest is not None
    root = rightmost_root(model, rest)
    path = trajectory(model, 60)
    off = np.abs(path.queue_packets - rest.queue_packets)
    early, late = (off[(path.times_s > begin) & (path.times_s < begin + 10)].max() for begin in (20, 40))
    assert math.log(late / early) / 20 == pytest.approx(root.real, rel=0.1)


def test_an_unstable_equilibrium_is_known_and_left() -> None:
    # The model's classic instability: many packets in flight, few flows, a steep and fast RED.
    classes = (Class("tcp", "newreno", 2, 0.25),)
    model = Model(1000, 1000, Red(20, 80, 0.1, 0.05), classes)
    rest = equilibrium(model)
    assert rest is not None
    assert rightmost_root(model, rest).real > 0
    queue = trajectory(model, 60).queue_packets[-4000:]
    assert queue.max() - queue.min() > 10


def test_a_starved_class_adds_no_root() -> None:
    model = setting(1, 12)
    rest = equilibrium(model)
    assert rest is not None
    assert rest.windows_packets[1] == 0
    alone = Model(PACKETS_PER_S, 100, model.red, model.classes[:1])
    alone_at_rest = equilibrium(alone)
    assert alone_at_rest is not None
    assert rightmost_root(model, rest) == pytest.approx(rightmost_root(alone, alone_at_rest))
    assert rightmost_root(model, rest).real < 0


def test_no_equilibrium_below_the_limit() -> None:
    assert equilibrium(setting(50, 40)) is None


def test_the_windows_floor_and_the_other_divisor() -> None:
    rest = equilibrium(setting(1, 12, ledbat_floor_packets=1.0, decrease=1.5))
    assert rest is not None
    assert rest.queue_packets > 12
    assert rest.windows_packets[1] == 1.0
    assert rest.windows_packets[0] == pytest.approx(math.sqrt(1.5 / rest.drop_probability))


FLUID = """
duration = "30 s"
warmup = "10 s"

[bottleneck]
rate = "1 Mbit/s"
queue = { kind = "red", limit = "100 packets", min = "10 packets", max = "100 packets", weight = 0.002, gentle = false }

[[group]]
name = "tcp"
control = "newreno"
flows = 5
rtt = "50 ms"

[[group]]
name = "background"
control = { kind = "ledbat", target = "480 ms" }
flows = 5
rtt = "50 ms"
"""


@pytest.fixture
def fluid_file(tmp_path: Path) -> Path:
    path = tmp_path / "fluid.toml"
    path.write_text(FLUID, encoding="utf-8")
    return path


def test_a_scenario_gives_the_same_record_as_in_simulation(fluid_file: Path) -> None:
    scenario = sojourn.Scenario.load(fluid_file)
    fluid, simulated = (scenario.run(runs=2, world=world) for world in ("fluid", "sim"))

    def names(tree: object, prefix: str = "") -> set[str]:
        if not isinstance(tree, dict):
            return {prefix}
        return {name for key, value in tree.items() for name in names(value, f"{prefix}.{key}")}

    assert names(fluid.runs[0]) <= names(simulated.runs[0])
    assert fluid.queue.schema.names == simulated.queue.schema.names
    assert fluid.flows.schema.names == simulated.flows.schema.names
    assert fluid.runs[0].groups == fluid.runs[1].groups
    assert sum(group.share for group in fluid.runs[0].groups.values()) == pytest.approx(1)
    fluid.plot()


@pytest.mark.long
def test_the_world_and_the_model_agree(fluid_file: Path) -> None:
    record = sojourn.Scenario.load(fluid_file, {"duration": "120 s", "warmup": "60 s"}).run(world="fluid").runs[0]
    rate = 1e6 / 8 / 1500
    red, target = Red(10, 100, 0.1, 0.002), 0.48
    classes = (Class("tcp", "newreno", 5, 0.05), Class("background", "ledbat", 5, 0.05, target_s=target))
    rest = equilibrium(Model(rate, 100, red, classes))
    assert rest is not None
    assert record.bottleneck.queue_packets.mean == pytest.approx(rest.queue_packets, rel=0.01)
    assert record.groups.tcp.share == pytest.approx(rest.shares[0], rel=0.01)
    assert record.bottleneck.drop_rate == pytest.approx(rest.drop_probability, rel=0.02)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"bottleneck.queue": "codel"}, "bottleneck.queue.kind: the fluid model cannot have codel; allowed: red"),
        ({"bottleneck.queue.weight": "auto"}, "bottleneck.queue.weight"),
        ({"group.tcp.control": "cubic"}, "newreno or ledbat"),
        ({"group.tcp.receiver_control": "ledbatpp"}, "group.tcp.receiver_control"),
        ({"group.tcp.traffic": {"kind": "bulk", "size": "1 MB"}}, "bulk without a size"),
        ({"group.tcp.rtt": ["1 ms", "2 ms", "3 ms", "4 ms", "5 ms"]}, "make a group for each"),
        ({"group.tcp.transport": "ns2"}, "packets of one size"),
        ({"group.tcp.direction": "reverse", "reverse": {"rate": "1 Mbit/s"}}, "reverse"),
        ({"bottleneck.loss": 0.01}, "bottleneck.loss"),
        ({"bottleneck.framing": "ethernet"}, "bottleneck.framing"),
        ({"bottleneck.medium": "docsis"}, "bottleneck.medium"),
        ({"phase": [{"name": "late", "from": "12 s", "to": "14 s"}]}, "allowed: the results of the whole run"),
    ],
)
def test_what_is_refused(fluid_file: Path, change: dict[str, object], complaint: str) -> None:
    payload = {"group.tcp.transport.payload": "1000 B"} if "group.tcp.transport" in change else {}
    with pytest.raises(sojourn.InputError) as error:
        sojourn.Scenario.load(fluid_file, {**change, **payload}).run(world="fluid")
    assert complaint in str(error.value)


def test_the_command_line(fluid_file: Path, command: Command) -> None:
    done = command("run", str(fluid_file), "--world", "fluid")
    assert done.code == 0
    assert "background" in done.out
    refused = command("run", "motivating-red", "--world", "fluid")
    assert refused.code == 2
    assert "--world sim can" in refused.err
