"""Section 3.3.2: CDG, which backs off where delay rises: its probability, and its neighbours."""

from typing import Any

from matplotlib.axes import Axes

from sojourn.papers.measures import BACKGROUND, QUEUE_MS, SHARE, TCP, UTILIZATION, Key, Results, check, measure, shown
from sojourn.papers.rite.cdg import PAPER, SEEDS, VARIANTS, WORDS, base, droptail, group
from sojourn.papers.rite.drawing import panels, points
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number

SCALE_MS = 3.0
# Said before any run. Back-offs at round-trip times that differ by a factor of 20 lie within a quarter of their mean;
# a neighbour "coexists" with at least half of its fair share.
ALIKE = 0.25
COEXISTS = 0.25

RISE_RTTS_MS = (10, 20, 50, 100, 200)
RISE_S = 20
RISE_SEEDS = 10
RISE_FLOWS = 4
RIVALS = ("newreno", "cubic")
BUFFERS = (0.5, 1.0, 2.0, 4.0)


def _rise_name(rtt_ms: int) -> str:
    return f"rtt{rtt_ms}"


def backoffs(lab: Lab) -> Findings:
    """Return how often CDG backs off while delay rises, by round-trip time."""
    transport = {"payload": "100 B", "receive_window": "2 packets", "ack_every": 1}
    control = VARIANTS["CDG that never ignores"]
    groups = [
        group(
            _rise_name(rtt),
            RISE_FLOWS,
            control,
            transport=transport,
            rtt=f"{rtt} ms",
            start={"uniform": ["0 s", "0.2 s"]},
        )
        for rtt in RISE_RTTS_MS
    ]
    # Fills the link, so that the queue grows by all that the flows send.
    filler = {"name": "filler", "rtt": "10 ms", "traffic": {"kind": "cbr", "rate": "1 Gbit/s", "packet": "3000 B"}}
    tables = base(
        [*groups, filler],
        duration=f"{RISE_S} s",
        warmup="0 s",
        bottleneck={"rate": "1 Gbit/s", "queue": {"kind": "droptail", "limit": "1 s"}},
    )
    kept = {"keep": ["series", "probes"], "bin": f"{RISE_S} s"}
    results = measure(lab, "cdg-rise", tables, {("rise",): {}}, seeds=RISE_SEEDS, **kept)
    rise_ms = results.number(("rise",), "bottleneck_queue_ms_max", _rise_name(RISE_RTTS_MS[0]))
    counts: dict[int, Number] = {}
    rounds: dict[int, float] = {}
    for rtt in RISE_RTTS_MS:
        traces = results.traces("flow_probes", "value", name="backoffs", group=_rise_name(rtt))
        counts[rtt] = Number.of([sum(values) / len(values) for _, values in traces.values()])
        mean_rtt_ms = results.number(("rise",), "rtt_ms_mean", _rise_name(rtt)).mean
        rounds[rtt] = RISE_S * 1e3 / mean_rtt_ms
    law = rise_ms.mean / SCALE_MS
    found = Findings()

    def draw(index: int, axes: Axes) -> None:
        whole = index == 0
        values = [counts[rtt] for rtt in RISE_RTTS_MS]
        scale = [1 / RISE_S if whole else 1 / rounds[rtt] for rtt in RISE_RTTS_MS]
        axes.errorbar(
            RISE_RTTS_MS,
            [number.mean * part for number, part in zip(values, scale, strict=True)],
            yerr=[number.sd * part for number, part in zip(values, scale, strict=True)],
            label="measured",
            **points(0),
        )
        expected = [law * part for part in scale]
        axes.plot(RISE_RTTS_MS, expected, color="#999999", label="rise over G")
        axes.set_xlabel("base round-trip time [ms]")
        axes.set_ylabel(f"back-offs per {'second' if whole else 'round trip'}")
        axes.set_ylim(bottom=0)

    figure = panels(["over time", "over round trips"], draw)
    found.show("backoffs", figure, "Back-offs of CDG while the queueing delay rises, by round-trip time")
    rows = tuple((rtt, counts[rtt].mean, counts[rtt].sd, rounds[rtt], law) for rtt in RISE_RTTS_MS)
    columns = ("base_rtt_ms", "backoffs", "sd_backoffs", "round_trips", "rise_over_scale")
    found.tables.append(Table("backoffs", f"Back-offs of a flow in {RISE_S} s", columns, rows))
    mean = sum(number.mean for number in counts.values()) / len(counts)
    away = {rtt: number.mean / mean - 1 for rtt, number in counts.items()}
    text = ", ".join(f"{counts[rtt].text(1)} at {rtt} ms" for rtt in RISE_RTTS_MS)
    found.checks += [
        check(
            f"over the same rise of delay all flows back off as often, within {100 * ALIKE:.0f} %",
            "average back-off probability independent of the round-trip time",
            text,
            agrees=max(map(abs, away.values())) <= ALIKE,
            why="A back-off leaves a round out of the gradients, and the average of eight rounds lags: both cost long "
            "round-trip times a part of the rise.",
        ),
        check(
            "that number is the rise over G",
            f"{law:.1f} for {rise_ms.mean:.1f} ms",
            text,
            agrees=abs(mean / law - 1) <= ALIKE,
        ),
        shown(
            "per round trip",
            "-",
            ", ".join(f"{counts[rtt].mean / rounds[rtt]:.3f} at {rtt} ms" for rtt in RISE_RTTS_MS),
            "In proportion to the round-trip time: a longer round sees more of the rise.",
        ),
    ]
    agrees = found.checks[0].agrees
    found.verdict = (
        f"While the delay rises by {rise_ms.mean:.0f} ms, flows with round-trip times of {RISE_RTTS_MS[0]} to "
        f"{RISE_RTTS_MS[-1]} ms back off {min(n.mean for n in counts.values()):.1f} to "
        f"{max(n.mean for n in counts.values()):.1f} times each: {'about the same' if agrees else 'not the same'}."
    )
    found.text = (
        "Independent of the round-trip time is the probability over a rise of the delay, not that of a round trip. It "
        "follows from the exponential: 1 - P is exp(-g/G), gradients of successive rounds add up in the exponent, and "
        "what counts is their sum. For the code itself this is an exact law, and one of its tests, "
        "as are the four equations of the report."
    )
    return found


