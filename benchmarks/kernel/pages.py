"""Writes the page on conformance with the kernel from the raw numbers."""

from collections.abc import Iterable
from typing import Any

from benchmarks.common import Document, paragraph, table, yes
from benchmarks.kernel.cases import CONTROLS, EXACT, RANDOM, RATE_BIT_PER_S, Case
from benchmarks.kernel.distributions import MIN_RANK, REPLAYS
from benchmarks.kernel.workloads import WORKLOADS

WANTED = 0.999
"""What share of fates and of the order has to agree."""


def agrees(case: Case, result: Document) -> bool:
    """Tell whether Sojourn's queue does what the kernel's did."""
    if case.random:
        return all(row["p"] > MIN_RANK for row in result["statistics"])
    return bool(result["same_fate"] >= WANTED and result["same_order"] >= WANTED)


def unexpected(document: Document) -> list[str]:
    """Name the comparisons that do not come out as they should: those that disagree, and controls that agree."""
    wrong = [f"{case.name} disagrees" for case, result in _cases(document) if not agrees(case, result)]
    return wrong + [f"{case.name} agrees" for case, result in _controls(document) if agrees(case, result)]


def render(document: Document) -> list[str]:
    """Return the page, in paragraphs."""
    return [
        "# Against the kernel, packet by packet",
        paragraph(_INTRODUCTION.format(kernel=document["kernel"], rate=RATE_BIT_PER_S / 1e6)),
        "## Disciplines without chance",
        paragraph(_EXACT),
        table(_EXACT_HEADS, [_exact_row(case, result) for case, result in _cases(document) if not case.random]),
        *_notes(EXACT),
        "## Disciplines that draw lots",
        *(paragraph(text.format(replays=REPLAYS)) for text in (_RANDOM, _RANK, _DISTANCE)),
        table(_RANDOM_HEADS, _random_rows((case, result) for case, result in _cases(document) if case.random)),
        *_notes(RANDOM),
        "## What the comparison sees",
        paragraph(_CONTROL),
        *(_control(case, result) for case, result in _controls(document)),
        "## What was found",
        *(f"- {paragraph(text)}" for text in _FINDINGS),
        "## Workloads",
        *_workloads(),
        "## How packets were recorded",
        *(paragraph(text) for text in _METHOD),
        paragraph(_AGAIN),
    ]


def _cases(document: Document) -> Iterable[tuple[Case, Document]]:
    return [(case, document["cases"][case.name]) for case in [*EXACT, *RANDOM]]


def _controls(document: Document) -> Iterable[tuple[Case, Document]]:
    return [(case, document["controls"][case.name]) for case in CONTROLS]


_EXACT_HEADS = ["qdisc", "workload", "packets>", "dropped>", "marked>", "same fate %>", "same order %>", "agrees"]


def _exact_row(case: Case, result: Document) -> list[str]:
    return [
        f"`{case.qdisc}`",
        case.workload,
        str(result["packets"]),
        _beside(result["kernel_dropped"], result["dropped"]),
        _beside(result["kernel_marked"], result["marked"]),
        f"{100 * result['same_fate']:.2f}",
        f"{100 * result['same_order']:.2f}",
        yes(agrees(case, result)),
    ]


def _beside(kernel: int, ours: int) -> str:
    return str(kernel) if kernel == ours else f"{kernel} / {ours}"


_RANDOM_HEADS = ["qdisc", "workload", "statistic", "kernel>", "replays>", "rank>", "agrees"]


def _random_rows(results: Iterable[tuple[Case, Document]]) -> list[list[str]]:
    rows = []
    for case, result in results:
        for number, row in enumerate(result["statistics"]):
            first = number == 0
            where = [f"`{_short(case)}`", case.workload] if first else ["", ""]
            rows.append([*where, *_statistic(row), yes(agrees(case, result)) if first else ""])
    return rows


def _statistic(row: dict[str, Any]) -> list[str]:
    if "mean" in row:
        values = [f"{row['kernel']:.3g}", f"{row['mean']:.3g} ± {row['sd']:.2g}"]
        return [f"{row['name']}, {row['unit']}", *values, f"{row['p']:.3f}"]
    return [row["name"], f"off by {row['distance']:.3g}", f"off by {row['usual']:.3g}", f"{row['p']:.3f}"]


def _short(case: Case) -> str:
    return f"{case.qdisc.split()[0]}{' ecn' if 'ecn' in case.qdisc.split() else ''}"


def _notes(cases: Iterable[Case]) -> list[str]:
    return ["\n".join(lines)] if (lines := [f"- `{_short(case)}`: {case.note}." for case in cases if case.note]) else []


def _control(case: Case, result: Document) -> str:
    if not case.random:
        found = f"{100 * result['same_fate']:.1f} % of fates and {100 * result['same_order']:.1f} % of the order agree"
    else:
        worst = min(result["statistics"], key=lambda row: row["p"])
        found = f"the {worst['name']} has the rank {worst['p']:.3f}"
        if "mean" in worst:
            found += f" (kernel {worst['kernel']:.3g} {worst['unit']}, replays {worst['mean']:.3g} ± {worst['sd']:.2g})"
    return f"- **{case.name}**: {found}. {case.note[0].upper()}{case.note[1:]}."


def _workloads() -> list[str]:
    lines = [f"- {name}: {load.text}; {load.duration_s:g} s" for name, load in WORKLOADS.items()]
    return ["\n".join(lines)]


