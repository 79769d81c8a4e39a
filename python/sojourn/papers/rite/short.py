"""Figure 3.5: short TCP transfers beside a long scavenger, and how much the scavenger yields."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes

from sojourn.papers.measures import BACKGROUND, TCP, Key, Results, check, measure, shown
from sojourn.papers.rite.drawing import panels, points
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number

SEEDS = 5
RATE_MBPS = 10.0
BUFFER_MS = 300.0
RTT_MS = 50.0
TARGET_MS = 100.0
# LEDBAT needs 50 s on this link to come to its target.
WARMUP_S = 60
SEGMENT_BYTES = 1448
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
# Sizes at which the disciplines are compared: they end in slow start, or long after.
COMPARED = (10, 50, 1000, 10000)
LONG_SEGMENTS = 1000
# So many transfers in a run, so far apart; a number that no sender's rhythm divides.
MANY, FEW = (10, 12.37), (4, 61.37)

# Said before any run, after the report: up to 50 segments less than 5 %; about the target is within 15 %.
LITTLE_SEGMENTS, LITTLE = 50, 0.05
ABOUT = 0.15

NOBODY = "nobody else"
SCAVENGERS: dict[str, str | dict[str, Any]] = {
    "LEDBAT": "ledbat",
    "libutp": "libutp",
    "LEDBAT++": "ledbatpp",
    "fLEDBAT": "fledbat",
    "TCP-LP": "tcp_lp",
    "NICE": "nice",
}
YARDSTICK = "CUBIC"
OTHERS: dict[str, str | dict[str, Any]] = SCAVENGERS | {YARDSTICK: "cubic"}
DROPTAIL = "DropTail"
QUEUES: dict[str, dict[str, Any]] = {
    DROPTAIL: {"kind": "droptail", "limit": f"{BUFFER_MS:g} ms"},
    "CoDel": {"kind": "codel"},
    "PIE": {"kind": "pie"},
    "FQ-CoDel": {"kind": "fq_codel"},
    "CAKE": {"kind": "cake"},
}
# These keep the link full, so that all they deliver less is what they give up while a transfer lasts.
FULL = ("LEDBAT", "libutp", YARDSTICK)
# NewReno and LEDBAT as ns-2 has them, at three rates: the report does not print its own.
REPORT = "as in ns-2"
REPORT_RATES_MBPS = (2.0, 10.0, 50.0)
WORDS = (
    f"{RATE_MBPS:g} Mbit/s, base RTT {RTT_MS:g} ms, DropTail of {BUFFER_MS:g} ms or an AQM with its defaults, "
    f"{SEEDS} runs"
)
FCT = "fct_ms_mean"
GOODPUT = "goodput_mbps"


def base(rate_mbps: float = RATE_MBPS) -> dict[str, Any]:
    """Return a long flow of the second group beside the transfers of the first."""
    return {
        "name": "rite-short",
        "duration": "100 s",
        "warmup": f"{WARMUP_S} s",
        "bottleneck": {"rate": f"{rate_mbps:g} Mbit/s", "queue": QUEUES[DROPTAIL]},
        "group": [{"name": TCP, "control": "newreno", "rtt": f"{RTT_MS:g} ms"}, background("LEDBAT")],
    }


def background(name: str) -> dict[str, Any]:
    """Return the group of a long flow."""
    start = {"uniform": ["0 s", "0.1 s"]}
    return {"name": BACKGROUND, "control": OTHERS[name], "rtt": f"{RTT_MS:g} ms", "start": start}


def beside(name: str) -> dict[str, Any]:
    """Return the change that puts a control beside the transfers; nobody is one that comes after them."""
    if name == NOBODY:
        return {
            f"group.{BACKGROUND}.start": f"{WARMUP_S} s",
            f"group.{BACKGROUND}.traffic": {"kind": "bulk", "size": "1 B"},
        }
    return {f"group.{BACKGROUND}.control": OTHERS[name]}


def plan(segments: int) -> tuple[int, float]:
    """Return how many transfers of a size a run has, and how many seconds apart."""
    return MANY if segments <= LONG_SEGMENTS else FEW


def transfers(segments: int, payload_bytes: int = SEGMENT_BYTES) -> dict[str, Any]:
    """Return the change that makes the transfers, one after the other."""
    count, apart_s = plan(segments)
    return {
        "duration": f"{_duration_s(segments):g} s",
        f"group.{TCP}.flows": count,
        f"group.{TCP}.start": [f"{WARMUP_S + 1 + apart_s * number:.2f} s" for number in range(count)],
        f"group.{TCP}.traffic": {"kind": "bulk", "size": f"{segments * payload_bytes} B"},
    }


def _duration_s(segments: int) -> float:
    count, apart_s = plan(segments)
    return WARMUP_S + 1 + count * apart_s


def _nothing(segments: int) -> dict[str, Any]:
    """Return the same run without transfers: one of a byte, in its last tenth of a second."""
    end = _duration_s(segments)
    return {
        "duration": f"{end:g} s",
        f"group.{TCP}.start": f"{end - 0.1:g} s",
        f"group.{TCP}.traffic": {"kind": "bulk", "size": "1 B"},
    }


def _cases() -> dict[Key, Mapping[str, Any]]:
    cases: dict[Key, Mapping[str, Any]] = {}
    for queue, tables in QUEUES.items():
        for name in (NOBODY, *OTHERS):
            for segments in SIZES if queue == DROPTAIL else COMPARED:
                cases[queue, name, segments] = {"bottleneck.queue": tables} | beside(name) | transfers(segments)
    for name in OTHERS:
        for plan_of in (1, SIZES[-1]):
            cases[DROPTAIL, name, "alone", *plan(plan_of)] = beside(name) | _nothing(plan_of)
    return cases


def _report_cases() -> dict[Key, Mapping[str, Any]]:
    ns2 = {
        f"group.{TCP}.transport": "ns2",
        f"group.{BACKGROUND}.transport": "ns2",
        f"group.{BACKGROUND}.control": {"kind": "ledbat", "preset": "ns2"},
    }
    cases: dict[Key, Mapping[str, Any]] = {}
    for mbps in REPORT_RATES_MBPS:
        rate = {"bottleneck.rate": f"{mbps:g} Mbit/s"}
        for segments in (10, 20, LITTLE_SEGMENTS, 100, 200):
            cases[REPORT, mbps, segments] = ns2 | rate | transfers(segments, 1460)
        cases[REPORT, mbps, "alone"] = ns2 | rate | _nothing(1)
    return cases


def fct(results: Results, *key: str | float) -> Number:
    """Return the completion time in ms."""
    return results.number(key, FCT)


def forgone_mb(results: Results, with_transfers: Key, alone: Key, segments: int) -> list[float]:
    """Return, run by run, what a transfer costs the long flow in MB: what it delivers less than without transfers."""
    count, _ = plan(segments)
    measured_s = _duration_s(segments) - WARMUP_S
    values = (results.values(key, GOODPUT, BACKGROUND) for key in (with_transfers, alone))
    return [(more - less) / 8 * measured_s / count for less, more in zip(*values, strict=True)]


def yielded(results: Results, with_transfers: Key, alone: Key, segments: int) -> Number:
    """Return which part of its rate a long flow that is back at once gave up while a transfer lasted."""
    costs = forgone_mb(results, with_transfers, alone, segments)
    rates, times = results.values(alone, GOODPUT, BACKGROUND), results.values(with_transfers, FCT)
    parts = (cost * 8 / (rate * time_ms / 1e3) for cost, rate, time_ms in zip(costs, rates, times, strict=True))
    return Number.of(list(parts))


def short(lab: Lab) -> Findings:
    """Return completion times beside every scavenger, and what it yields."""
    results = measure(lab, "short", base(), _cases(), seeds=SEEDS)
    report = measure(lab, "short-ns2", base(), _report_cases(), seeds=SEEDS)
    found = Findings()
    _draw(found, results)
    _tabulate(found, results, report)
    found.checks += [*_yields(results, report), *_delays(results), *_orders(results), *_aqms(results)]
    own, ledbat = (fct(results, DROPTAIL, name, LITTLE_SEGMENTS) for name in (NOBODY, "LEDBAT"))
    found.verdict = (
        f"A transfer of {LITTLE_SEGMENTS} segments takes {own.mean:.0f} ms on a free link, {ledbat.mean:.0f} ms beside "
        f"one LEDBAT flow and {fct(results, DROPTAIL, YARDSTICK, LITTLE_SEGMENTS).mean:.0f} ms beside CUBIC."
    )
    found.text = (
        "A link that LEDBAT keeps full loses to a transfer exactly what the transfer takes, so the part that LEDBAT "
        "yields is the size over capacity and time: it falls with the capacity, which the report does not print, and "
        "with the number of round trips that slow start takes, each of which LEDBAT makes longer by its target. An "
        "AQM takes the standing queue from the scavenger and makes short transfers faster; a long one then has to "
        "share with a scavenger that no longer yields, also where queues are per flow, which are fair to both."
    )
    return found


def _draw(found: Findings, results: Results) -> None:
    def draw(index: int, axes: Axes) -> None:
        names = (NOBODY, *OTHERS) if index == 0 else FULL
        for position, name in enumerate((NOBODY, *OTHERS)):
            if name not in names:
                continue
            numbers = [
                fct(results, DROPTAIL, name, size) if index == 0 else _part(results, name, size) for size in SIZES
            ]
            scale = 1e-3 if index == 0 else 100
            axes.errorbar(
                SIZES,
                [scale * (number.mean if index == 0 else 1 - number.mean) for number in numbers],
                yerr=[scale * number.sd for number in numbers],
                elinewidth=0.6,
                label=name,
                **points(position),
            )
        axes.set_xscale("log")
        axes.set_xlabel("transfer [segments]")
        if index == 0:
            axes.set_yscale("log")
            axes.set_ylabel("completion time [s]")
        else:
            axes.axhline(100, color="#999999", linewidth=0.6)
            axes.set_ylim(0, 105)
            axes.set_ylabel("rate of the long flow meanwhile [%]")

    figure = panels(["completion time, DropTail", "Fig. 3.5: what the long flow keeps, DropTail"], draw, height_in=3.6)
    found.show(
        "short", figure, "TCP transfers beside a long flow: completion time, and what the long flow keeps meanwhile"
    )

    def by_queue(index: int, axes: Axes) -> None:
        size = (LITTLE_SEGMENTS, SIZES[-1])[index]
        names = list(OTHERS)
        for position, queue in enumerate(QUEUES):
            free = fct(results, DROPTAIL, NOBODY, size).mean
            ratios = [fct(results, queue, name, size) for name in names]
            axes.errorbar(
                range(len(names)),
                [number.mean / free for number in ratios],
                yerr=[number.sd / free for number in ratios],
                label=queue,
                **(points(position) | {"linestyle": "none"}),
            )
        axes.axhline(1, color="#999999", linewidth=0.6)
        axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
        axes.set_ylabel("completion time over that on a free link")
        axes.set_ylim(bottom=0)

    titles = [f"transfers of {size} segments" for size in (LITTLE_SEGMENTS, SIZES[-1])]
    figure = panels(titles, by_queue, height_in=3.6, drop=0.3, ncols=3)
    found.show("aqm", figure, "Does an AQM protect a transfer from the long flow beside it?")


def _alone(name: str, segments: int) -> Key:
    return (DROPTAIL, name, "alone", *plan(segments))


def _part(results: Results, name: str, segments: int) -> Number:
    return yielded(results, (DROPTAIL, name, segments), _alone(name, segments), segments)


def _cost(results: Results, name: str, segments: int) -> Number:
    """Return what a transfer costs the long flow, over the size of the transfer."""
    costs = forgone_mb(results, (DROPTAIL, name, segments), _alone(name, segments), segments)
    return Number.of([cost * 1e6 / (segments * SEGMENT_BYTES) for cost in costs])


def _tabulate(found: Findings, results: Results, report: Results) -> None:
    rows: list[tuple[Any, ...]] = []
    for queue in QUEUES:
        for name in (NOBODY, *OTHERS):
            for segments in SIZES if queue == DROPTAIL else COMPARED:
                time = fct(results, queue, name, segments)
                known = queue == DROPTAIL and name != NOBODY
                cost = _cost(results, name, segments).mean if known else None
                part = _part(results, name, segments).mean if known and name in FULL else None
                rows.append((queue, name, segments, time.mean, time.sd, part, cost))
    columns: tuple[str, ...] = ("discipline", "beside", "segments", "fct_ms", "sd_fct", "yielded", "cost_over_size")
    caption = "Completion times, the part of its rate that a long flow yields meanwhile, and what it costs it in all"
    found.tables.append(Table("short", caption, columns, tuple(rows)))
    rows = []
    for key in _report_cases():
        if key[-1] != "alone":
            part_ns2 = yielded(report, key, (*key[:2], "alone"), int(key[2]))
            rows.append((*key[1:], report.number(key, FCT).mean, part_ns2.mean, part_ns2.sd))
    columns = ("mbps", "segments", "fct_ms", "yielded", "sd_yielded")
    found.tables.append(Table("short-ns2", "NewReno beside LEDBAT as ns-2 has them", columns, tuple(rows)))


def _yields(results: Results, report: Results) -> list[Check]:
    small = [size for size in SIZES if size <= LITTLE_SEGMENTS]
    parts = {size: _part(results, "LEDBAT", size) for size in small}
    worst = max(parts, key=lambda size: parts[size].mean)
    old = {
        mbps: yielded(report, (REPORT, mbps, LITTLE_SEGMENTS), (REPORT, mbps, "alone"), LITTLE_SEGMENTS)
        for mbps in REPORT_RATES_MBPS
    }
    costs = {name: _cost(results, name, LITTLE_SEGMENTS) for name in OTHERS}
    large = _part(results, "LEDBAT", SIZES[-1])
    return [
        check(
            f"LEDBAT yields less than {100 * LITTLE:g} % to transfers of up to {LITTLE_SEGMENTS} segments",
            f"below {100 * LITTLE:g} %",
            f"at most {parts[worst].text(1, 100)} %, at {worst} segments",
            agrees=all(part.interval()[1] < LITTLE for part in parts.values()),
            why="Explained: on a link that stays full LEDBAT yields what the transfer takes of it, size over capacity "
            "and time. The report does not print its capacity; the next line has the claim hold at a higher one.",
        ),
        shown(
            f"{LITTLE_SEGMENTS} segments with NewReno and LEDBAT as ns-2 has them, by capacity",
            f"below {100 * LITTLE:g} %, at a capacity that is not printed",
            "; ".join(f"{part.text(1, 100)} % at {mbps:g} Mbit/s" for mbps, part in old.items()),
        ),
        check(
            "it yields more to long transfers",
            "falls with the size",
            f"{large.text(0, 100)} % at {SIZES[-1]} segments, {parts[LITTLE_SEGMENTS].text(1, 100)} % at "
            f"{LITTLE_SEGMENTS}",
            agrees=large.surely_above(parts[LITTLE_SEGMENTS]),
        ),
        shown(
            f"what a transfer of {LITTLE_SEGMENTS} segments costs each long flow, over the size of the transfer",
            "-",
            "; ".join(f"{name} {cost.text(1)}" for name, cost in costs.items()),
            "1 is what the transfer takes; what is more is lost afterwards, while the flow comes back.",
        ),
    ]


def _delays(results: Results) -> list[Check]:
    waits = {size: results.number((DROPTAIL, "LEDBAT", size), "queue_ms_mean") for size in (1, 10, LITTLE_SEGMENTS)}
    return [
        check(
            "packets of short flows wait for about LEDBAT's target",
            f"{TARGET_MS:g} ms",
            ", ".join(f"{wait.text(0)} ms ({size} segments)" for size, wait in waits.items()),
            agrees=all(abs(wait.mean / TARGET_MS - 1) <= ABOUT for wait in waits.values()),
            why="The transfer's own packets come on top: 50 segments in a burst are up to 60 ms.",
        )
    ]


def _orders(results: Results) -> list[Check]:
    times = {name: fct(results, DROPTAIL, name, LITTLE_SEGMENTS) for name in (NOBODY, *OTHERS)}
    ranked = sorted(times, key=lambda name: times[name].mean)
    slower = [name for name in SCAVENGERS if not times[name].surely_above(times[NOBODY])]
    return [
        check(
            f"every scavenger makes a transfer of {LITTLE_SEGMENTS} segments slower, CUBIC most of all",
            "not innocuous",
            " < ".join(f"{name} {times[name].mean:.0f}" for name in ranked) + " ms",
            agrees=not slower and all(times[YARDSTICK].surely_above(times[name]) for name in SCAVENGERS),
            why=f"Not slower beyond chance: {', '.join(slower)}." if slower else "",
        )
    ]


def _aqms(results: Results) -> list[Check]:
    aqms = [queue for queue in QUEUES if queue != DROPTAIL]
    checks = []
    for size in (LITTLE_SEGMENTS, SIZES[-1]):
        tail = fct(results, DROPTAIL, "LEDBAT", size)
        found = {queue: fct(results, queue, "LEDBAT", size) for queue in aqms}
        free = fct(results, DROPTAIL, NOBODY, size)
        checks.append(
            shown(
                f"does an AQM protect {size} segments from LEDBAT? Completion time in ms",
                "-",
                f"free link {free.mean:.0f}; DropTail {tail.text(0)}; "
                + "; ".join(f"{queue} {number.text(0)} ({_verdict(number, tail)})" for queue, number in found.items()),
                "Faster or slower than under DropTail: by the 95 % interval of the difference.",
            )
        )
    return checks


def _verdict(number: Number, other: Number) -> str:
    if other.surely_above(number):
        return "faster"
    return "slower" if number.surely_above(other) else "no difference"


ITEMS = (
    Item(
        "short",
        "Fig. 3.5: short transfers beside a scavenger",
        f"NewReno transfers of 1 to {SIZES[-1]} segments of {SEGMENT_BYTES} B, one after the other, beside one long "
        f"flow, {WORDS}; the long flow yields what it delivers less, over what it would deliver in the time of the "
        "transfers",
        short,
    ),
)
