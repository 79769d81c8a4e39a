"""Section 4.1.2: small packets and web traffic in buffers that count bytes, and in buffers that count packets."""

from collections.abc import Iterator, Mapping
from typing import Any

from matplotlib.axes import Axes

from sojourn.figures.style import family
from sojourn.papers.measures import UTILIZATION, Key, Results, check, measure, shown
from sojourn.papers.rite.drawing import panels
from sojourn.papers.rite.plan import DISCIPLINES, NO_AQM, PACKET_BYTES, SINGLE_QUEUE_AQMS, bulk, link
from sojourn.papers.rite.web import OBJECTS, PAGE, SIZES
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number

RUNS = 10
WARMUP_S, DURATION_S = 10, 90
RATE_MBPS, RTT = 4.0, "50 ms"
PACKETS = 40
SMALL_BYTES = 200
DOWNLOADS = 3
SMALL, WEB, LARGE = "small", "web", "large"
STREAMS = 10
LIGHT_KBPS, HEAVY_KBPS = 10, 100
"""What each of the streams of small packets sends: a fortieth, or a quarter of the link together."""
LIMITS = {"packets": f"{PACKETS} packets", "bytes": f"{PACKETS * PACKET_BYTES} B"}
TAIL = "queue_ms_p90"
_BY_SIZE, _SLOW = "ARED, by size", "ARED, slow average"
QUEUES: dict[str, dict[str, Any]] = {
    **{name: DISCIPLINES[name] for name in (NO_AQM, *SINGLE_QUEUE_AQMS, "FQ-CoDel")},
    _BY_SIZE: {**DISCIPLINES["ARED"], "by_size": "before-spread"},
    # The weight of Floyd and Jacobson 1993, of some hundred packets.
    _SLOW: {**DISCIPLINES["ARED"], "weight": 0.002},
}
# Criteria, from before the first run.
_ALIKE = 0.25
"""Loss rates are alike if their ratio is 1 up to this part."""
_UNCHANGED = 0.05


def ratio(results: Results, key: Key) -> Number:
    """Return the loss rate of small packets over that of large ones, over runs in which large ones were lost."""
    pairs = zip(*(results.values(key, "drop_rate", group) for group in (SMALL, LARGE)), strict=True)
    return Number.of([small / large for small, large in pairs if large])


def sizes(lab: Lab) -> Findings:
    """Compare losses by the size of the packet and by what the buffer counts."""
    base = {
        "name": "rite-packet-sizes",
        "duration": f"{DURATION_S} s",
        "warmup": f"{WARMUP_S} s",
        "bottleneck": link(f"{RATE_MBPS:g} Mbit/s", LIMITS["packets"]),
        "group": [
            bulk(DOWNLOADS, RTT, name=LARGE),
            {
                "name": SMALL,
                "flows": STREAMS,
                "rtt": RTT,
                "traffic": _stream(LIGHT_KBPS),
                "start": {"uniform": ["0 s", "1 s"]},
            },
            {**bulk(1, RTT, name=WEB), "traffic": _PAGES},
        ],
    }
    cases: dict[Key, Mapping[str, Any]] = {
        (name, unit, kbps): {
            "bottleneck": link(f"{RATE_MBPS:g} Mbit/s", limit, queue),
            f"group.{SMALL}.traffic": _stream(kbps),
        }
        for name, queue in QUEUES.items()
        for unit, limit in LIMITS.items()
        for kbps in (LIGHT_KBPS, HEAVY_KBPS)
    }
    results = measure(lab, "packet-sizes", base, cases, seeds=RUNS)
    found = Findings()
    bars = [(name, unit) for name in (NO_AQM, "ARED", _BY_SIZE, _SLOW, "CoDel", "PIE", "FQ-CoDel") for unit in LIMITS]

    def draw(index: int, axes: Axes) -> None:
        for place, (name, unit) in enumerate(bars):
            key = (name, unit, HEAVY_KBPS)
            number = (ratio(results, key), results.number(key, PAGE, WEB))[index]
            scale = (1.0, 1e-3)[index]
            axes.bar(
                place + (0.12 if unit == "packets" else -0.12),
                scale * number.mean,
                0.72,
                yerr=scale * number.half,
                color=family(list(LIMITS).index(unit)),
                label=f"limit in {unit}" if place < len(LIMITS) else None,
                error_kw={"elinewidth": 0.8},
            )
        axes.set_xticks(
            [place + 0.5 for place in range(0, len(bars), 2)], [name.replace(", ", ",\n") for name, _ in bars[::2]]
        )
        axes.tick_params(axis="x", labelrotation=90)
        axes.set_ylabel(("loss rate, small over large packets", "page time [s]")[index])

    found.show(
        "packet-sizes",
        panels(["losses", "web pages"], draw, height_in=3.8, drop=0.36),
        f"Streams of {SMALL_BYTES} B packets that make up a quarter of the traffic: their losses against those of "
        "large packets, and pages beside; means and 95 % intervals",
    )
    found.tables.append(_table(results, cases))
    found.checks = list(_checks(results))
    one, other = (ratio(results, (NO_AQM, unit, HEAVY_KBPS)) for unit in LIMITS)
    found.verdict = (
        f"Without an AQM packets of {SMALL_BYTES} B are lost {one.text(2)} times as often as full-size ones if the "
        f"buffer counts packets, {other.text(2)} times if it counts bytes."
    )
    found.text = (
        f"Both buffers hold {PACKETS} full-size packets. Streams of small packets do not slow down; each sends "
        f"{LIGHT_KBPS} or {HEAVY_KBPS} kbit/s. By size is ARED with a drop probability in proportion to the packet's "
        "size, which RFC 7141 advises against."
    )
    return found


