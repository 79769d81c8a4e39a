"""Writes the page on Mahimahi."""

from collections.abc import Mapping

from benchmarks.common import Document, paragraph, table

WITHIN = 0.15
"""By how much means of one run of a kernel and of five of Sojourn may differ and count as agreeing."""

_PACKET_BITS = 12_000


def render(document: Document) -> list[str]:
    """Return the page, in paragraphs."""
    cells = {
        tuple(name.split()): both for name, both in document["cells"].items() if {"kernel", "sojourn"} <= set(both)
    }
    near = sum(_near(both) for both in cells.values())
    plain = {name: both for name, both in cells.items() if name[1] == "droptail"}
    near_plain = sum(_near(both) for both in plain.values())
    traces = dict.fromkeys(name[0] for name in cells)
    return [
        "# Does a kernel's TCP over Mahimahi's links queue as Sojourn's does?",
        "<!-- Written by `python -m benchmarks.mahimahi`. Do not edit by hand. -->",
        paragraph(
            f"Mean queueing delays agree within {100 * WITHIN:.0f} % in {near_plain} of {len(plain)} cells with "
            f"DropTail, and in {near} of {len(cells)} with DropTail, CoDel and PIE. {_ANSWER}"
        ),
        *(part for trace in traces for part in _trace(trace, cells)),
        "## Why do some differ?",
        *(paragraph(text) for text in _WHY),
        "## How was it measured?",
        *(paragraph(text) for text in _METHOD),
        paragraph(
            f"The kernel was Linux {document['kernel']}. Each cell is one run of {document['seconds']} s. {_LOAD}"
        ),
        "## What needs root?",
        paragraph(_ROOT),
    ]


def _near(both: Mapping[str, Document]) -> bool:
    kernel, ours = both["kernel"]["mean_ms"], both["sojourn"]["mean_ms"]
    return bool(abs(ours - kernel) <= WITHIN * kernel)


def _trace(trace: str, cells: Mapping[tuple[str, ...], Mapping[str, Document]]) -> list[str]:
    heads = ["queue", "control", "flows>", "mean delay [ms]>", "median [ms]>", "rate [Mbit/s]>", "load>", "agrees"]
    rows = []
    for name, both in cells.items():
        if name[0] != trace:
            continue
        pair = (both["kernel"], both["sojourn"])
        rates = [measured["packets"] * _PACKET_BITS / 1e6 / 60 for measured in pair]
        rows.append(
            [
                name[1],
                name[2],
                name[3],
                " / ".join(f"{measured['mean_ms']:.1f}" for measured in pair),
                " / ".join(f"{measured['median_ms']:.0f}" for measured in pair),
                " / ".join(f"{rate:.2f}" for rate in rates),
                f"{both['kernel']['load']:.0f}",
                "yes" if _near(both) else "**no**",
            ]
        )
    return [f"## `{trace}`", table(heads, rows)]


_ANSWER = """A value is kernel / Sojourn. The kernel's senders run in real time behind Mahimahi's link shell, which
    replays a recorded link. Sojourn simulates the same link, queue and senders with its presets `linux`."""

_WHY = (
    """PIE: Mahimahi's multiplies delays in milliseconds by the gains that RFC 8033 has for seconds, and divides by 128,
    32 or 16 afterwards. A step of its probability is 62 times that of the RFC or more. So it drops more and keeps
    less.""",
    """CoDel: Mahimahi's keeps time in whole milliseconds and drops the packet behind the one that it hands on. Whether
    this is the reason was not tested.""",
    """BBR, and the rest: not known. The kernel is newer than the one that the presets `linux` follow (6.1), it paces
    with the timers of a busy machine, and one run of it has no interval. mm-link writes delays in whole
    milliseconds.""",
)

_METHOD = (
    """A path is `mm-delay 20` around `mm-link`: a round trip of 40 ms, the recorded link towards the receiver, 12
    Mbit/s back. DropTail, CoDel (5 ms in 100 ms) and PIE (20 ms, bursts of 100 ms) hold 300 packets. Delays are those
    of packets that left within 60 s of the first one's arrival, as mm-link's log has them. Rates count packets of
    1500 B. Sojourn's numbers are means of five runs.""",
    """`python -m benchmarks.mahimahi --live --shells DIR TRACE` measures again; DIR holds `mm-delay` and `mm-link`,
    built from github.com/ravinet/mahimahi. Without `--live` only Sojourn runs. Where shells or rights are missing it
    says what is, and ends with 1. Recordings other than the project's own are not part of it.""",
)

_LOAD = """The column "load" is the machine's average load over the last minute of a run; its two processors were shared
    with other work."""

_ROOT = """The shells make network namespaces, addresses, routes and rules of address translation, and are setuid for
    that. A run copies them to a private folder, setuid, and removes it. Everything happens in a network namespace of
    the run's own, in which it allows forwarding and in which the senders choose their congestion control. No setting
    of the machine is changed."""
