"""What of the paper holds and what does not, from what the items found."""

from sojourn.papers.doubts import doubts
from sojourn.study.model import Findings

# Items whose findings are the answer, in the order of the argument.
_ANSWERS = ("table1", "model", "table3", "table2-linux", "table3-linux", "testbed", "adsl", "today", "remedies")
# What an item's checks have in common where they do not agree; each check says more.
_DOUBTS = {
    "model": "Equations: 5 is about a full buffer, not about a sawtooth, and 7 understates the price of much padding.",
    "table2": "Table II: its round-trip times do not fit its buffer and delays; those that fit are shown beside.",
    "table3": "Table III: with FreeBSD's delayed acknowledgements the large buffers are fuller than in the paper; with "
    "undelayed ones they agree, but the right-sized buffer then serves the upload better than there.",
    "table2-linux": "Table II on the kernel: 120 packets hold too much there too, padding does not help Vegas, and the "
    "simulation's round-trip times are longer than the kernel's, in part by the transmission time that its shaper "
    "leaves out.",
    "table3-linux": "Table III on the kernel: padding divides NewReno's round-trip time by less than in the paper; "
    "where upload and download are Vegas, it does not help, and the download stays slow in all ways; simulation and "
    "kernel differ most there.",
    "testbed": "Figs. 8 to 11: padding brings NewReno and CUBIC towards Vegas, not quite to it.",
    "adsl": "Figs. 12 to 14: on the slower line padding shortens the median and not the mean, since lost handshakes "
    "wait for FreeBSD's 3 s; with 1 s it shortens the mean, too. NewReno does not do worse than CUBIC at 6/s.",
    "remedies": "Remedies: at so low a rate FQ-CoDel costs a lone upload about as much as bursts of padding do, and "
    "adaptive padding reaches its bound before its target.",
}


def summary(findings: dict[str, Findings]) -> str:
    """Return the answer in a few paragraphs; whether anything holds is read from the checks."""
    paragraphs = [findings[name].verdict for name in _ANSWERS if name in findings]
    paragraphs += doubts(findings, _DOUBTS)
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
