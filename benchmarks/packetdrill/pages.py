"""Writes the page on packetdrill's scripts."""

from collections import Counter
from collections.abc import Mapping

from benchmarks.common import Document, paragraph, table

WANTED = 0.8
"""What share of those in scope is to pass."""

_LONGEST_WHY = 60

_HYSTART = """The script is older than a repair of `hystart_update`, which Linux 6.1.192 has: round trips are told apart
    below a window of 16 too. So slow start ends at 36. Recordings of 6.1.192 agree with Sojourn."""
_REASONS = {
    "cubic/cubic-bulk-166k-idle-restart.pkt": _HYSTART,
    "cubic/cubic-bulk-166k.pkt": _HYSTART,
    "cwnd_moderation/cwnd-moderation-ecn-enter-cwr-no-moderation-700.pkt": """The script was written for an older
    `tcp_cwnd_reduction`. That of Linux 6.1 lets one segment more go where SND.UNA advanced and nothing was lost.""",
    "fast_retransmit/fr-4pkt-fack-last-mss.pkt": """The script expects the reordering timer after 25 ms and two
    ticks of an older kernel, rounded up to a tick. Linux 6.1 waits 25 ms and 2 ms (`TCP_TIMEOUT_MIN_US`), and so does
    Sojourn.""",
}
"""Why a script fails, where that is known: it expects what a kernel before 6.1.192 did."""


def render(document: Document) -> list[str]:
    """Return the page, in paragraphs."""
    linux = document["linux"]
    inside = {name: result for name, result in linux.items() if result["outcome"] != "out of scope"}
    outside = {name: result for name, result in linux.items() if result["outcome"] == "out of scope"}
    passed = sum(result["outcome"] == "passes" for result in inside.values())
    return [
        "# Does Sojourn's transport pass Linux's own TCP tests?",
        paragraph(
            f"{passed} of {len(inside)} scripts in scope pass ({100 * passed / max(len(inside), 1):.0f} %; "
            f"{100 * WANTED:.0f} % are wanted); {len(outside)} are out of scope. {_ANSWER}"
        ),
        table(["script", "outcome", "why", "not checked>"], [_row(name, result) for name, result in inside.items()]),
        paragraph(f"The scripts are those of {document['revision'] or 'an unnamed folder'}. {_COLUMNS}"),
        *_failures(inside),
        "## Which scripts of the project's own are there?",
        paragraph(_OWN),
        table(["script", "outcome", "why", "not checked>"], [_row(*item) for item in document["own"].items()]),
        "## Which scripts are out of scope?",
        paragraph(_OUTSIDE),
        table(["folder", "scripts>", "reasons"], _folders(outside)),
        "## How are they run?",
        *(paragraph(text) for text in _METHOD),
    ]


def _failures(inside: Mapping[str, Document]) -> list[str]:
    failed = [name for name, result in inside.items() if result["outcome"] == "fails"]
    if not failed:
        return []
    rows = [[f"`{name}`", " ".join(_REASONS.get(name, "Not known.").split())] for name in failed]
    return ["## Why do scripts fail?", table(["script", "reason"], rows)]


def _row(name: str, result: Document) -> list[str]:
    bold = result["outcome"] if result["outcome"] == "passes" else f"**{result['outcome']}**"
    return [f"`{name}`", bold, result["why"], str(result["unchecked"] or "")]


def _folders(outside: Mapping[str, Document]) -> list[list[str]]:
    folders: dict[str, Counter[str]] = {}
    for name, result in outside.items():
        why = result["why"].split(": ", 1)[-1]
        folders.setdefault(name.rpartition("/")[0], Counter())[why[:_LONGEST_WHY]] += 1
    return [
        [
            f"`{folder}`",
            str(sum(reasons.values())),
            "; ".join(f"{why} ({count})" for why, count in reasons.most_common(3)),
        ]
        for folder, reasons in folders.items()
    ]


_ANSWER = """packetdrill is the tool with which Linux tests its TCP: a script says which packets arrive, and which the
    kernel has to send when. Here the scripts lead Sojourn's sender with its `linux` presets."""

_COLUMNS = """They are not part of the project. The first line that does not hold is shown; segments are
    numbered from 0. "Not checked" counts assertions on values that the engine does not tell, such as `tcpi_sacked`."""

_OWN = """These were written from the RFCs and run with the presets `rfc`, in every run of the tests."""

_OUTSIDE = """A script is out of scope where it tests what Sojourn's transport does not have: data of the peer, the
    end of a connection, a receiver that closes its window, TCP Fast Open, segments that are not full, the socket
    interface. The most frequent reasons are shown."""

_METHOD = (
    """A translator reads the subset of the language that concerns a sender of data: packets with their options,
    writes, assertions on TCP_INFO, and the sysctls that are set. Nothing of a script is executed. Flags of the
    sender's packets are not compared. An expected packet of several segments is as many segments: a script that
    was written for a host with segmentation offload expects them together, and so within the script's tolerance
    (4 ms where it names none). Where a script installs the qdisc `fq`, Sojourn's host paces and sends bursts too.""",
    """`python -m benchmarks.packetdrill` runs the project's own scripts. With `--scripts DIR` it runs those below
    a folder as well, for instance `gtests/net/tcp` of github.com/google/packetdrill, and writes this page.""",
)
