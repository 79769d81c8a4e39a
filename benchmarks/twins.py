"""How true is a line that was read from a capture? Written to docs/validation/twins.md.

    python -m benchmarks.twins --lines 40
    python -m benchmarks.twins --lines 40 --calibrate   # on the other half: by how much intervals have to be widened

Lines are drawn from the population (`sojourn list lines`); half of them, those of odd places, were never looked at
while `sojourn import` was written. On each, one upload or download is simulated and captured at the bottleneck; what is
imported from the capture is set beside the line, and what `sojourn whatif` says beside what the line itself would do.
"""

import argparse
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import load, paragraph, save, say, table, write_page
from sojourn import InputError, Scenario, scenario
from sojourn.imported import read
from sojourn.imported.twins import nearest
from sojourn.lines import chosen
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
REMEDY_NAMES = tuple(one.name for one in REMEDIES)
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
    """As full IP packets."""
    rtt_ms: float
    buffer_ms: float


def _tables(name: str, way: str, groups: Sequence[dict[str, Any]], duration_s: int = DURATION_S) -> dict[str, Any]:
    return {
        "name": f"{name}-{way}",
        "duration": f"{duration_s} s",
        "access": {"line": name, "bottleneck": way, "gateway": 0},
        "group": list(groups),
    }


def lines(count: int, half: int = HELD_OUT) -> Iterator[Line]:
    """Yield lines of one half, in both directions, that are not too fast for a capture of seconds."""
    for one in chosen(f"home:{2 * count}")[half::2]:
        for way in ("up", "down"):
            name = one["name"]
            try:
                base = scenario(_tables(name, way, [_bulk(way)]))
            except InputError:
                continue
            tables = base.to_dict()
            if "station" in tables or "rate" not in tables["bottleneck"]:
                continue
            flood = {"name": "flood", "traffic": {"kind": "cbr", "rate": "130 Mbit/s", "packet": "1500 B"}, "rtt": RTT}
            full = scenario(_tables(name, way, [flood], 3)).run(seed=1).summary
            rate = (full["goodput_mbps.flood"]["mean"] or 0.0) * FULL_BYTES / (FULL_BYTES - UDP_BYTES)
            if rate > MOST_MBPS:
                continue
            ping = {"name": "ping", "traffic": {"kind": "ping", "every": "100 ms"}, "rtt": RTT}
            idle = scenario(_tables(name, way, [ping], 3)).run(seed=1).summary
            rtt, deepest = idle["rtt_ms_p50.ping"]["mean"], full["bottleneck_queue_ms_max"]["mean"]
            yield Line(name, way, base, rate, rtt or 0.0, deepest or 0.0)


def _bulk(way: str) -> dict[str, Any]:
    name = "upload" if way == "up" else "download"
    return {"name": name, "control": "cubic", "transport": "linux", "rtt": RTT}


def _on_wire(line: Line, rates_mbps: Mapping[str, float]) -> dict[str, float]:
    """Return the rates that somebody enters who counts IP packets, on a line whose framing takes its part."""
    wire = express.rate_bps(line.scenario.to_dict()["bottleneck"]["rate"]) / 1e6
    return {"bottleneck": rates_mbps["bottleneck"] * wire / line.rate_mbps}


def judge(line: Line) -> dict[str, Any]:
    """Capture a transfer on a line, import it, and set both beside each other."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "run")
        line.scenario.run(seed=1, packets=True).save(place, pcap=True)
        found, _ = nearest(read(str(place / "bottleneck.pcapng"), way=line.way))
    (way,) = found.ways.values()
    own = scenario(found.tables())
    told = what_if(own)
    true = what_if(line.scenario, rates_mbps=_on_wire(line, told.rates_mbps))
    link = line.scenario.to_dict()["bottleneck"]
    return {
        "line": f"{line.name} {line.way}",
        "is_steady": "shaper" not in link and "policer" not in link and "change" not in line.scenario.to_dict(),
        "rate": way.rate_mbps.value if way.rate_mbps else None,
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


def measure(count: int, half: int = HELD_OUT) -> list[dict[str, Any]]:
    """Judge all lines of a half, one after the other."""
    rows = []
    for line in lines(count, half):
        say(f"{line.name} {line.way}")
        try:
            rows.append(judge(line))
        except InputError as error:
            say(f"  left out: {error}")
    return rows


def calibrate(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return by how much intervals have to be widened to hold the true value on nine of ten lines of a constant rate.

    As a part of the median, by remedy and metric: the split conformal quantile (Vovk et al. 2005;
    Romano et al. 2019 for intervals) of how far the true value lies outside the interval.
    """
    steady = [one for one in rows if one["is_steady"]]
    found: dict[str, dict[str, float]] = {}
    for remedy in REMEDIES:
        for metric in KINDS:
            outside = sorted(
                max(low - true, true - high) / middle
                for one in steady
                for key, (true, middle, low, high) in one["values"][remedy.name].items()
                if key.partition(".")[0] == metric and middle > 0
            )
            place = math.ceil((len(outside) + 1) * HELD) - 1
            found.setdefault(remedy.name, {})[metric] = max(0.0, outside[place])
    return found


