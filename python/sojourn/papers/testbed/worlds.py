"""The kernel beside the simulator, in every cell of the study."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.figures.style import family
from sojourn.papers.measures import Key, check
from sojourn.papers.testbed import today
from sojourn.papers.testbed.reasons import CHANCE, KNOWN, OPEN, reason
from sojourn.papers.testbed.tables import DELAY_MS, DELAY_PART, SHARE_POINTS, near, table3_cells, table4_cells
from sojourn.papers.testbed.world import KERNEL, RUNS, SIM, SIM_RUNS_EACH, Cell
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.panels import panels

_SETS = {"Table 3": table3_cells, "Table 4": table4_cells, "today": today.cells}
_METRICS = ("share", "delay")


def worlds(lab: Lab) -> Findings:
    """Return where simulation and kernel agree, and why not where they do not."""
    cells = {name: run(lab) for name, run in _SETS.items()}
    pairs = {
        (name, *key): (found[KERNEL][key], found[SIM][key]) for name, found in cells.items() for key in found[KERNEL]
    }
    found = Findings()
    found.show("worlds", _figure(pairs), "Each cell of the study: simulated over real")
    columns = (
        *("set", "cell", "share_kernel", "share_simulated", "sd_simulated", "delay_ms_kernel", "delay_ms_simulated"),
        *("ping_ms_kernel", "ping_ms_simulated"),
    )
    found.tables.append(
        Table("worlds", "Shares in percent, mean delays in ms", columns, tuple(map(_row, pairs.items())))
    )
    alike = {key: _alike(*pair) for key, pair in pairs.items()}
    reasons = {key: _reason(key, *pairs[key], one) for key, one in alike.items() if not all(one.values())}
    disciplines = dict.fromkeys(str(key[2]) for key in pairs)
    found.checks = [_check(name, alike, reasons) for name in disciplines]
    good = {metric: sum(one[metric] for one in alike.values()) for metric in _METRICS}
    kinds = [kind for kind, _ in reasons.values()]
    found.verdict = (
        f"Of {len(pairs)} cells TCP's share agrees within {SHARE_POINTS:.0f} points in {good['share']}, the mean "
        f"queueing delay of all packets within {100 * DELAY_PART:.0f} % or {DELAY_MS:.0f} ms in {good['delay']}, both "
        f"in {len(pairs) - len(reasons)}. Of the other {len(reasons)} {kinds.count(CHANCE)} may be chance, "
        f"{kinds.count(KNOWN)} explained, {kinds.count(OPEN)} open."
    )
    found.text = (
        "Compared is the exact delay of all packets, which both worlds measure; the pings' delays stand beside it in "
        "the table of all cells."
    )
    return found


def _alike(real: Cell, simulated: Cell) -> dict[str, bool]:
    return {
        "share": abs(100 * (real.share.mean - simulated.share.mean)) <= SHARE_POINTS,
        "delay": near(simulated.exact_ms.mean, real.exact_ms.mean),
    }


def _reason(key: Key, real: Cell, simulated: Cell, alike: Mapping[str, bool]) -> tuple[str, str]:
    both = {"share": (real.share, simulated.share), "delay": (real.exact_ms, simulated.exact_ms)}
    differing = {metric: pair for metric, pair in both.items() if not alike[metric]}
    return reason(key, list(differing.values()))


def _check(discipline: str, alike: Mapping[Key, Mapping[str, bool]], reasons: Mapping[Key, tuple[str, str]]) -> Check:
    own = [key for key in alike if key[2] == discipline]
    good = {metric: sum(alike[key][metric] for key in own) for metric in _METRICS}
    why: dict[str, list[str]] = {}
    for key in own:
        if key in reasons:
            why.setdefault(reasons[key][1], []).append(" ".join(map(str, (key[1], *key[3:]))))
    return check(
        f"{discipline}: simulation and kernel agree",
        f"share within {SHARE_POINTS:.0f} points, delay within {100 * DELAY_PART:.0f} % or {DELAY_MS:.0f} ms",
        ", ".join(f"{metric} in {count} of {len(own)} cells" for metric, count in good.items()),
        agrees=not why,
        why=" ".join(f"{'; '.join(cells)}: {text}" for text, cells in why.items()),
    )


def _row(pair: tuple[Key, tuple[Cell, Cell]]) -> tuple[str | float, ...]:
    key, (real, simulated) = pair
    shares = (100 * real.share.mean, 100 * simulated.share.mean, 100 * simulated.share.sd)
    delays = (real.exact_ms.mean, simulated.exact_ms.mean, real.ping_ms.mean, simulated.ping_ms.mean)
    return (str(key[0]), ", ".join(map(str, key[1:])), *shares, *delays)


def _figure(pairs: Mapping[Key, tuple[Cell, Cell]]) -> Figure:
    def draw(index: int, axes: Axes) -> None:
        metric, scale = (("share", 100.0), ("exact_ms", 1.0))[index]
        for position, name in enumerate(_SETS):
            own = [pair for key, pair in pairs.items() if key[0] == name]
            across, up = ([scale * getattr(pair[world], metric).mean for pair in own] for world in (0, 1))
            axes.plot(across, up, "osD"[position], markersize=3.5, color=family(position), label=name, alpha=0.8)
        ends = (0, 100) if index == 0 else (30, 30_000)
        axes.plot(ends, ends, color="#999999", linewidth=0.6, zorder=0)
        if index == 1:
            axes.set_xscale("log")
            axes.set_yscale("log")
        axes.set_xlabel(("TCP's share [%]", "mean delay [ms]")[index] + ", kernel")
        axes.set_ylabel(("TCP's share [%]", "mean delay [ms]")[index] + ", simulated")

    return panels(["share", "delay"], draw, height_in=3.4)


ITEMS = (
    Item(
        "worlds",
        "The kernel beside the simulator",
        f"Every cell of Table 3, Table 4 and of today, with the presets linux; {RUNS} runs on the kernel, "
        f"{SIM_RUNS_EACH} simulated with the start times of each; there libutp has the transport libutp, timers of "
        "TCP wait for the next tick of 10 ms and PIE is updated every 30 ms, as in user-mode Linux",
        worlds,
    ),
)
