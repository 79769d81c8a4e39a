"""Table III and Figures 6 and 7: a download and an upload, in four ways, on two lines."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes

from sojourn.papers.braud.drawing import line, panels
from sojourn.papers.braud.world import (
    DOWNLOAD,
    FREEBSD,
    GOODPUT,
    QUEUE_MS,
    RTT,
    RTT_MS,
    SEEDS,
    UNDELAYED,
    UPLOAD,
    base,
    host,
    near,
    padding,
    ratio,
    tail,
)
from sojourn.papers.measures import Key, Results, check, measure, shown, span
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number

if TYPE_CHECKING:
    from collections.abc import Mapping

UDP = 250
BURST, EVERY = 100, "1 s"
LARGE, PADDED, BURSTS, RIGHT = "large buffer", "with UDP", "with UDP bursts", "right-sized buffer"
WAYS = (LARGE, PADDED, BURSTS, RIGHT)
# Who delays acknowledgements: both hosts, neither, or one of them. Transports of upload and download.
READINGS = {
    "delayed": (FREEBSD, FREEBSD),
    "every segment": (UNDELAYED, UNDELAYED),
    "the upload's alone delayed": (FREEBSD, UNDELAYED),
    "the download's alone delayed": (UNDELAYED, FREEBSD),
}
# Those that are checked number by number and drawn.
ACKS = tuple(READINGS)[:2]
# Said before the runs: "about" is a quarter of the value; bursts do about as well if within half of what UDP does.
ABOUT, AS_WELL = 0.25, 0.5
DIVIDED_BY = 2.5
TIMED = {"duration": "100 s", "warmup": "50 s"}


@dataclass(frozen=True)
class Line:
    """A line of Table III, and what the paper says of it."""

    figure: str
    rates_kbps: tuple[float, float]
    large: int
    right: int
    down_packets: int
    rtts_ms: tuple[float, float]
    """In the large buffer. The paper's two numbers are taken for upload and download; the lower is the download's."""


LINES = {
    "400 kbit/s": Line("Fig. 6", (400.0, 2400.0), 60, 10, 60, (605.0, 549.0)),
    "800 kbit/s": Line("Fig. 7", (800.0, 5000.0), 120, 20, 120, (600.0, 551.0)),
}
_PRINTED_DOWN = 12
# A download with less than this part of its link starves.
_STARVED = 0.2
_UP_PART, _DOWN_PART, _RIGHT_DOWN, _RIGHT_UP = 0.915, 0.40, 0.95, 0.55
_DELAYED = (
    "With delayed acknowledgements, FreeBSD's default, there are half as many small packets in the uplink's buffer; "
    "with every segment "
    "acknowledged, see below, it is closer to the paper."
)

_UNDELAYED = (
    "With delayed acknowledgements it agrees, where the large buffers' numbers then do not: see the line on whose are "
    "delayed."
)


def table3(lab: Lab) -> Findings:
    """Return round-trip times and both goodputs in every way."""
    cases: dict[Key, Mapping[str, Any]] = {}
    for name, one in LINES.items():
        for acks, transports in READINGS.items():
            for way in WAYS:
                cases[name, way, acks] = _told(case(one, way, one.down_packets), transports)
    fast = list(LINES)[-1]
    for way in WAYS:
        cases[fast, way, _AS_PRINTED] = case(LINES[fast], way, _PRINTED_DOWN)
    first = LINES[fast]
    results = measure(
        lab,
        "table3",
        base(first.rates_kbps, (first.large, first.down_packets), host(UPLOAD), **TIMED),
        cases,
        seeds=SEEDS,
    )
    found = Findings()
    metrics = ((RTT, UPLOAD), (RTT, DOWNLOAD), (QUEUE_MS, UPLOAD), (GOODPUT, UPLOAD), (GOODPUT, DOWNLOAD))
    rows = []
    for key in cases:
        numbers = [results.number(key, metric, group) for metric, group in metrics]
        rows.append((*key, *(part for number in numbers for part in (number.mean, number.sd))))
    names = ("upload_rtt_ms", "download_rtt_ms", "uplink_queue_ms", "upload_mbps", "download_mbps")
    columns = ("line", "way", "acknowledgements", *(column for name in names for column in (name, f"sd_{name}")))
    found.tables.append(Table("table3", "Every way on every line", columns, tuple(rows)))
    for name, one in LINES.items():
        figure = panels(("round-trip time", "goodput"), _drawing(results, name), height_in=3.2, columns=2)
        found.show(
            one.figure.replace(". ", "").lower(),
            figure,
            f"{one.figure}: {name}, delayed acknowledgements (full) and every segment acknowledged (pale); standard "
            "deviation over runs",
        )
        for acks in ACKS:
            found.checks += _checks(results, name, one, acks)
        found.checks.append(_by_reading(results, name, one))
    found.checks += _as_printed(results, fast)
    parts = [_rtt(results, name, LARGE, acks).text(0) for name in LINES for acks in ACKS]
    divided = [_divided(results, name, PADDED, acks).mean for name in LINES for acks in ACKS]
    found.verdict = (
        f"In the large buffers the upload's round-trip time is {', '.join(parts)} ms (400 and 800 kbit/s, each with "
        "delayed and undelayed "
        f"acknowledgements; paper: 605 and 600). {UDP} packets/s divide it by {min(divided):.1f} to "
        f"{max(divided):.1f}, and the download "
        "gets most of its link back."
    )
    found.text = (
        "The paper does not say whether acknowledgements were delayed, but says that it matters: with every segment "
        "acknowledged the numbers of the large buffers come close to the paper's, with FreeBSD's default they are "
        "higher. "
        f"Table III prints a downlink buffer of {_PRINTED_DOWN} packets for the fast line, which would hold 29 ms; "
        "the text says that 300 ms fit, so "
        "that 120 are meant."
    )
    return found


_AS_PRINTED = f"delayed, {_PRINTED_DOWN} packets down"


def case(one: Line, way: str, down_packets: int, **hosts: Any) -> dict[str, Any]:
    """Return the changes for a way on a line; `hosts` are keys of both flows."""
    groups = [
        host(UPLOAD, start={"uniform": ["20 s", "40 s"]}, **hosts),
        host(DOWNLOAD, direction="reverse", **hosts),
    ]
    if way == PADDED:
        groups.append(padding(UDP))
    if way == BURSTS:
        groups.append(padding(UDP, burst=BURST, every=EVERY))
    return {
        "bottleneck.rate": f"{one.rates_kbps[0]:g} kbit/s",
        "bottleneck.queue": tail(one.right if way == RIGHT else one.large),
        "reverse.rate": f"{one.rates_kbps[1]:g} kbit/s",
        "reverse.queue": tail(down_packets),
        "group": groups,
    }


def _told(changes: dict[str, Any], transports: tuple[Any, Any]) -> dict[str, Any]:
    """Return the changes of a case with a transport for the upload and one for the download."""
    of = dict(zip((UPLOAD, DOWNLOAD), transports, strict=True))
    groups = [group | ({"transport": of[group["name"]]} if group["name"] in of else {}) for group in changes["group"]]
    return changes | {"group": groups}


def _by_reading(results: Results, name: str, one: Line) -> Check:
    """Show how many of a line's numbers come out with each reading of who delays acknowledgements."""
    agreeing = {acks: [bool(check.agrees) for check in _numbers(results, name, one, acks)] for acks in READINGS}
    return shown(
        f"{name}: how many of the paper's numbers come out, by whose acknowledgements are delayed",
        f"{len(agreeing[ACKS[0]])}",
        "; ".join(f"{acks} {sum(found)}" for acks, found in agreeing.items()),
        "The paper says that it matters, not whose were; none is chosen here.",
    )