def neighbours(lab: Lab) -> Findings:
    """Return what CDG gets beside loss-based flows."""
    cases: dict[Key, dict[str, Any]] = {
        (name, rival, buffer): {
            f"group.{BACKGROUND}.control": control,
            f"group.{TCP}.control": rival,
            "bottleneck.queue": droptail(buffer),
        }
        for name, control in VARIANTS.items()
        for rival in RIVALS
        for buffer in BUFFERS
    }
    alone: dict[Key, dict[str, Any]] = {
        (kind, buffer): {f"group.{BACKGROUND}.control": control, "bottleneck.queue": droptail(buffer)}
        for kind, control in {PAPER: VARIANTS[PAPER], "NewReno": {"kind": "newreno"}}.items()
        for buffer in BUFFERS
    }
    results = measure(lab, "cdg-share", base([group(TCP, 2), group(BACKGROUND, 2)]), cases, seeds=SEEDS)
    single = measure(lab, "cdg-alone", base([group(BACKGROUND, 4)]), alone, seeds=SEEDS)
    found = Findings()

    def draw(index: int, axes: Axes) -> None:
        for position, name in enumerate(VARIANTS):
            numbers = [results.number((name, RIVALS[index], buffer), SHARE, BACKGROUND) for buffer in BUFFERS]
            axes.errorbar(
                BUFFERS,
                [100 * number.mean for number in numbers],
                yerr=[100 * number.sd for number in numbers],
                label=name,
                **points(position),
            )
        axes.axhline(50, color="#999999", linewidth=0.6)
        axes.set_xscale("log", base=2)
        axes.set_xticks(BUFFERS, [f"{buffer:g}" for buffer in BUFFERS])
        axes.set_xlabel("buffer [bandwidth-delay products]")
        axes.set_ylabel("share of CDG [%]")
        axes.set_ylim(0, 60)

    found.show(
        "neighbours",
        panels(["beside NewReno", "beside CUBIC"], draw, height_in=3.5),
        "What two CDG flows get beside two loss-based ones",
    )
    rows = tuple(
        (*key, *(100 * part for n in (results.number(key, SHARE, BACKGROUND),) for part in (n.mean, n.sd)))
        for key in cases
    )
    found.tables.append(
        Table("neighbours", "CDG's share", ("cdg", "beside", "buffer_bdp", "share_percent", "sd"), rows)
    )
    rows = tuple(
        (*key, *(part for m in (QUEUE_MS, UTILIZATION) for part in (single.number(key, m, BACKGROUND).mean,)))
        for key in alone
    )
    found.tables.append(Table("alone", "Four flows alone", ("control", "buffer_bdp", "queue_ms", "utilization"), rows))
    found.checks += _share_checks(results, single)
    shares = [results.number((PAPER, rival, buffer), SHARE, BACKGROUND).mean for rival in RIVALS for buffer in BUFFERS]
    found.verdict = (
        f"Beside as many loss-based flows CDG keeps {100 * min(shares):.0f} to {100 * max(shares):.0f} % of the link."
    )
    return found