def _stream(kbps: int) -> dict[str, Any]:
    return {"kind": "cbr", "rate": f"{kbps} kbit/s", "packet": f"{SMALL_BYTES} B"}


_PAGES = {"kind": "web", "objects": OBJECTS, "size": SIZES, "connections": 1, "think": "1 s"}


def _table(results: Results, cases: Mapping[Key, Mapping[str, Any]]) -> Table:
    columns = (
        *("discipline", "limit_in", "stream_kbps", "loss_small", "loss_large", "ratio", "half_ci95_ratio"),
        *("page_ms", "half_ci95_page", "small_queue_ms_p90", "utilization"),
    )
    rows = []
    for key in cases:
        small, large = (results.number(key, "drop_rate", group).mean for group in (SMALL, LARGE))
        both, page = ratio(results, key), results.number(key, PAGE, WEB)
        tail, used = results.number(key, TAIL, SMALL).mean, results.number(key, UTILIZATION, SMALL).mean
        rows.append((*key, small, large, both.mean, both.half, page.mean, page.half, tail, used))
    return Table("packet-sizes", "Losses by the size of the packet", columns, tuple(rows))


def _checks(results: Results) -> Iterator[Check]:
    def ratios(name: str) -> tuple[Number, Number]:
        counted, weighed = (ratio(results, (name, unit, HEAVY_KBPS)) for unit in LIMITS)
        return counted, weighed

    counted, weighed = ratios(NO_AQM)
    yield check(
        "a full buffer that counts bytes loses fewer small packets than large ones, one that counts packets does "
        "less so",
        "expected: what is left of it has room for small ones",
        f"{weighed.text(2)} times as many, {counted.text(2)} where it counts packets",
        agrees=weighed.interval()[1] < 1.0 and counted.surely_above(weighed),
    )
    for name in (*SINGLE_QUEUE_AQMS, _SLOW):
        counted, weighed = ratios(name)
        yield check(
            f"{name} drops small packets as often as large ones, whatever the limit counts",
            "as RFC 7141 advises",
            f"{counted.text(2)} and {weighed.text(2)} times",
            agrees=all(abs(end - 1) < _ALIKE for one in (counted, weighed) for end in one.interval()),
            why=_WHY.get(name, ""),
        )
    counted, _ = ratios(_BY_SIZE)
    plain, _ = ratios("ARED")
    yield check(
        "ARED by size spares small packets, beyond chance",
        "expected: in proportion to their size, " + f"{SMALL_BYTES / PACKET_BYTES:.2f} times",
        f"{counted.text(2)} times, {plain.text(2)} without",
        agrees=plain.surely_above(counted),
    )
    tails = {
        (unit, kbps): results.number((NO_AQM, unit, kbps), TAIL, SMALL)
        for unit in LIMITS
        for kbps in (LIGHT_KBPS, HEAVY_KBPS)
    }
    light, heavy = (tails["packets", kbps] for kbps in (LIGHT_KBPS, HEAVY_KBPS))
    yield check(
        "many small packets make a buffer that counts packets shorter in time, beyond chance",
        "expected",
        f"90th percentile of delay {heavy.text()} ms instead of {light.text()}",
        agrees=light.surely_above(heavy),
    )
    light, heavy = (tails["bytes", kbps] for kbps in (LIGHT_KBPS, HEAVY_KBPS))
    yield check(
        "they do not where it counts bytes: by less than a twentieth",
        "expected",
        f"{heavy.text()} ms instead of {light.text()}",
        agrees=abs(heavy.mean / light.mean - 1) < _UNCHANGED,
    )
    pages = {name: [results.number((name, unit, HEAVY_KBPS), PAGE, WEB) for unit in LIMITS] for name in QUEUES}
    yield shown(
        "page time where the limit counts packets, and bytes",
        "-",
        ", ".join(f"{name} {one.text(2, 1e-3)} and {two.text(2, 1e-3)} s" for name, (one, two) in pages.items()),
    )


_WHY = {
    "ARED": "Its average is over a burst of some packets, so that it follows the queue within a round trip; with the "
    "slow average of 1993 most of the difference is gone (below).",
    "CoDel": "CoDel drops at a time, not at a packet: it hits what follows the packet that is on the wire then. "
    "A large packet is there for longer, and large packets follow one another.",
}


ITEMS = (
    Item(
        "packet-sizes",
        "Section 4.1.2: small packets and web pages with byte and packet buffers",
        f"{DOWNLOADS} CUBIC downloads, {STREAMS} streams of {SMALL_BYTES} B packets, and web pages of {OBJECTS} "
        f"objects a second after one another, {RATE_MBPS:g} Mbit/s, base round-trip time {RTT}; "
        f"{DURATION_S - WARMUP_S} s after {WARMUP_S} s; {RUNS} runs",
        sizes,
    ),
)