def _rtt(results: Results, line_: str, way: str, acks: str) -> Number:
    return results.number((line_, way, acks), RTT, UPLOAD)


def _divided(results: Results, line_: str, way: str, acks: str) -> Number:
    return ratio(_rtt(results, line_, LARGE, acks), _rtt(results, line_, way, acks))


def _part(results: Results, line_: str, way: str, acks: str, group: str) -> Number:
    """Return goodput as a part of the link's rate."""
    kbps = LINES[line_].rates_kbps[group == DOWNLOAD]
    number = results.number((line_, way, acks), GOODPUT, group)
    return Number(1e3 * number.mean / kbps, 1e3 * number.sd / kbps, number.runs)


def _numbers(results: Results, name: str, one: Line, acks: str) -> list[Check]:
    """Return the paper's numbers of a line beside those measured."""
    where = f"{name}, {'delayed' if acks == 'delayed' else 'undelayed'}"
    why = _DELAYED if acks == "delayed" else _UNDELAYED

    def part(way: str, group: str) -> Number:
        return _part(results, name, way, acks, group)

    return [
        *(
            near(
                f"{where}: {group}'s round-trip time, {LARGE} [ms]",
                paper,
                results.number((name, LARGE, acks), RTT, group),
                ABOUT,
                0,
                why,
            )
            for group, paper in zip((UPLOAD, DOWNLOAD), one.rtts_ms, strict=True)
        ),
        near(f"{where}: upload's part of the uplink, {LARGE}", _UP_PART, part(LARGE, UPLOAD), ABOUT, 2, why),
        near(f"{where}: download's part of the downlink, {LARGE}", _DOWN_PART, part(LARGE, DOWNLOAD), ABOUT, 2, why),
        near(f"{where}: download's part, {RIGHT}", _RIGHT_DOWN, part(RIGHT, DOWNLOAD), ABOUT, 2, why),
        near(f"{where}: upload's part, {RIGHT}", _RIGHT_UP, part(RIGHT, UPLOAD), ABOUT, 2, why),
        *(
            near(
                f"{where}: round-trip time divided by, {way}",
                DIVIDED_BY,
                _divided(results, name, way, acks),
                ABOUT,
                2,
                why,
            )
            for way in (PADDED, RIGHT)
        ),
    ]