def _share_checks(results: Results, single: Results) -> list[Check]:
    def share(name: str, rival: str, buffer: float) -> Number:
        return results.number((name, rival, buffer), SHARE, BACKGROUND)

    places = [(rival, buffer) for rival in RIVALS for buffer in BUFFERS]
    low = [place for place in places if share(PAPER, *place).interval()[0] <= COEXISTS]
    checks = [
        check(
            f"CDG keeps at least {100 * COEXISTS:.0f} % beside as many loss-based flows, half of a fair share",
            "strives for coexisting well",
            "; ".join(
                f"{rival} {buffer:g} BDP: {share(PAPER, rival, buffer).text(0, 100)} %" for rival, buffer in places
            ),
            agrees=not low,
            why=f"Not beyond chance: {', '.join(f'{rival} at {buffer:g} BDP' for rival, buffer in low)}. The report "
            "says what CDG aims at, not how far it gets.",
        )
    ]
    for name in ("CDG without shadow", "CDG that never ignores", "CDG, scavenger"):
        below = [place for place in places if share(PAPER, *place).surely_above(share(name, *place))]
        checks.append(
            shown(
                f"{name}: with less than CDG as its authors have it, beyond chance",
                "-",
                f"at {len(below)} of {len(places)} places",
            )
        )
    queues = {
        buffer: tuple(single.number((kind, buffer), QUEUE_MS, BACKGROUND) for kind in (PAPER, "NewReno"))
        for buffer in BUFFERS
    }
    checks.append(
        check(
            "alone, CDG keeps a shorter queue than NewReno",
            "low delay",
            "; ".join(
                f"{buffer:g} BDP: {own.text(1)}, NewReno {other.text(1)} ms" for buffer, (own, other) in queues.items()
            ),
            agrees=all(other.surely_above(own) for own, other in queues.values()),
            why="CDG's queue hardly depends on the buffer; in the smallest one NewReno's cannot be longer.",
        )
    )
    return checks


ITEMS = (
    Item(
        "cdg-backoff",
        "CDG: back-offs and the round-trip time",
        f"flows of CDG with a window of two small packets, {RISE_FLOWS} for each round-trip time, on a link of 1 "
        f"Gbit/s that packets at a constant rate fill, so that the queue grows by what the flows send; {RISE_S} s, "
        f"{RISE_SEEDS} runs; back-offs are never ignored",
        backoffs,
    ),
    Item(
        "cdg-share",
        "CDG beside loss-based flows",
        f"2 and 2 flows, {WORDS}; other buffers where it is said",
        neighbours,
    ),
)
