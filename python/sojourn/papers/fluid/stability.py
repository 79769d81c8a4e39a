"""Where the model's equilibrium is stable, and how it moves on both sides of the border."""

import math

from matplotlib.axes import Axes
from scipy.optimize import brentq

from sojourn.figures.style import family
from sojourn.fluid import trajectory
from sojourn.papers.fluid.world import SETTING, model, point
from sojourn.papers.measures import check
from sojourn.study.lab import Lab
from sojourn.study.model import Findings, Item, Table
from sojourn.study.panels import panels

LINES = ((1, 40), (5, 40), (5, 100))
RTTS_S = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
# One trajectory on each side, this far from the border.
_SIDES = (0.5, 2.0)
_DURATION_S = 120.0
_LATE_S = 60.0
_STEP_S = 0.02
_AT_REST, _SWINGS = 0.02, 0.2


def stability(_lab: Lab) -> Findings:
    """Return the rightmost root over the base round-trip time, and two trajectories."""
    found = Findings()
    roots = {line: {rtt: _root(*line, rtt) for rtt in RTTS_S} for line in LINES}
    borders = {line: _border(line, found_roots) for line, found_roots in roots.items()}
    first = LINES[0]
    paths = {}
    for side in _SIDES:
        one = model(*first, base_rtt_s=side * borders[first])
        paths[side] = (one, trajectory(one, _DURATION_S, step_s=_STEP_S))

    def draw(index: int, axes: Axes) -> None:
        if index == 0:
            for position, (line, points) in enumerate(roots.items()):
                label = f"{line[0]}+{line[0]} flows, target {line[1]}"
                axes.plot(list(points), list(points.values()), "o-", markersize=3, color=family(position), label=label)
            axes.axhline(0, color="#999999", linewidth=0.6, zorder=0)
            axes.set_xscale("log")
            axes.set_xlabel("base round-trip time [s]")
            axes.set_ylabel("rightmost root, real part [1/s]")
            return
        _, path = list(paths.values())[index - 1]
        axes.plot(path.times_s, path.queue_packets, color=family(0), label="queue")
        axes.plot(path.times_s, path.average_packets, color=family(1), label="average queue")
        axes.set_xlabel("time [s]")
        axes.set_ylabel("queue [packets]")

    titles = ["stable below 0", *(f"base RTT {1e3 * side * borders[first]:.0f} ms" for side in _SIDES)]
    found.show("stability", panels(titles, draw), "The rightmost root, and the queue on both sides of the border")
    rows = tuple((*line, rtt, root, borders[line]) for line, points in roots.items() for rtt, root in points.items())
    columns = ("flows_each", "target_packets", "base_rtt_s", "root_per_s", "border_s")
    found.tables.append(Table("stability", "The rightmost root over the base round-trip time", columns, rows))
    for side, (one, path) in paths.items():
        rest = point(one)
        if rest is None:
            raise RuntimeError("no equilibrium on one side of the border")
        late = path.queue_packets[path.times_s >= _LATE_S]
        swing = float(late.max() - late.min()) / rest.rest.queue_packets
        found.checks.append(
            check(
                f"base RTT {side:g} times the border: the model {'rests' if side < 1 else 'swings'}",
                f"root {rest.root.real:+.3f}/s",
                f"from {_LATE_S:.0f} s on the queue moves by {100 * swing:.1f} % of its equilibrium",
                agrees=rest.stable == (side < 1) and (swing < _AT_REST if side < 1 else swing > _SWINGS),
            )
        )
    found.verdict = (
        "The equilibrium is stable up to a base round-trip time of "
        + ", ".join(f"{border:.2f} s ({line[0]}+{line[0]} flows, target {line[1]})" for line, border in borders.items())
        + "; in the paper's setting of 50 ms it always is."
    )
    return found


def _root(flows: int, target: float, base_rtt_s: float) -> float:
    found = point(model(flows, target, base_rtt_s=base_rtt_s))
    return math.nan if found is None else found.root.real


def _border(line: tuple[int, int], roots: dict[float, float]) -> float:
    """Return the base round-trip time at which the root crosses zero, between the places where it changes sign."""
    stable = max(rtt for rtt, root in roots.items() if root < 0)
    unstable = min(rtt for rtt, root in roots.items() if root > 0)
    return float(brentq(lambda rtt: _root(*line, rtt), stable, unstable, xtol=1e-3))


ITEMS = (
    Item(
        "stability",
        "Stability",
        f"Model only, linearized with the delays of the equilibrium; {SETTING.split(';')[0]} where it is not varied",
        stability,
    ),
)