def _checks(results: Results, name: str, one: Line, acks: str) -> list[Check]:
    where = f"{name}, {'delayed' if acks == 'delayed' else 'undelayed'}"
    large, padded, bursts = (_part(results, name, way, acks, DOWNLOAD) for way in (LARGE, PADDED, BURSTS))
    gained = (bursts.mean - large.mean) / (padded.mean - large.mean)
    shortened = (_rtt(results, name, LARGE, acks).mean - _rtt(results, name, BURSTS, acks).mean) / (
        _rtt(results, name, LARGE, acks).mean - _rtt(results, name, PADDED, acks).mean
    )
    single = [1e3 * mbps / one.rates_kbps[1] for mbps in results.values((name, BURSTS, acks), GOODPUT, DOWNLOAD)]
    return [
        *_numbers(results, name, one, acks),
        check(
            f"{where}: UDP raises the download's part of its link",
            "40 % to less than 95 %",
            f"{large.text(0, 100)} to {padded.text(0, 100)} %",
            agrees=padded.surely_above(large),
        ),
        check(
            f"{where}: bursts do about as well with fewer packets",
            f"at least {AS_WELL:.0%} of both gains",
            f"{gained:.0%} of the download's gain, {shortened:.0%} of the delay's",
            agrees=min(gained, shortened) >= AS_WELL,
            why=f"Runs are of two kinds: in single ones the download has {span(single, 0, 100)} % of its link with "
            f"bursts, in {sum(part < _STARVED for part in single)} of {len(single)} less than {_STARVED:.0%}. What "
            "decides which it becomes is open.",
        ),
    ]


def _as_printed(results: Results, name: str) -> list[Check]:
    key = (name, LARGE, _AS_PRINTED)
    rtt, goodput = results.number(key, RTT, UPLOAD), _part(results, name, LARGE, _AS_PRINTED, DOWNLOAD)
    return [
        shown(
            f"{name} with the {_PRINTED_DOWN} packets down that Table III prints: upload's round-trip time, "
            "download's part",
            "600 ms, 40 %",
            f"{rtt.text(0)} ms, {goodput.text(0, 100)} %",
            "Taken for a misprint of 120.",
        ),
        shown(
            "packets of bursts over those of continuous UDP",
            "around a quarter",
            f"{BURST / UDP:.2f}",
            "By the paper's own rates: 100 of 250 in a second.",
        ),
    ]


def _drawing(results: Results, name: str) -> Any:
    def draw(index: int, axes: Axes) -> None:
        for position, group in enumerate((UPLOAD, DOWNLOAD)):
            for shift, acks in enumerate(ACKS):
                places = [at + 0.2 * (2 * position + shift - 1.5) for at in range(len(WAYS))]
                numbers = [
                    results.number((name, way, acks), RTT, group)
                    if index == 0
                    else _part(results, name, way, acks, group)
                    for way in WAYS
                ]
                scale = 1 if index == 0 else 100
                axes.bar(
                    places,
                    [scale * number.mean for number in numbers],
                    0.18,
                    yerr=[scale * number.sd for number in numbers],
                    error_kw={"elinewidth": 0.7},
                    label=f"{group}, {acks} acknowledged" if shift else f"{group}, acknowledgements delayed",
                    alpha=0.5 if shift else 1.0,
                    **line(position),
                )
        axes.set_xticks(range(len(WAYS)), [way.replace(" ", "\n", 1) for way in WAYS])
        axes.set_ylabel(("mean round-trip time [ms]", "goodput [% of the link]")[index])
        axes.set_ylim(bottom=0)

    return draw


ITEMS = (
    Item(
        "table3",
        "Table III, Figs. 6 and 7: a download and an upload",
        "400 kbit/s up, 2.4 Mbit/s down, 60 or 10 packets up, 60 down; 800 kbit/s, 5 Mbit/s, 120 or 20, 120; "
        f"{RTT_MS:g} ms; NewReno; the "
        f"upload starts after 20 to 40 s; {UDP} packets/s, or {BURST} of them each second; measured from 50 to 100 s; "
        f"{SEEDS} runs",
        table3,
    ),
)
