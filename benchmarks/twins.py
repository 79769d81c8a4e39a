"""How true is a line that was read from a capture? Written to docs/validation/twins.md.

    python -m benchmarks.twins
    python -m benchmarks.twins --calibrate      # on the other half: by how much intervals have to be widened

Lines are drawn from the population (`sojourn list lines`); half of them, those of odd places, were never looked at
while `sojourn import` was written. On each, one upload or download is simulated and captured at the bottleneck; what is
imported from the capture is set beside the line, and what `sojourn whatif` says beside what the line itself would do.
"""

import argparse
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kstest

from benchmarks.common import load, paragraph, save, say, table, write_page
from sojourn import InputError, Scenario, scenario
from sojourn.imported import read
from sojourn.imported.twins import DISTANCES, RATE, RECORDED, fit, nearest, scenario_of
from sojourn.lines import chosen
from sojourn.report import NO_VALUE
from sojourn.whatif import AS_IT_IS, REMEDIES, WIDENING, what_if, widened
from sojourn.worlds.linux.plan import express

NAME = "twins"
CALIBRATION = "twins-calibration"
PAGE = "validation/twins"
RTT = "20 ms"
DURATION_S = 20
MOST_MBPS = 120.0
FULL_BYTES, UDP_BYTES = 1500, 28
RATE_WITHIN, RTT_WITHIN_MS, BUFFER_WITHIN, DELAY_WITHIN = 0.05, 2.0, 0.15, 0.20
DEVELOPING, HELD_OUT = 0, 1
COUNTS = {DEVELOPING: 34, HELD_OUT: 18}
"""Lines of a sample of the population that are taken for each half."""
REMEDY_NAMES = tuple(one.name for one in REMEDIES)
VARYING = {"fixed": 14, "leo": 8}
"""Technologies whose lines have no constant rate, and how many of each are taken, those of both halves together."""
_PARTS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Into which the part of lines is divided that fit worse."""
COMPARED = (AS_IT_IS, "cake at 90 %")
DELAY = "voip_delay_ms_p99.call"
HELD = 0.9
KINDS = ("voip_delay_ms_p99", "fct_ms_p99", "page_ms_mean", "goodput_mbps")


@dataclass(frozen=True)
class Line:
    """A line of the population in one direction, and what is true of it."""

    name: str
    way: str
    scenario: Scenario
    rate_mbps: float
    """As full IP packets; the mean where it varies."""
    wire: float
    """By which part more the line carries than full IP packets: its framing."""
    rtt_ms: float
    buffer_ms: float


def _tables(name: str, way: str, groups: Sequence[dict[str, Any]], duration_s: int = DURATION_S) -> dict[str, Any]:
    return {
        "name": f"{name}-{way}",
        "duration": f"{duration_s} s",
        "access": {"line": name, "bottleneck": way, "gateway": 0},
        "group": list(groups),
    }


def lines(half: int) -> Iterator[Line]:
    """Yield lines of one half, in both directions, that are not too fast for a capture of seconds."""
    held = {one["name"] for one in chosen(f"home:{2 * COUNTS[HELD_OUT]}")[HELD_OUT::2]} if half != HELD_OUT else {}
    sample = chosen(f"home:{2 * COUNTS[half]}")[half::2]
    home = [one for one in sample if one["technology"] not in VARYING and one["name"] not in held]
    varying = [one for name, many in VARYING.items() for one in chosen(f"{name}:{many}")[half::2]]
    for one in (*home, *varying):
        for way in ("up", "down"):
            name = one["name"]
            try:
                base = scenario(_tables(name, way, [_bulk(way)]))
            except InputError:
                continue
            tables = base.to_dict()
            if "station" in tables or "rate" not in tables["bottleneck"]:
                continue
            # A policer lets a burst pass in the first second.
            first, deepest = _flooded(name, way, 4, begin=1)
            if first > MOST_MBPS:
                continue
            rate = _flooded(name, way, DURATION_S)[0] if "change" in tables else first
            ping = {"name": "ping", "traffic": {"kind": "ping", "every": "100 ms"}, "rtt": RTT}
            idle = scenario(_tables(name, way, [ping], 3)).run(seed=1).summary
            rtt = idle["rtt_ms_p50.ping"]["mean"] or 0.0
            wire = express.rate_bps(tables["bottleneck"]["rate"]) / 1e6 / first
            # A buffer holds bytes; where the rate varies it is told in ms of the mean rate.
            yield Line(name, way, base, rate, wire, rtt, deepest * first / rate)


def _flooded(name: str, way: str, seconds: int, begin: int = 0) -> tuple[float, float]:
    """Return the rate that a line carries from `begin` on, as full IP packets, and the longest wait in ms.

    Under a stream that is too fast for it.
    """
    flood = {"name": "flood", "traffic": {"kind": "cbr", "rate": "130 Mbit/s", "packet": "1500 B"}, "rtt": RTT}
    full = scenario({**_tables(name, way, [flood], seconds), "warmup": f"{begin} s"}).run(seed=1).summary
    rate = (full["goodput_mbps.flood"]["mean"] or 0.0) * FULL_BYTES / (FULL_BYTES - UDP_BYTES)
    return rate, full["bottleneck_queue_ms_max"]["mean"] or 0.0


def _bulk(way: str) -> dict[str, Any]:
    name = "upload" if way == "up" else "download"
    return {"name": name, "control": "cubic", "transport": "linux", "rtt": RTT}


def _on_wire(line: Line, rates_mbps: Mapping[str, float]) -> dict[str, float]:
    """Return the rates that somebody enters who counts IP packets, on a line whose framing takes its part."""
    return {"bottleneck": rates_mbps["bottleneck"] * line.wire}


def judge(line: Line) -> dict[str, Any]:
    """Capture a transfer on a line, import it, and set both beside each other."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "run")
        line.scenario.run(seed=1, packets=True).save(place, pcap=True)
        found, compared = nearest(read(str(place / "bottleneck.pcapng"), way=line.way))
        own = scenario_of(found, Path(folder))
        told = what_if(own)
    (way,) = found.ways.values()
    # What a line whose rate varies does after it was captured, no capture tells.
    same = {"duration": f"{DURATION_S} s", "warmup": "5 s"} if way.trace is not None else {}
    true = what_if(line.scenario.with_(same), rates_mbps=_on_wire(line, told.rates_mbps))
    link = line.scenario.to_dict()["bottleneck"]
    return {
        "line": f"{line.name} {line.way}",
        "is_recorded": way.trace is not None,
        "distance": compared.distance if compared is not None else None,
        "rate": told.rates_mbps["bottleneck"],
        "true_rate": line.rate_mbps,
        "rtt": None if found.rtt_ms is None else found.rtt_ms.value,
        "true_rtt": line.rtt_ms,
        "buffer": way.buffer_ms.value if way.queue is None and way.buffer_ms is not None else None,
        "true_buffer": line.buffer_ms,
        "queue": own.to_dict()["bottleneck"]["queue"]["kind"],
        "true_queue": link["queue"]["kind"],
        "values": {
            one.name: {
                metric: [true_value[0], *stated]
                for metric in told.values[one.name]
                if (stated := told.twins(one.name, metric)) and (true_value := true.twins(one.name, metric))
            }
            for one in told.remedies
        },
    }


