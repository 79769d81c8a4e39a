"""What the paper did not ask: its remedy beside others (modem, one hop before it, host), and with today's TCP."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes

from sojourn import padding as equations
from sojourn.papers.braud.drawing import line, panels
from sojourn.papers.braud.world import (
    CONTROLS,
    DOWNLOAD,
    GOODPUT,
    PADDING,
    PING,
    RTT_MS,
    UPLOAD,
    base,
    host,
    ms,
    padding,
    tail,
)
from sojourn.papers.measures import Key, Results, check, measure, shown
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number

RATES_KBPS, PACKETS, DOWN_PACKETS = (800.0, 5000.0), 120, 120
SEEDS = 5
UDP, TARGET_MS, MOST = 250, 100, 500
# One hop before the modem, the line's rate less a twentieth.
SHAPED = 0.95
_PAYLOAD = 1448 / 1500
NOTHING, ADAPTIVE = "nothing", "adaptive padding"
ALONE, BOTH = "upload alone", "upload and download"
LOADS = (ALONE, BOTH)
DELAY = "voip_delay_ms_mean"
TODAY: dict[str, Any] = {"control": {"kind": "cubic", "preset": "linux"}, "transport": "linux"}


def _linux(control: str | Mapping[str, Any]) -> dict[str, Any]:
    return {"control": control, "transport": "linux"}


def _adaptive() -> dict[str, Any]:
    traffic = {"kind": "adaptive-padding", "target": ms(TARGET_MS), "most": f"{MOST} packets/s", "reach": "bottleneck"}
    return {"name": PADDING, "rtt": ms(RTT_MS), "traffic": traffic}


def _shaper(queue: str) -> dict[str, Any]:
    hop = {"name": "gateway", "at": "before", "rate": f"{SHAPED * RATES_KBPS[0]:g} kbit/s", "queue": queue}
    return {"hop": [hop]}


def _cake(part: float = 1.0) -> dict[str, Any]:
    """Return CAKE as a shaper, which knows the rate as it does where people use it."""
    return {"kind": "cake", "bandwidth": f"{part * RATES_KBPS[0]:g} kbit/s"}


_GATEWAY = {"name": "gateway", "at": "before", "rate": "100 Mbit/s", "queue": _cake(SHAPED)}

# Family, and what it is: changes of the upload, another group, changes of the scenario.
Remedy = tuple[str, dict[str, Any], dict[str, Any] | None, dict[str, Any]]
NONE, HOSTS_PADDING, HOSTS_CONTROL, HOP, MODEM = (
    "nothing",
    "L3: padding",
    "L3: another control",
    "L2: one hop before",
    "L1: at the modem",
)
REMEDIES: dict[str, Remedy] = {
    NOTHING: (NONE, {}, None, {}),
    "125 packets/s": (HOSTS_PADDING, {}, padding(125), {}),
    "250 packets/s": (HOSTS_PADDING, {}, padding(UDP), {}),
    "bursts": (HOSTS_PADDING, {}, padding(UDP, burst=100, every="1 s"), {}),
    ADAPTIVE: (HOSTS_PADDING, {}, _adaptive(), {}),
    "Vegas": (HOSTS_CONTROL, _linux("vegas"), None, {}),
    "BBR": (HOSTS_CONTROL, _linux("bbr"), None, {}),
    "BBRv3": (HOSTS_CONTROL, _linux("bbr3"), None, {}),
    "LEDBAT": (HOSTS_CONTROL, _linux("ledbat"), None, {}),
    "LEDBAT++": (HOSTS_CONTROL, _linux("ledbatpp"), None, {}),
    "shaper, FQ-CoDel": (HOP, {}, None, _shaper("fq_codel")),
    "shaper, CAKE": (HOP, {}, None, {"hop": [_GATEWAY]}),
    "FQ-CoDel": (MODEM, {}, None, {"bottleneck.queue": "fq_codel"}),
    "CAKE": (MODEM, {}, None, {"bottleneck.queue": _cake()}),
    "20 packets": (MODEM, {}, None, {"bottleneck.queue": tail(20)}),
    "5000 B": (MODEM, {}, None, {"bottleneck.queue": {"kind": "droptail", "limit": "5000 B"}}),
}
# Where a name would cover another, in points from its place.
_BESIDE: dict[tuple[str, str], tuple[float, float]] = {
    (ALONE, "FQ-CoDel"): (5, -8),
    (ALONE, "Vegas"): (-24, 3),
    (ALONE, "BBRv3"): (-26, -8),
    (ALONE, "5000 B"): (5, -6),
    (BOTH, "BBR"): (-20, -8),
    (BOTH, "BBRv3"): (-28, 3),
    (BOTH, "bursts"): (-28, -2),
    (BOTH, "250 packets/s"): (5, -2),
    (BOTH, "125 packets/s"): (5, 4),
    (BOTH, "adaptive padding"): (6, -7),
    (BOTH, "LEDBAT"): (-32, -4),
    (BOTH, "FQ-CoDel"): (-12, -11),
    (BOTH, "CAKE"): (-26, 2),
    (BOTH, "shaper, CAKE"): (6, 4),
    (BOTH, "LEDBAT++"): (-14, -11),
}
FAMILIES = (NONE, HOSTS_PADDING, HOSTS_CONTROL, HOP, MODEM)
# Said before the runs: FQ-CoDel and CAKE have less delay than any padding for no more lost goodput.
_BEST = ("FQ-CoDel", "CAKE")
_PADDINGS = ("125 packets/s", "250 packets/s", "bursts", ADAPTIVE)


def _line() -> dict[str, Any]:
    return base(RATES_KBPS, (PACKETS, DOWN_PACKETS), host(UPLOAD), duration="650 s", warmup="150 s")


def _ping() -> dict[str, Any]:
    """Return a packet of 64 bytes now and then, which tells what one of somebody else waits on the way."""
    traffic = {"kind": "voip", "frame": "120 ms", "payload": "24 B", "talk": "150 ms", "pause": "700 ms"}
    return {"name": PING, "rtt": ms(RTT_MS), "traffic": traffic}


def _groups(load: str, upload: Mapping[str, Any], other: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    groups = [host(UPLOAD, **upload), _ping()]
    if load == BOTH:
        groups.append(host(DOWNLOAD, **TODAY, direction="reverse"))
    return groups + ([dict(other)] if other else [])


def remedies(lab: Lab) -> Findings:
    """Return delay and lost throughput of every remedy."""
    cases: dict[Key, Mapping[str, Any]] = {
        (load, name): {"group": _groups(load, TODAY | upload, other)} | changes
        for load in LOADS
        for name, (_, upload, other, changes) in REMEDIES.items()
    }
    results = measure(lab, "remedies", _line(), cases, seeds=SEEDS)
    found = Findings()
    points = {key: (_delay(results, key), _lost(results, key)) for key in cases}
    rows = []
    for load, name in cases:
        delay, lost = points[load, name]
        up = results.number((load, name), GOODPUT, UPLOAD)
        down = results.number((load, name), GOODPUT, DOWNLOAD).mean if load == BOTH else None
        rows.append((load, REMEDIES[str(name)][0], name, delay.mean, delay.sd, 100 * lost, up.mean, down))
    columns = ("load", "level", "remedy", "delay_ms", "sd_delay", "lost_percent", "upload_mbps", "download_mbps")
    found.tables.append(
        Table(
            "remedies",
            "Delay of a thin stream, and what goodput is lost of what the links could carry",
            columns,
            tuple(rows),
        )
    )

    def draw(index: int, axes: Axes) -> None:
        load = LOADS[index]
        for position, level in enumerate(FAMILIES):
            names = [name for name, remedy in REMEDIES.items() if remedy[0] == level]
            axes.plot(
                [100 * points[load, name][1] for name in names],
                [points[load, name][0].mean for name in names],
                "osD^v"[position],
                markersize=5,
                label=level,
                **line(position),
            )
        for name in REMEDIES:
            delay, lost = points[load, name]
            axes.annotate(
                name,
                (100 * lost, delay.mean),
                _BESIDE.get((load, name), (5, 3)),
                textcoords="offset points",
                fontsize=6,
            )
        axes.set_yscale("log")
        axes.margins(x=0.22, y=0.08)
        axes.axvline(0, color="#999999", linewidth=0.6, zorder=0)
        axes.set_xlabel(("goodput lost, of the uplink [%]", "goodput lost, mean of both ways [%]")[index])
        axes.set_ylabel("mean delay of a thin stream, less the path's [ms]")

    found.show(
        "remedies",
        panels(LOADS, draw, height_in=5.0),
        f"Every remedy: delay of a thin stream on the way up against the goodput that is lost; CUBIC of today, "
        f"{RATES_KBPS[0]:g} kbit/s, {PACKETS} packets",
    )
    found.checks = _verdicts(points)
    plain, padded = points[ALONE, NOTHING], points[ALONE, "250 packets/s"]
    queue = points[ALONE, "FQ-CoDel"]
    found.verdict = (
        f"Beside a CUBIC upload of today a thin stream waits {plain[0].mean:.0f} ms; with {UDP} packets/s "
        f"{padded[0].mean:.0f} ms for "
        f"{100 * padded[1]:.0f} % of the link, with FQ-CoDel at the modem {queue[0].mean:.0f} ms for "
        f"{100 * queue[1]:.0f} %."
    )
    found.text = (
        "Where the queue can be changed nothing else is worth its price; a shaper one hop before costs what it leaves "
        "of the line's rate, "
        "which somebody must know. At the host a control that keeps its own queue short costs least while the upload "
        "is alone, but binds only hosts "
        "that use it; and beside a download Vegas and LEDBAT++, which go by the round-trip time, take the download's "
        "queue for their own and give "
        "up the uplink. LEDBAT, which goes by the one-way delay, does not. Padding is for those who can change "
        "neither the modem nor the other hosts."
    )
    return found


def _delay(results: Results, key: Key) -> Number:
    """Return what a packet of the thin stream waits on the way up: its one-way delay less the path's."""
    number = results.number(key, DELAY, PING)
    return Number(number.mean - RTT_MS / 2, number.sd, number.runs)


