"""What tables will not do of the testbed's study: the kernel's side of a simulation, pooled runs, figures."""

import functools
import itertools
import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn.data.rows import GROUP, GROUPS, POINT, SEED
from sojourn.study import Means, Number, Outcome, changes, claim, figure, measure
from sojourn.study.means import by_run
from sojourn.worlds.linux.plan.flows import moments

from .senders import START
from .senders import groups as all_groups
from .unprinted import a_red

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sojourn.data.dataset import Dataset
    from sojourn.sweeps.plan import Plan

KERNEL, SIM = "kernel", "simulated"
SHARE, PING_MS, EXACT_MS = "share", "ping_ms", "bottleneck_queue_ms_mean"
UTILIZATION = "bottleneck_utilization"
# TCP's share in percent in the paper's Table 3, 1+1 flows.
_STARVED = {"LEDBAT": 1.7, "TCP-LP": 97.5}
# What counts as agreement of both worlds.
_SHARE_POINTS, _DELAY_PART, _DELAY_MS = 8.0, 0.25, 5.0
# Fig. 11: width of a bin, and from when on flows have begun; links with their rates.
_BIN_S, _FROM_S = 1.0, 10.0
_MBPS = {"500 kbit/s, HTB": 0.5, "10 Mbit/s, HTB": 10.0, "10 Mbit/s, device": 10.0}
_STACKED = ("FIFO", "RED", "SFQ")
_DCTCP = (
    "On the kernel a DCTCP flow whose first timeout was needless, and was taken back, keeps the window of that moment "
    "for the rest of the run although all its packets are marked: 11 to 25 packets in three of five flows of a run "
    "under FQ-CoDel. With timestamps, F-RTO and D-SACK off, so that nothing is taken back, all come down to two "
    "packets, as all simulated ones do."
)
_LIBUTP = (
    "Where much is lost, libutp takes lost packets for ones that were too large and makes its packets smaller, and "
    "gives a connection up after four timeouts in a row: in a run under PIE one of five flows sent packets of 809 to "
    "1016 B, and two began anew, of which one hardly came through again. The simulated one does neither."
)
# Why the worlds differ, by control and discipline.
_WHY = {
    **{("DCTCP", queue): _DCTCP for queue in ("CoDel", "FQ-CoDel", "CAKE", "CHOKe")},
    **{("LEDBAT", queue): _LIBUTP for queue in ("RED", "PIE")},
}
# PIE's 15 ms on user-mode Linux: two ticks of 10 ms, and the one more that a kernel's timer waits so as not to be early
# (docs/validation/kernel-conformance.md). PIE leaves alone what is less than two of the device's largest frames; here
# its bytes are counted without the 14 of Ethernet, so that two full packets are less.
_PIE = {"update": "30 ms", "mean_packet": 1514}
# Disciplines that have to be asked to mark.
_ASKED_TO_MARK = ("CoDel", "PIE", "CHOKe")

Row = tuple[dict[str, Any], str, str, Number]


@changes("today-dctcp-kernel")
def marking(queue: str) -> dict[str, Any]:
    """Ask disciplines to mark that do not by themselves."""
    return {"bottleneck.queue.ecn": True} if queue in _ASKED_TO_MARK else {}