def write_widening(found: Mapping[str, Mapping[str, float]], lines_used: int) -> None:
    """Write what `sojourn whatif` widens its intervals by."""
    text = [
        "# By how much the interval of a line's twins is widened at either end, as a part of its median, so that nine",
        "# of ten lines have their own value in it: what twins of an imported line do not share with the line, such as",
        f"# the way of its delay. Measured on {lines_used} directions of lines of a constant rate:",
        "# python -m benchmarks.twins --calibrate. The lines of docs/validation/twins.md are others.",
    ]
    for name, values in found.items():
        text += ["", f'["{name}"]', *(f"{metric} = {value:.3f}" for metric, value in values.items())]
    WIDENING.write_text("\n".join(text) + "\n", encoding="utf-8")


def render(found: Mapping[str, Any]) -> list[str]:
    """Return the parts of the page."""
    rows = found["rows"]
    steady, others = ([one for one in rows if one["is_steady"] == wanted] for wanted in (True, False))
    return [
        "# How true is a line that was imported?",
        "<!-- Written by `python -m benchmarks.twins`. Do not edit by hand. -->",
        _summary(steady, "On lines of a constant rate"),
        paragraph(
            f"""{_summary(rows, "On all lines")} Lines whose rate is not constant are mobile ones, and those whose
            carrier polices or shapes with bursts."""
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
            f"""{len(rows)} directions of lines of the population, a systematic sample of which every second one was
            taken; none of them was looked at while `sojourn import` was written. The other half was, and showed two
            faults that are mended: downloads taken for uploads, and buffers taken as too short."""
        ),
        paragraph(
            f"""On each line, one CUBIC transfer of {found["seconds"]} s is captured at the bottleneck. The true rate
            and buffer are those that a stream of UDP meets that is faster than the line, the true RTT a ping's on the
            idle line. A call's true delay is that of the line itself with the household of `whatif`, and with a shaper
            of the rate that the import would set.
            Bounds were chosen before: the rate within {100 * RATE_WITHIN:.0f} %, the RTT within {RTT_WITHIN_MS:g} ms,
            the buffer within {100 * BUFFER_WITHIN:.0f} % (of FIFOs), a call's delay within
            {100 * DELAY_WITHIN:.0f} %."""
        ),
        "## Do the intervals hold?",
        table(
            ["remedy", *(f"{metric}>" for metric in KINDS)],
            [[name, *(_part(_held(steady, name, metric)) for metric in KINDS)] for name in REMEDY_NAMES],
        ),
        paragraph(
            f"""Lines of a constant rate whose own value lies in the interval that is stated, which shall hold it on
            nine of ten. On lines whose rate is not constant, intervals hold {_part(_all_held(others))}."""
        ),
        paragraph(
            f"""What is not known of a line's rate, RTT and buffer explains little of how far imported lines are off:
            that alone holds {_part(_all_held(steady, unwidened))}. A call's one-way delay is taken as half of the RTT,
            and lines are not symmetrical (interleaving comes down, a cable modem asks for its grants up); other traffic
            of a line is not in its twins. So each interval is widened by what the lines of the other half were off by
            (`python -m benchmarks.twins --calibrate`, a split conformal quantile), and these lines judge that."""
        ),
    ]


Interval = tuple[float, float, float]
Stated = Callable[[str, str, Interval], Interval]


def unwidened(remedy: str, metric: str, twins: Interval) -> Interval:
    """Return the interval of the twins themselves."""
    del remedy, metric
    return twins


def _held(
    rows: Sequence[Mapping[str, Any]],
    remedy: str,
    metric: str,
    stated: Stated = widened,
) -> list[bool]:
    """Return for each line whether its own value of a metric is in the interval."""
    found = []
    for one in rows:
        for key, (true, *twins) in one["values"][remedy].items():
            if key.partition(".")[0] == metric:
                _, low, high = stated(remedy, key, (twins[0], twins[1], twins[2]))
                found.append(low <= true <= high)
    return found


def _all_held(rows: Sequence[Mapping[str, Any]], stated: Stated = widened) -> list[bool]:
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
        middle, low, high = widened(key, DELAY, (twins[0], twins[1], twins[2]))
        return f"{middle:.3g} ({low:.3g} to {high:.3g}) / {true:.3g}"
    told = "–" if one[key] is None else f"{one[key]:.3g}"  # noqa: RUF001 (an en dash, as printed tables have it)
    return f"{told} / {one[f'true_{key}']:.3g}"


def main() -> None:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.twins", description="Imported lines beside true ones.")
    parser.add_argument("--lines", type=int, default=24, help="lines, each in both directions")
    parser.add_argument("--render", action="store_true", help="only write the page, from the stored numbers")
    parser.add_argument("--calibrate", action="store_true", help="measure the other half; write what intervals need")
    asked = parser.parse_args()
    if asked.calibrate:
        if not asked.render:
            save(CALIBRATION, {"seconds": DURATION_S, "rows": measure(asked.lines, DEVELOPING)})
        rows = load(CALIBRATION)["rows"]
        write_widening(calibrate(rows), sum(one["is_steady"] for one in rows))
        return
    if not asked.render:
        save(NAME, {"seconds": DURATION_S, "rows": measure(asked.lines)})
    write_page(PAGE, "\n\n".join(render(load(NAME))))


if __name__ == "__main__":
    main()