def _lost(results: Results, key: Key) -> float:
    """Return the part of what the links could carry that no flow got, of the uplink alone or the mean of both ways."""
    flows = ((UPLOAD, RATES_KBPS[0]), (DOWNLOAD, RATES_KBPS[1]))[: 1 + (key[0] == BOTH)]
    parts = [1e3 * results.number(key, GOODPUT, flow).mean / (_PAYLOAD * kbps) for flow, kbps in flows]
    return 1 - sum(parts) / len(parts)


def _bound() -> float:
    """Return by how much the highest rate of adaptive padding divides the delay (equation 5)."""
    return equations.alpha(equations.upload_rate(RATES_KBPS[0] * 1e3, 1500), MOST)


def _verdicts(points: Mapping[Key, tuple[Number, float]]) -> list[Check]:
    checks = []
    for load in LOADS:
        better = {
            (best, one): points[load, one][0].surely_above(points[load, best][0])
            and points[load, best][1] <= points[load, one][1]
            for best in _BEST
            for one in _PADDINGS
        }
        worse = ", ".join(f"{best} against {one}" for (best, one), wins in better.items() if not wins)
        checks.append(
            check(
                f"{load}: FQ-CoDel and CAKE at the modem have less delay than padding, and lose no more goodput",
                f"in all {len(better)} comparisons",
                f"in {sum(better.values())}",
                agrees=all(better.values()),
                why=f"Not in: {worse}. "
                "A full packet takes 15 ms here, three times CoDel's target, so that one "
                "flow alone is told to slow down while "
                "hardly anything waits.",
            )
        )
        adapted = points[load, ADAPTIVE]
        checks.append(
            check(
                f"{load}: adaptive padding keeps a thin stream's mean delay below its target",
                f"{TARGET_MS} ms",
                f"{adapted[0].text(0)} ms",
                agrees=adapted[0].interval()[1] <= TARGET_MS,
                why=f"It may send {MOST} packets/s at most, which by equation 5 "
                f"leave {points[load, NOTHING][0].mean / _bound():.0f} ms of what "
                "waits without padding; its probes also wait in the queue down, which padding does not shorten.",
            )
        )
        checks.append(
            shown(
                f"{load}: delay and goodput lost, by delay",
                "-",
                "; ".join(
                    f"{name} {points[load, name][0].mean:.0f} ms {100 * points[load, name][1]:.0f} %"
                    for name in sorted(REMEDIES, key=lambda name: points[load, name][0].mean)
                ),
            )
        )
    return checks