def measure(half: int, known: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Judge all lines of a half, one after the other, but those that are known."""
    rows = []
    for line in lines(half):
        name = f"{line.name} {line.way}"
        say(name)
        if name in known:
            rows.append(known[name])
            continue
        try:
            rows.append(judge(line))
        except InputError as error:
            say(f"  left out: {error}")
    return rows


def calibrate(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return by how much intervals have to be widened to hold the true value on nine of ten of some lines.

    As a part of the median, by remedy and metric: the split conformal quantile (Vovk et al. 2005;
    Romano et al. 2019 for intervals) of how far the true value lies outside the interval.
    """
    found: dict[str, dict[str, float]] = {}
    for remedy in REMEDIES:
        for metric in KINDS:
            outside = sorted(
                max(low - true, true - high) / middle
                for one in rows
                for key, (true, middle, low, high) in one["values"][remedy.name].items()
                if key.partition(".")[0] == metric and middle > 0
            )
            place = min(math.ceil((len(outside) + 1) * HELD), len(outside)) - 1
            found.setdefault(remedy.name, {})[metric] = max(0.0, outside[place])
    return found


def by_kind(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the lines by what `sojourn import` made of them: one with a rate, or a recorded link."""
    return {kind: [one for one in rows if one["is_recorded"] == (kind == RECORDED)] for kind in (RATE, RECORDED)}


def is_right(one: Mapping[str, Any]) -> bool:
    """Return whether the queue of an imported line is the line's own."""
    return one["distance"] is not None and one["queue"] == one["true_queue"]


def write_calibration(rows: Sequence[Mapping[str, Any]]) -> None:
    """Write what `sojourn whatif` widens its intervals by, and how far right lines are from their twins."""
    kinds = by_kind(rows)
    many = " and ".join(f"{len(some)} with a {kind}" for kind, some in kinds.items())
    widening = [
        "# By how much the interval of a line's twins is widened at either end, as a part of its median, so that nine",
        "# of ten lines have their own value in it: what twins of an imported line do not share with the line, such as",
        f"# the way of its delay. Measured on directions of lines, {many} link:",
        "# python -m benchmarks.twins --calibrate. The lines of docs/validation/twins.md are others.",
    ]
    distances = [
        "# How far lines of the population are from their twins after `sojourn import`, where the queue is the right",
        "# one: python -m benchmarks.twins --calibrate. The lines of docs/validation/twins.md are others.",
        "",
    ]
    for kind, some in kinds.items():
        for name, values in calibrate(some).items():
            told = (f"{metric} = {value:.3f}" for metric, value in values.items())
            widening += ["", f'[{kind}."{name}"]', *told]
        found = sorted(one["distance"] for one in some if is_right(one))
        distances += [f"{kind} = [", *(f"    {one:.4f}," for one in found), "]"]
    WIDENING.write_text("\n".join(widening) + "\n", encoding="utf-8")
    DISTANCES.write_text("\n".join(distances) + "\n", encoding="utf-8")


def render(found: Mapping[str, Any]) -> list[str]:
    """Return the parts of the page."""
    rows = found["rows"]
    kinds = by_kind(rows)
    return [
        "# How true is a line that was imported?",
        "<!-- Written by `python -m benchmarks.twins`. Do not edit by hand. -->",
        _summary(kinds[RATE], "On lines that were imported with a rate"),
        paragraph(
            f"""{_summary(kinds[RECORDED], "On lines that were imported as a recorded link")} Those are lines whose rate
            varies: mobile ones, and satellites in low orbits."""
        ),
        "## Does the fit mean what it says?",
        paragraph(
            """`sojourn import` says how many right lines are further from their twins than this one. On other lines
            whose queue was found, that part must be as likely to be high as low. Where another queue was taken, it
            should be small."""
        ),
        table(
            ["lines", *(f"{100 * low:.0f} to {100 * high:.0f} %>" for low, high in pairwise(_PARTS)), "uniform: p>"],
            [_fits(name, some) for name, some in _judged(rows)],
        ),
        paragraph(
            """Lines by the part of right lines that are further off; p is that of a Kolmogorov-Smirnov test against
            the uniform distribution."""
        ),
        "## Line by line",
        table(
            ["line", "rate>", "RTT>", "buffer>", "queue", *(f"call, {name}>" for name in COMPARED)],
            [[_cell(one, key) for key in ("line", "rate", "rtt", "buffer", "queue", *COMPARED)] for one in rows],
        ),
        paragraph(
            """A value is imported / true: rates in Mbit/s of full IP packets, times in ms. A call is the 99th
            percentile of its one-way delay, in brackets the interval that `sojourn whatif` states."""
        ),
        "## How was it measured?",
        paragraph(
            f"""{len(rows)} directions of lines of the population, and of its mobile and satellite lines: systematic
            samples of which every second one was taken; none of them was looked at while `sojourn import` was written.
            The other half was, and showed faults that are mended: downloads taken for uploads, and buffers taken as too
            short. That the fastest moment of a line whose rate varies was taken for its rate, both halves showed. That
            a policer was taken for a fast line, this half did (fibre-100-20); how policers are read was found on
            others, drawn at random, and these two rows are no test of it."""
        ),
        paragraph(
            f"""On each line, one CUBIC transfer of {found["seconds"]} s is captured at the bottleneck. The true rate
            and buffer are those that a stream of UDP meets that is faster than the line, the true RTT a ping's on the
            idle line. Where the rate varies, the mean counts, and delays are
            those of the time that was captured. A call's true delay is that of the line itself with the
            household of `whatif`, and with a shaper of the rate that the import would set.
            Bounds were chosen before: the rate within {100 * RATE_WITHIN:.0f} %, the RTT within {RTT_WITHIN_MS:g} ms,
            the buffer within {100 * BUFFER_WITHIN:.0f} % (of FIFOs), a call's delay within
            {100 * DELAY_WITHIN:.0f} %."""
        ),
        "## Do the intervals hold?",
        *(part for kind, some in kinds.items() for part in _intervals(kind, some)),
        paragraph(
            f"""What is not known of a line's rate, RTT and buffer explains little of how far imported lines are off:
            that alone holds {_part(_all_held(rows, unwidened))}. A call's one-way delay is taken as half of the RTT,
            and lines are not symmetrical (interleaving comes down, a cable modem asks for its grants up); other traffic
            of a line is not in its twins. So each interval is widened by what the lines of the other half were off by
            (`python -m benchmarks.twins --calibrate`, a split conformal quantile), and these lines judge that. It was
            measured for captures alone: speed tests and settings of routers leave wider ranges open, and get the same.
            """
        ),
    ]


def _intervals(kind: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    words = {RATE: "with a rate", RECORDED: "as a recorded link"}[kind]
    return [
        table(
            [f"imported {words}", *(f"{metric}>" for metric in KINDS)],
            [[name, *(_part(_held(rows, name, metric)) for metric in KINDS)] for name in REMEDY_NAMES],
        ),
        paragraph(
            f"""Lines that were imported {words} and whose own value lies in the interval that is stated, which shall
            hold it on nine of ten. All together: {_part(_all_held(rows))}."""
        ),
    ]


def _judged(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Return the lines whose queue was found, by kind, and those for which another one was taken."""
    right = {kind: [one for one in some if is_right(one)] for kind, some in by_kind(rows).items()}
    wrong = [one for one in rows if not is_right(one) and one["distance"] is not None]
    return [("with a rate", right[RATE]), ("recorded link", right[RECORDED]), ("another queue taken", wrong)]


def _fits(name: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    kinds = [RECORDED if one["is_recorded"] else RATE for one in rows]
    found = [
        told.further for one, kind in zip(rows, kinds, strict=True) if (told := fit(one["distance"], kind)) is not None
    ]
    counts, _ = np.histogram(found, _PARTS)
    likely = f"{kstest(found, 'uniform').pvalue:.2f}" if found else NO_VALUE
    return [name, *(str(one) for one in counts), likely]


Interval = tuple[float, float, float]
Stated = Callable[[Mapping[str, Any], str, str, Interval], Interval]


def unwidened(one: Mapping[str, Any], remedy: str, metric: str, twins: Interval) -> Interval:
    """Return the interval of the twins themselves."""
    del one, remedy, metric
    return twins


def stated_for(one: Mapping[str, Any], remedy: str, metric: str, twins: Interval) -> Interval:
    """Return the interval that `sojourn whatif` states."""
    return widened(remedy, metric, twins, is_recorded=one["is_recorded"])


def _held(
    rows: Sequence[Mapping[str, Any]],
    remedy: str,
    metric: str,
    stated: Stated = stated_for,
) -> list[bool]:
    """Return for each line whether its own value of a metric is in the interval."""
    found = []
    for one in rows:
        for key, (true, *twins) in one["values"][remedy].items():
            if key.partition(".")[0] == metric:
                _, low, high = stated(one, remedy, key, (twins[0], twins[1], twins[2]))
                found.append(low <= true <= high)
    return found


def _all_held(rows: Sequence[Mapping[str, Any]], stated: Stated = stated_for) -> list[bool]:
    return [one for name in REMEDY_NAMES for metric in KINDS for one in _held(rows, name, metric, stated)]


def _part(holds: Sequence[bool]) -> str:
    return f"{sum(holds)} of {len(holds)}"


def _summary(rows: Sequence[Mapping[str, Any]], where: str) -> str:
    rate = [abs(one["rate"] / one["true_rate"] - 1) <= RATE_WITHIN for one in rows]
    rtt = [one["rtt"] is not None and abs(one["rtt"] - one["true_rtt"]) <= RTT_WITHIN_MS for one in rows]
    fifos = [one for one in rows if one["true_queue"] == "droptail"]
    buffer = [
        one["buffer"] is not None and abs(one["buffer"] / max(one["true_buffer"], 0.1) - 1) <= BUFFER_WITHIN
        for one in fifos
    ]
    delays = {name: [one["values"][name][DELAY] for one in rows] for name in COMPARED}
    near = {
        name: _part([abs(middle / true - 1) <= DELAY_WITHIN for true, middle, _, _ in some])
        for name, some in delays.items()
    }
    covered = _part([one for name in COMPARED for one in _held(rows, name, DELAY.partition(".")[0])])
    first = f"the rate is within bounds on {_part(rate)}, the RTT on {_part(rtt)}, a FIFO's buffer on {_part(buffer)}"
    second = ", ".join(f"{held} ({name})" for name, held in near.items())
    return f"{where} {first}. A call's delay is within bounds on {second}; the stated intervals hold {covered}."


def _cell(one: Mapping[str, Any], key: str) -> str:
    if key == "line":
        return str(one["line"])
    if key == "queue":
        return f"{one['queue']} / {one['true_queue']}"
    if key in COMPARED:
        true, *twins = one["values"][key][DELAY]
        middle, low, high = stated_for(one, key, DELAY, (twins[0], twins[1], twins[2]))
        return f"{middle:.3g} ({low:.3g} to {high:.3g}) / {true:.3g}"
    told = "–" if one[key] is None else f"{one[key]:.3g}"  # noqa: RUF001 (an en dash, as printed tables have it)
    return f"{told} / {one[f'true_{key}']:.3g}"


def main() -> None:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.twins", description="Imported lines beside true ones.")
    parser.add_argument("--render", action="store_true", help="only write the page, from the stored numbers")
    parser.add_argument("--calibrate", action="store_true", help="measure the other half; write what intervals need")
    parser.add_argument("--again", metavar="TEXT", help="measure only lines with this in their name; keep the others")
    asked = parser.parse_args()
    name, half = (CALIBRATION, DEVELOPING) if asked.calibrate else (NAME, HELD_OUT)
    if not asked.render:
        kept = load(name)["rows"] if asked.again is not None else []
        known = {one["line"]: one for one in kept if asked.again not in one["line"]}
        save(name, {"seconds": DURATION_S, "rows": measure(half, known)})
    if asked.calibrate:
        write_calibration(load(name)["rows"])
        return
    write_page(PAGE, "\n\n".join(render(load(NAME))))


if __name__ == "__main__":
    main()
