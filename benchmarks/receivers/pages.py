"""Writes the page on conformance of receivers from the raw numbers."""

from benchmarks.common import Document, paragraph, table
from benchmarks.receivers.cases import CASES

SHARES = ("same_moments", "same")

_TOLERANCE = 1e-6
"""Saved numbers have six digits."""

REASONS = {
    "one-lost-near": """The timer of duplicates has a slack of 100 us: where another timer of the kernel goes off
        meanwhile, so does this one. Sojourn lets it go off at the end of the slack.""",
    "lost-1": """Of its 1046 acknowledgements Sojourn sends one more: it lets the buffer grow a segment longer.""",
    "mixed": """Open: from 150 ms on two acknowledgements differ, and as in mixed-fast the blocks.""",
    "few-pushed": """A full segment with PSH is acknowledged at once where the application has read all
        (`tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`). A Linux sender sets it on the last segment of a piece of two or
        more. Sojourn's segments have no PSH: open.""",
    "lost-early": """The kernel announces a window again that has doubled with what was read. Sojourn has no such
        acknowledgements.""",
    "mixed-fast": """The kernel keeps four blocks in mind and forgets the oldest. When a segment of one of those comes
        again, it tells of this segment as a block of its own; Sojourn tells of the block as it is, as RFC 2018 asks.
        What waits is also told sooner for it.""",
    "mixed-far": """The same, without effect on the moments.""",
}
"""Why a case is not the same throughout."""


def verdict(document: Document) -> str:
    """Say in a sentence how many comparisons agree."""
    results = document["cases"].values()
    moments = sum(result["same_moments"] == 1 for result in results)
    whole = sum(result["same"] == 1 for result in results)
    acks = sum(result["acks"] for result in results)
    before = sum(result["ours"] for result in document["count"].values())
    return (
        f"In {moments} of {len(results)} connections Sojourn's receiver sends the kernel's acknowledgements at the "
        f"kernel's moments, in {whole} of them with the same SACK blocks. The kernel sends {acks} in all; "
        f"by a count of two (`ack_policy = 'count'`) there would be {before}."
    )


def differing(document: Document) -> list[str]:
    """Return the cases in which not everything is the same."""
    return [name for name, result in document["cases"].items() if result["same"] < 1]


def lower(before: Document, now: Document) -> list[str]:
    """Name the shares that are lower than they were."""
    return [
        f"{name}: {share} {result[share]:.4f} instead of {before['cases'][name][share]:.4f}"
        for name, result in now["cases"].items()
        for share in SHARES
        if name in before["cases"] and result[share] < before["cases"][name][share] - _TOLERANCE
    ]


def render(document: Document) -> list[str]:
    """Return the page, in paragraphs."""
    return [
        "# Does Sojourn's receiver acknowledge as Linux's TCP does?",
        paragraph(f"{verdict(document)} {_ANSWER.format(kernel=document['kernel'])}"),
        table(_HEADS, [_row(document, name) for name in document["cases"]]),
        paragraph(_COLUMNS),
        "## Why do they differ?",
        "\n".join(f"- {name}: {paragraph(REASONS[name])}" for name in differing(document)),
        "## What is missing?",
        *(paragraph(text) for text in _MISSING),
        "## How was it recorded, and how is it compared?",
        *(paragraph(text) for text in _METHOD),
    ]


_HEADS = [
    "case",
    "what arrives",
    "segments>",
    "kernel>",
    "Sojourn>",
    "by count>",
    "same moment %>",
    "same %>",
    "first at ms>",
]


def _row(document: Document, name: str) -> list[str]:
    result = document["cases"][name]
    first = result["first_ms"]
    return [
        name,
        CASES[name].text,
        str(result["arrivals"]),
        str(result["acks"]),
        str(result["ours"]),
        str(document["count"][name]["ours"]),
        f"{100 * result['same_moments']:.1f}",
        f"{100 * result['same']:.1f}",
        "" if first is None else f"{first:.1f}",
    ]


_ANSWER = """Segments came at scripted times to the TCP of a real Linux kernel (version {kernel}, in virtual time),
    and what it acknowledged was recorded. Here Sojourn's receiver, with the preset `linux`, gets the same segments at
    the same times."""

_COLUMNS = """The columns kernel, Sojourn and by count are acknowledgements. One went at the same moment where both
    sent it within 20 us, with the same number and echo of marks; it is the same where its SACK blocks are too. What
    only one of them sent counts as different. Segments come as a sender in slow start sends them: 10 in the first
    round trip of 40 ms, then twice as many in each."""

_MISSING = (
    """The receive buffer grows as Linux's does, and says when acknowledgements go; the window that it allows does not
    bind the sender, which is bound by `receive_window` from the start. Linux 6.1 starts with 64 kB and ends with 3 MB
    (`net.ipv4.tcp_rmem`), which `receive_window = "3145728 B"` sets. In slow start the buffer grows ahead of the
    window.""",
    """A segment that cannot be marked, after some that could be, is acknowledged at once by Linux, as it was probably
    sent again. Sojourn's receiver does not see whether a segment can be marked.""",
    """The application reads at once. It writes whole segments, in the cases named `talk`, which go at once; what waits
    to be sent when data comes is not part of the comparison. Nor are segments that are not full, and with them the
    PSH flag, nor is the offload of a network card (`receive_offload`): segments came one by one.""",
)

_METHOD = (
    """The kernel listens behind a TUN device; a program is the sender and the path. It gives the kernel each segment
    at its time, with the timestamp that a sender would echo by then, and reads as the application. With a kernel in
    virtual time none of its work takes time. Timers of this kernel tick every 10 ms, which Sojourn's `timer_tick`
    follows.""",
    """`python -m benchmarks.receivers` replays `benchmarks/receivers/recordings.zip` and writes this page. With
    `--live` it records anew, which needs the kernel `uml-virtual` (`sojourn testbed doctor`).""",
)
