"""Writes the page on conformance of senders from the raw numbers."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.common import Document, paragraph, table, yes
from benchmarks.senders.cases import RATE_BIT_PER_S, RTT_MS, SENDERS, WORKLOADS
from benchmarks.senders.reasons import OPEN, REASONS, reason

LEAST = 0.95
"""What share of segments is wanted at least."""

SHARES = ("same_segments", "same_moments", "same_windows", "same_thresholds", "same_timeouts")

_TOLERANCE = 1e-6
"""Saved numbers have six digits."""


def verdict(document: Document) -> str:
    """Say in a sentence how many comparisons reach what is wanted."""
    rows = list(_rows(document))
    full = sum(_reaches(control, result) for control, _, result in rows)
    least = sum(result["same_segments"] >= LEAST for _, _, result in rows)
    shares = [result["same_segments"] for _, _, result in rows]
    return (
        f"In {full} of {len(rows)} connections Sojourn's sender sends the segments that the kernel's sends "
        f"(at least 99 % of them; 99.9 % with reno and cubic). In {least} of {len(rows)} at least 95 % are the same; "
        f"the median is {100 * float(np.median(shares)):.1f} %."
    )


def lower(before: Document, now: Document) -> list[str]:
    """Name the shares that are lower than they were."""
    old = {(control, workload): result for control, workload, result in _rows(before)}
    return [
        f"{control}, {workload}: {share} {result[share]:.4f} instead of {old[control, workload][share]:.4f}"
        for control, workload, result in _rows(now)
        for share in SHARES
        if (control, workload) in old and result[share] < old[control, workload][share] - _TOLERANCE
    ]


def render(document: Document) -> list[str]:
    """Return the page, in paragraphs."""
    return [
        "# Does Sojourn's sender decide as Linux's TCP does?",
        paragraph(f"{verdict(document)} {_ANSWER.format(kernel=document['kernel'])}"),
        table(_SUMMARY_HEADS, [_summary(name, results) for name, results in document["senders"].items()]),
        paragraph(_COLUMNS),
        "## Why do they differ?",
        *_reasons(document),
        "## Which connections differ, and where first?",
        paragraph(_FIRST),
        *(part for name, results in document["senders"].items() for part in _control(name, results)),
        "## What was sent over which path?",
        paragraph(_PATH.format(rate=RATE_BIT_PER_S / 1e6, rtt=RTT_MS)),
        *_workloads(),
        "## How was it recorded, and how is it compared?",
        *(paragraph(text) for text in _METHOD),
    ]


def _rows(document: Document) -> Iterator[tuple[str, str, Document]]:
    for control, results in document["senders"].items():
        for workload, result in results.items():
            yield control, workload, result


def _reaches(control: str, result: Document) -> bool:
    return bool(result["same_segments"] >= SENDERS[control].wanted)


_SUMMARY_HEADS = [
    "control",
    "connections",
    "as wanted>",
    "segments>",
    "same segment %>",
    "at once %>",
    "same cwnd %>",
    "same ssthresh %>",
    "same RTO %>",
]


def _summary(control: str, results: Mapping[str, Document]) -> list[str]:
    sent = [result["segments"] for result in results.values()]
    acks = [result["acks"] for result in results.values()]
    shares = []
    for share in SHARES:
        weights = sent if share in ("same_segments", "same_moments") else acks
        shares.append(100 * float(np.average([result[share] for result in results.values()], weights=weights)))
    return [
        f"`{control}`",
        str(len(results)),
        str(sum(_reaches(control, result) for result in results.values())),
        str(sum(sent)),
        *(f"{share:.2f}" for share in shares),
    ]


_CASE_HEADS = [
    "workload",
    "segments>",
    "again>",
    "same segment %>",
    "at once %>",
    "cwnd %>",
    "ssthresh %>",
    "RTO %>",
    "as wanted",
    "first difference",
    "kernel's state",
    "reason",
]


def _control(control: str, results: Mapping[str, Document]) -> list[str]:
    rows = []
    for workload, result in results.items():
        rows.append(
            [
                workload,
                _beside(result["segments"], result["sent"]),
                _beside(result["again"], result["sent_again"]),
                *(f"{100 * result[share]:.2f}" for share in SHARES),
                yes(_reaches(control, result)),
                _difference(result),
                result["first_state"] or "",
                reason(control, workload, result),
            ]
        )
    return [f"### {control}", table(_CASE_HEADS, rows)]


def _beside(kernel: int, ours: int) -> str:
    return str(kernel) if kernel == ours else f"{kernel} / {ours}"


def _difference(result: Document) -> str:
    segment, window = result["first_segment"], result["first_window"]
    parts = []
    if segment is not None:
        parts.append(f"segment {segment['place']}: {_sent(segment['kernel'])} / {_sent(segment['ours'])}")
    if window is not None:
        parts.append(f"cwnd at {window['ms']:.1f} ms: {window['kernel']} / {window['ours']:.4g}")
    return "; ".join(parts)


def _sent(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "nothing"
    return f"{row['number']}{' again' if row['nth'] else ''} at {row['ms']:.1f} ms"


def _reasons(document: Document) -> Iterable[str]:
    count: dict[str, int] = {}
    for control, workload, result in _rows(document):
        name = reason(control, workload, result)
        count[name] = count.get(name, 0) + 1
    lines = [f"- **{known.name}** ({count[known.name]}): {known.text}" for known in REASONS if known.name in count]
    if OPEN in count:
        lines.append(f"- **{OPEN}** ({count[OPEN]}): the reason is not known.")
    return [paragraph(_REASONS), "\n".join(lines)] if lines else ["They do not."]


def _workloads() -> list[str]:
    return ["\n".join(f"- {name}: {workload.text}" for name, workload in WORKLOADS.items())]


_ANSWER = """The TCP of a real Linux kernel (version {kernel}, in virtual time) sent over scripted paths; what it sent,
    and its window after each acknowledgement, was recorded. Here Sojourn's sender, with its `linux` presets, gets the
    same acknowledgements at the same times."""

_COLUMNS = """A segment is the same where both senders sent it, new or again, in the same order and within a tick of the
    kernel's timers (10 ms); it went out at once where both sent it on the same acknowledgement. Windows, thresholds
    and retransmission timeouts are compared after each acknowledgement: windows in whole segments, timeouts within
    a tick. Differences add up: after the first one the two senders get acknowledgements that answer only one of
    them."""

_REASONS = """In brackets: the number of connections whose first difference it is."""

_FIRST = """A pair of values is kernel / Sojourn. "Again" counts retransmissions."""

_PATH = """The bottleneck has {rate:g} Mbit/s and the round trip takes {rtt} ms. The receiver acknowledges every second
    segment, or after 40 ms, with SACK and DSACK."""

_METHOD = (
    """The kernel's TCP connects through a TUN device; a program is the path and the receiver behind it. With a
    kernel in virtual time none of its work takes time. A packet that is written to the device has been processed
    when the call returns, so that TCP_INFO shows the window after that acknowledgement. Segments leave one by one
    (`gso_max_segs 1`): bursts of the host are not part of this comparison. Timers of this kernel tick every 10
    ms, which Sojourn's `timer_tick` follows.""",
    """Two things of the kernel are no decisions, and Sojourn's sender gets them as they were. Lots: CDG draws whether
    it answers a rising delay, BBR in which phase a cycle begins. The first is told from the kernel's state, which
    becomes CWR without a mark; of BBR's seven phases the one is taken with which most windows are equal. And the place
    of its timer wheel, whose buckets of 8 and 64 ticks long timeouts are rounded up to: the recordings say how many
    ticks the kernel had run.""",
    """In the replay an acknowledgement of what Sojourn has not sent counts as one of all that it has. Sojourn's
    timers go off between the recorded inputs.""",
    """`python -m benchmarks.senders` replays the recordings in `benchmarks/senders/recordings/` and writes this
    page. With `--trace CONTROL WORKLOAD FROM TO` it prints both senders side by side between two times in
    seconds. With `--live` it records them anew, which needs the kernel `uml-virtual` (`sojourn testbed doctor`).""",
)