@changes("table3-sim", "table4-sim", "today-sim", "today-dctcp-sim")
def as_on_the_kernel(control: str, queue: str, flows: str, start: int, made: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes of a cell for a simulation: what the kernel's side has of itself, and its flows' starts."""
    discipline = _queue_as_on_the_kernel(made["bottleneck.queue"])
    if control == "DCTCP" and queue in _ASKED_TO_MARK:
        discipline["ecn"] = True
    return {"bottleneck.queue": discipline, "group": _groups(made, int(flows[0]), start)}


@changes("red-sim")
def red(
    most: int, burst: int, max_p: float, bandwidth: str, limit: str, start: int, made: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a RED of tc's in a simulation."""
    return {"bottleneck.queue": a_red(most, burst, max_p, bandwidth, limit), "group": _groups(made, 1, start)}


def _groups(made: Mapping[str, Any], flows: int, start: int) -> list[dict[str, Any]]:
    return all_groups(made, flows, functools.partial(starts, flows=flows, seed=start))


def starts(name: str, *, flows: int, seed: int) -> list[str]:
    """Return the start times of a group's flows in a run on the kernel."""
    group = {"name": name, "flows": flows, "start": START}
    return [f"{1e3 * (start_s or 0.0):.6f} ms" for start_s in moments(group, "start", seed)]


def _queue_as_on_the_kernel(queue: Mapping[str, Any]) -> dict[str, Any]:
    if queue["kind"] == "drr":
        # The kernel's drr has a limit for each flow's class, Sojourn's one for all; sfq has turns of a packet too, and
        # with perfect buckets a limit for each.
        packets = int(queue["limit"].removesuffix(" packets"))
        return {"kind": "sfq", "preset": "linux", "perfect": True, "depth": packets, "limit": f"{10 * packets} packets"}
    return {**queue, **_PIE} if queue["kind"] == "pie" else dict(queue)


# What the runs of a cell found together; in a simulation the ping is a flow.


@measure("table3", of=("table3-kernel", "table3-sim"))
@measure("table4", of=("table4-kernel", "table4-sim"))
@measure("today", of=("today-kernel", "today-sim", "today-dctcp-kernel", "today-dctcp-sim"))
@measure("red-kernel", of="red-kernel")
@measure("red", of="red-sim")
def cells(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield TCP's share of what both groups delivered, delays of pings and of all packets, and utilization."""
    world = KERNEL if plan.world == "linux" else SIM
    for at, runs in _by_cell(plan, dataset).items():
        found: dict[str, list[float | None]] = {SHARE: [], PING_MS: [], EXACT_MS: [], UTILIZATION: []}
        for groups in runs:
            tcp, other = (groups[name]["goodput_mbps"] for name in ("tcp", "background"))
            run = groups["tcp"]
            found[SHARE].append(tcp / (tcp + other) if tcp + other else None)
            found[PING_MS].append(groups["ping"]["queue_ms_mean"] if world == SIM else run["bottleneck_ping_ms_mean"])
            found[EXACT_MS].append(run[EXACT_MS])
            found[UTILIZATION].append(run[UTILIZATION])
        for metric, values in found.items():
            yield dict(at) | {"world": world}, "tcp" if metric == SHARE else "", metric, Number.of(values)


def _by_cell(plan: "Plan", dataset: "Dataset") -> dict[tuple[tuple[str, Any], ...], list[dict[str, Mapping[str, Any]]]]:
    """Return the rows of each run by group; runs with other start times are runs of the same cell."""
    metrics = ("goodput_mbps", "queue_ms_mean", "bottleneck_ping_ms_mean", EXACT_MS, UTILIZATION)
    found: dict[tuple[tuple[str, Any], ...], list[dict[str, Mapping[str, Any]]]] = {}
    for at, _, groups in by_run(plan, dataset, metrics):
        found.setdefault(tuple((axis, value) for axis, value in at.items() if axis != "start"), []).append(groups)
    return found


@measure("internet", of="internet-sim")
def over_internet(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield TCP's share, and the pings' mean one-way delay less the least: the paper's estimate of queueing."""
    found: dict[tuple[tuple[str, Any], ...], list[tuple[float, float]]] = {}
    for at, _, groups in by_run(plan, dataset, ("goodput_mbps", "delay_ms_mean", "delay_ms_min")):
        tcp, other = (groups[name]["goodput_mbps"] for name in ("tcp", "background"))
        waited = groups["ping"]["delay_ms_mean"] - groups["ping"]["delay_ms_min"]
        found.setdefault(tuple(at.items()), []).append((tcp / (tcp + other), waited))
    for place, runs in found.items():
        for metric, group, values in zip((SHARE, PING_MS), ("tcp", ""), zip(*runs, strict=True), strict=True):
            yield dict(place), group, metric, Number.of(values)


@measure("red-distance", of="red-sim")
@measure("red-kernel-distance", of="red-kernel")
def distances(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield how far TCP's shares behind each RED are from the paper's, root mean square over both controls."""
    shares: dict[tuple[tuple[str, Any], ...], list[float]] = {}
    for at, _, metric, number in cells(plan, dataset):
        if metric == SHARE:
            place = tuple((axis, value) for axis, value in at.items() if axis not in {"control", "world"})
            shares.setdefault(place, []).append(100 * number.mean - _STARVED[at["control"]])
    for place, apart in shares.items():
        yield dict(place), "", "distance", Number(math.sqrt(statistics.fmean(x * x for x in apart)), 0.0, 1)


@measure("fig11-seconds", of=("fig11-htb", "fig11-device"))
def seconds(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield each group's goodput in each second of the first run."""
    for at, run, _, rates in _rates(plan, dataset):
        for (group, time_s), mbps in rates.items():
            if run == 1:
                yield {**at, "time_s": time_s}, group, "mbps", Number(mbps, 0.0, 1)


@measure("fig11", of=("fig11-htb", "fig11-device"))
def breakdown(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield TCP's share, and by how much its share of a second varies once flows have begun."""
    found: dict[tuple[tuple[str, Any], ...], list[tuple[float, float]]] = {}
    for at, _, share, rates in _rates(plan, dataset):
        late = [time_s for group, time_s in rates if group == "tcp" and time_s >= _FROM_S]
        pairs = [(rates["tcp", time_s], rates["background", time_s]) for time_s in late]
        parts = [100 * tcp / (tcp + other) for tcp, other in pairs if tcp + other > 0]
        found.setdefault(tuple(at.items()), []).append((share, statistics.pstdev(parts)))
    for place, runs in found.items():
        for metric, values in zip((SHARE, "unrest"), zip(*runs, strict=True), strict=True):
            yield dict(place), "tcp" if metric == SHARE else "", metric, Number.of(values)


def _rates(
    plan: "Plan", dataset: "Dataset"
) -> Iterator[tuple[dict[str, Any], int, float, dict[tuple[str, float], float]]]:
    """Yield place, number of the run, TCP's share, and Mbit/s by group and time for every run."""
    groups = dataset.table(GROUPS).to_pylist()
    shares = {(row[POINT], row[SEED]): row[SHARE] for row in groups if row[GROUP] == "tcp"}
    bits: dict[tuple[int, int], dict[tuple[str, float], float]] = {}
    for row in dataset.table("flows").to_pylist():
        own = bits.setdefault((row[POINT], row[SEED]), {})
        place = (row[GROUP], row["time_s"])
        own[place] = own.get(place, 0.0) + row["delivered_bytes"] * 8e-6 / _BIN_S
    for (point, seed), rates in sorted(bits.items()):
        yield plan.point(point).coordinates, seed, shares[point, seed], dict(sorted(rates.items()))


# The kernel beside the simulator.


@dataclass(frozen=True)
class Pair:
    """A cell in both worlds."""

    control: str
    flows: str
    kernel: tuple[Number, Number]
    """Share and delay."""
    simulated: tuple[Number, Number]

    @property
    def margins(self) -> tuple[float, float]:
        """By how much share and delay agree."""
        (share, delay), (other, there) = self.kernel, self.simulated
        allowed = max(_DELAY_MS, _DELAY_PART * delay.mean)
        return _SHARE_POINTS - abs(share.mean - other.mean), allowed - abs(delay.mean - there.mean)

    @property
    def agrees(self) -> bool:
        """Whether both agree."""
        return min(self.margins) >= 0

    def reason(self, queue: str) -> str:
        """Return why they do not: by chance, for a reason that is known, or openly."""
        parts = zip(self.kernel, self.simulated, self.margins, strict=True)
        if all(low <= 0 <= high for low, high in (one.minus(other) for one, other, margin in parts if margin < 0)):
            return "May be chance: so few runs, which spread as much, cannot tell."
        known = _WHY.get((self.control, queue))
        return "Open." if known is None else f"Explained. {known}"


def pairs(means: Means) -> dict[str, list[Pair]]:
    """Return every cell of the study by discipline."""
    found: dict[str, list[Pair]] = {}
    for sweep in ("table3", "table4", "today"):
        for share in means.cells(sweep, SHARE, "tcp", world=KERNEL):
            control, queue, flows = (share.at[axis] for axis in ("control", "queue", "flows"))
            of = functools.partial(means.number, sweep, control=control, queue=queue, flows=flows)
            kernel, simulated = ((of(SHARE, world=world), of(EXACT_MS, world=world)) for world in (KERNEL, SIM))
            found.setdefault(queue, []).append(Pair(control, flows, kernel, simulated))
    return found


@claim(
    "worlds",
    "{queue}: simulation and kernel agree",
    paper="the kernel",
    own=True,
    tolerance="share within 8 points, delay within 25 % or 5 ms",
)
def agreement(means: Means) -> Iterator[Outcome]:
    """Compare both worlds under each discipline."""
    for queue, own in pairs(means).items():
        why: dict[str, list[str]] = {}
        for one in own:
            if not one.agrees:
                why.setdefault(one.reason(queue), []).append(f"{one.control} {one.flows}")
        yield Outcome(
            not why,
            _counted(own),
            points=(sum(one.agrees for one in own), len(own)),
            margin=min(margin for one in own for margin in one.margins),
            why=" ".join(f"{'; '.join(names)}: {text}" for text, names in why.items()),
            at={"queue": queue},
        )


@claim("worlds", "all disciplines together: cells in which simulation and kernel agree", name="all", own=True)
def together(means: Means) -> Outcome:
    """Count the cells of the whole study."""
    own = [one for some in pairs(means).values() for one in some]
    return Outcome(None, f"{_counted(own)}, both in {sum(one.agrees for one in own)}")


def _counted(own: list[Pair]) -> str:
    good = [sum(margin >= 0 for margin in margins) for margins in zip(*(one.margins for one in own), strict=True)]
    return f"share in {good[0]} of {len(own)} cells, delay in {good[1]} of {len(own)}"


# Figures.


@figure(
    "red",
    "red",
    "No RED from 1500 B gives what the paper found (star). Each point is a RED: TCP's share beside LEDBAT and TCP-LP; "
    "bars on the kernel are 95 % intervals",
)
def all_reds(means: Means) -> "Figure":
    """Draw TCP's shares behind every RED."""
    from sojourn.figures.style import family
    from sojourn.study.panels import panels

    def draw(_index: int, axes: "Axes") -> None:
        for position, (name, sweep, size) in enumerate((("simulated", "red", 2.0), ("kernel", "red-kernel", 5.0))):
            across, up = (means.cells(sweep, SHARE, "tcp", control=low) for low in _STARVED)
            axes.errorbar(
                [one.number.mean for one in across],
                [one.number.mean for one in up],
                xerr=[one.number.half for one in across] if sweep == "red-kernel" else None,
                yerr=[one.number.half for one in up] if sweep == "red-kernel" else None,
                fmt="oD"[position],
                markersize=size,
                elinewidth=0.6,
                color=family(position),
                label=name,
            )
        axes.plot(*_STARVED.values(), "*", markersize=9, color=family(2), label="paper")
        axes.set_xlim(-2, 102)
        axes.set_ylim(-2, 102)
        axes.set_xlabel("TCP's share beside LEDBAT [%]")
        axes.set_ylabel("TCP's share beside TCP-LP [%]")

    return panels(["1+1 flows behind RED from 1500 B"], draw, height_in=3.4)


@figure(
    "fig11",
    "fig11",
    "LEDBAT yields under FIFO only. TCP's and LEDBAT's goodput, stacked, in steps of a second; the first run of each. "
    "Data count when they come in order: what waited for a lost packet comes at once, above the link's rate, where the "
    "picture is cut",
)
def over_time(means: Means) -> "Figure":
    """Draw each second of the first runs."""
    from sojourn.figures import legends
    from sojourn.figures.style import drawn, family

    with drawn(4.6) as drawing:
        grid = drawing.subplots(len(_MBPS), len(_STACKED), sharex=True, sharey="row")
        for (place, queue), axes in zip(itertools.product(_MBPS, _STACKED), grid.flat, strict=True):
            tcp, low = (
                means.cells("fig11-seconds", "mbps", group, place=place, queue=queue) for group in ("tcp", "background")
            )
            values = [[one.number.mean for one in some] for some in (tcp, low)]
            times = [one.at["time_s"] for one in tcp]
            axes.stackplot(times, *values, colors=(family(0), family(1)), labels=("TCP", "LEDBAT"), linewidth=0)
            axes.set_xlim(0, times[-1])
            axes.set_ylim(0, 1.2 * _MBPS[place])
            axes.set_title(f"{queue}, {place}")
        for row in grid:
            row[0].set_ylabel("Mbit/s")
        for axes in grid[-1]:
            axes.set_xlabel("time [s]")
        legends.below(drawing, *grid[0][0].get_legend_handles_labels())
    return drawing