_INTRODUCTION = """Packets were sent through the qdiscs of a real Linux kernel (version {kernel}, in virtual time)
    behind a link of {rate:g} Mbit/s, and what became of each was recorded. The same packets, at the same times, go
    through Sojourn's queues with their `linux` presets here. Sizes are those of Ethernet frames without the
    check sequence, which is what a qdisc counts, up to 1514 B."""

_EXACT = """Sojourn's queue is asked for a packet when the kernel's qdisc was. The fate of a packet is whether it left
    and whether it was marked; the order agrees as far as packets that left in both need not be moved. Where
    flows have queues of their own, tc filters tell the kernel which packet belongs to which flow, so that its
    random hash has no part in it. At least 99.9 % of both are wanted. A pair of numbers is kernel / Sojourn."""

_RANDOM = """No two runs of these are alike. The same packets go through Sojourn's queue {replays} times with different
    seeds, on a link that sends one packet after the other. Each statistic says how far one run is from what is usual
    among the replays. A signal is a drop or a mark."""

_RANK = """The rank is the share of runs that are as far out as the kernel's or further, the kernel's included. If the
    rules are the same, every rank is equally likely. A comparison disagrees where the kernel's run is further out than
    all replays."""

_DISTANCE = """Series ("over time" in bins of 2 s, "by average queue" in 12 bins) are off by so many standard deviations
    (rms). A sample ("gaps") is off by the largest difference of its cumulative distribution from that of all
    replays."""

_CONTROL = """A comparison that cannot fail would say nothing. These replays of the same recordings leave out one thing
    that the kernel does, and have to disagree:"""

_FINDINGS = (
    """CoDel: the kernel's clock ticks every 1024 ns, and an interval has to be exceeded. Sojourn's presets `linux`
    of `codel` and `fq_codel` did not follow this before; now they do (`clock`), and every fate agrees.""",
    """CAKE: a queue that has never signalled does so with the next packet once the delay has been above target,
    not after an interval. The kernel begins with a reciprocal root of zero, although the comment in
    `sch_cake.c` wants an interval to pass. Sojourn's `cake` and `cobalt` waited; now they follow the kernel
    (`first_signal`; ns-3 waits). The 32-bit roots and the order in which the activity timeout is decided follow
    as well.""",
    """PIE and FQ-PIE move their probability by a kernel timer, which is never early and so comes a tick late:
    `tupdate 20ms` means 30 ms on a kernel of 100 Hz, and the usual 15 ms mean 20 ms on one of 250 Hz and 30 ms
    on one of 100 Hz. Sojourn's `update` is the time that really passes; the comparison sets it to 30 ms. RFC
    8033 asks for 15 ms.""",
    """CHOKe: the kernel's mean delay was 1 to 3 % below the replays' in each of four recordings. Its average is an
    integer in units of 1/8 packet here (2 to the power of ewma). What a sample takes of it is cut to whole packets,
    so that it comes out up to 7/8 of a packet high; what it is above min is cut to whole packets as well, and so is
    the random number that this is compared with. Sojourn's `choke` follows all of that in its preset `linux`
    (`arithmetic`), and the replays agree. RED's arithmetic is the same; its unit is the byte, so that the cut
    is nothing, and its preset `linux` has real numbers.""",
    """Classes of `sch_drr` and `sch_ets`: Sojourn's `dwrr` had their shares, but not their order (44 % of it agreed).
    The kernel keeps the classes that have packets in a list, which a class joins at its end with a new quantum, and
    takes the next packet out of a class's queue before the counter covers it; that packet waits on, although the
    queue has given it. An AQM inside so decides before the packet leaves. `dwrr` does all this in its preset
    `linux`, and every fate and the whole order agree, with CoDel in the classes as well.""",
    """HHF counts its timeouts in ticks of the kernel's timer, here of 10 ms, so that they end up to a tick late.
    Sojourn's `hhf` does so where `tick` says it; its preset is exact, as the tick is the host's.""",
    """CAKE as a shaper of its own sends every packet at the very moment that the kernel does. Where its flows take
    turns, the kernel draws each quantum at random, 1513 or 1514 B for a host with one flow; Sojourn's is not drawn
    there.""",
    """RED and CHOKe below HTB never see idle time: HTB asks only classes that hold packets, and RED notices that
    it is idle when it is asked in vain. Its average stays where it was. Below a device that asks for packets
    itself it ages.""",
)

_METHOD = (
    """One namespace has two pairs of virtual Ethernet devices. UDP packets of a stored schedule are written to the
    first, forwarded, and leave through the second, which has HTB (one class, burst 1 B, so that it is a wire)
    with the qdisc inside. One packet socket listens to both ends, so arrivals and departures are read as one
    sequence; with a kernel in virtual time nothing takes time between them and the qdisc. Where an arrival and
    a departure have the same time that sequence decides.""",
    """A departure is an opportunity: HTB asks its only class once for each packet, when the one before has been
    sent. It never asks in vain: none of these qdiscs returns nothing while it holds packets. A qdisc that shapes
    by itself stands on the device without HTB, and each departure is a moment at which it was ready.""",
    """gred reads a packet's precedence from a mark in the kernel's own memory, which an ingress qdisc with a filter
    for each flow sets before the packet is forwarded.""",
)

_AGAIN = """`python -m benchmarks.conformance` replays the recordings in `benchmarks/kernel/recordings/` and writes this
    page; with `--live` it records them anew, which needs the kernel `uml-virtual` (`sojourn testbed doctor`)."""