# The flows of today, and the paper's, beside which the paper's padding is tried.
FLOWS: dict[str, dict[str, Any]] = {
    "NewReno of the paper": {},
    "CUBIC of the paper": {"control": CONTROLS["CUBIC"]},
    "CUBIC of today": TODAY,
    "BBR": _linux("bbr"),
    "BBRv3": _linux("bbr3"),
    "LEDBAT": _linux("ledbat"),
    "LEDBAT++": _linux("ledbatpp"),
    "Vegas": _linux("vegas"),
}
_LOSS_BASED = tuple(FLOWS)[:3]
_DELAY_BASED = ("LEDBAT++", "Vegas")
_WAYS = {
    "no UDP": None,
    "250 packets/s": padding(UDP),
    "bursts": padding(UDP, burst=100, every="1 s"),
    ADAPTIVE: _adaptive(),
}
_HALVED = 2.0


def today(lab: Lab) -> Findings:
    """Return what padding does beside uploads by other controls."""
    cases: dict[Key, Mapping[str, Any]] = {
        (load, flow, way): {"group": _groups(load, upload, other)}
        for load in LOADS
        for flow, upload in FLOWS.items()
        for way, other in _WAYS.items()
    }
    results = measure(lab, "today", _line(), cases, seeds=SEEDS)
    found = Findings()
    rows = []
    for key in cases:
        delay, up = _delay(results, key), results.number(key, GOODPUT, UPLOAD)
        down = results.number(key, GOODPUT, DOWNLOAD).mean if key[0] == BOTH else None
        rows.append((*key, delay.mean, delay.sd, up.mean, up.sd, down))
    columns = ("load", "upload", "padding", "delay_ms", "sd_delay", "upload_mbps", "sd_upload", "download_mbps")
    found.tables.append(Table("today", "Padding beside every control", columns, tuple(rows)))

    def draw(index: int, axes: Axes) -> None:
        for position, way in enumerate(_WAYS):
            numbers = [_delay(results, (LOADS[index], flow, way)) for flow in FLOWS]
            places = [at + 0.2 * (position - 1.5) for at in range(len(FLOWS))]
            axes.bar(
                places,
                [number.mean for number in numbers],
                0.18,
                yerr=[number.sd for number in numbers],
                error_kw={"elinewidth": 0.7},
                label=way,
                **line(position),
            )
        axes.set_xticks(range(len(FLOWS)), list(FLOWS), rotation=40, ha="right")
        axes.set_ylabel("mean delay of a thin stream,\nless the path's [ms]")
        axes.set_yscale("log")

    found.show("today", panels(LOADS, draw, height_in=3.7, share=True), "Padding beside uploads by other controls")
    before, after = (
        {flow: _delay(results, (ALONE, flow, way)) for flow in FLOWS} for way in ("no UDP", "250 packets/s")
    )
    found.checks = [
        check(
            f"{UDP} packets/s more than halve the delay beside every loss-based upload",
            "more than 2 times",
            ", ".join(f"{flow} {before[flow].mean / after[flow].mean:.1f}" for flow in _LOSS_BASED),
            agrees=all(before[flow].interval()[0] > _HALVED * after[flow].interval()[1] for flow in _LOSS_BASED),
        ),
        check(
            "they do not beside controls that keep a queue shorter than the buffer",
            "less than 2 times",
            ", ".join(f"{flow} {before[flow].mean / after[flow].mean:.1f}" for flow in _DELAY_BASED),
            agrees=all(before[flow].mean < _HALVED * after[flow].mean for flow in _DELAY_BASED),
        ),
        shown(
            "delay without and with padding",
            "-",
            "; ".join(f"{flow} {before[flow].mean:.0f} to {after[flow].mean:.0f} ms" for flow in FLOWS),
        ),
    ]
    found.verdict = (
        f"{UDP} packets/s divide the delay beside today's CUBIC by "
        f"{before['CUBIC of today'].mean / after['CUBIC of today'].mean:.1f} "
        f"({before['CUBIC of today'].mean:.0f} to {after['CUBIC of today'].mean:.0f} ms), as beside the paper's "
        "NewReno "
        f"({before['NewReno of the paper'].mean / after['NewReno of the paper'].mean:.1f}). Uploads by LEDBAT++ "
        f"({before['LEDBAT++'].mean:.0f} ms) and Vegas ({before['Vegas'].mean:.0f} ms) need none."
    )
    return found


_SETTING = (
    f"{RATES_KBPS[0]:g} kbit/s up, {RATES_KBPS[1] / 1e3:g} Mbit/s down, {PACKETS} packets either way, "
    f"{RTT_MS:g} ms; {SEEDS} runs, measured from 150 to 650 s"
)
ITEMS = (
    Item(
        "today",
        "Not asked by the paper: other controls, today's defaults, adaptive padding",
        f"one upload, alone or beside a CUBIC download; Linux's presets, 10 segments to start; {_SETTING}",
        today,
    ),
    Item(
        "remedies",
        "Not asked by the paper: padding against every other remedy",
        "one CUBIC upload, alone or beside a CUBIC download; delay is that of about two small packets a second; a "
        f"shaper has {100 * SHAPED:g} % of "
        f"the rate; {_SETTING}",
        remedies,
    ),
)
