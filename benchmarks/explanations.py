"""Written explanations of what disagrees; docs/validation.md prints those that are needed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.compare import NOISE

FILLING = """The mean is over the whole run, and the buffer has to fill first. From 10 s on (the rows below) the queue
agrees with the paper, which does not say from when on it measured."""

STARTING = """The share of the link that the start costs is missing here. Over the whole run (the rows above) it agrees;
so no single measuring interval agrees with the paper in both panels."""


LINUX_RED = """Under RED windows are of three or four segments, and what decides is the sender's recovery from small losses.
ns-2's Agent/TCP/Linux has another one than its NewReno: forward acknowledgements, rate halving, and a back-off that
every acknowledgement ends."""
VEGAS_RED = """ns-2's module is that of Linux 2.6.22: the window that a decision starts from is the one at the start of
the round trip before, so that it grows by one segment in every other round trip only; today's Linux, and Sojourn, grow
by one in each. Half the growth is 0.71 of the rate at the same losses, a share of 0.59 for NewReno; ns-2 has 0.57 to 0.58."""
WESTWOOD = """In ns-2 this is Reno, not Westwood+. Its Agent/TCP/Linux never tells the module that a recovery has ended, which is
when Linux sets the window to bandwidth times least RTT; it asks for that product at the loss instead, where the round
trip is in ticks of 10 ms and the bandwidth per millisecond, so that the product is ten times too small, and ends the
recovery at the threshold, half of the window. With NewReno in place of Westwood+ and the same SACK sender Sojourn's
share is 0.46 and 0.50 where ns-2 has 0.47 and 0.50."""


@dataclass(frozen=True)
class Explanation:
    """A text for the checks that have all the given properties; a tuple is a choice of values."""

    text: str
    properties: Mapping[str, Any]


PEERS = (
    Explanation(WESTWOOD, {"peer": "ns2", "other": "linux:westwood", "queue": "droptail", "metric": "share_1"}),
    Explanation(VEGAS_RED, {"peer": "ns2", "other": "linux:vegas", "queue": "red"}),
    Explanation(LINUX_RED, {"peer": "ns2", "family": "controls", "queue": "red"}),
)
PAPERS = (
    Explanation(FILLING, {"queue_kind": "droptail", "metric": "queue", "condition": "all start at 0 s"}),
    Explanation(FILLING, {"queue_kind": "droptail", "metric": "queue", "condition": "start within the first 0.1 s"}),
    Explanation(
        STARTING,
        {
            "queue_kind": "red",
            "metric": "utilization",
            "condition": "start within the first 0.1 s, measured from 10 s on",
        },
    ),
)


def of_peer(check: Mapping[str, Any], peer: str, family: str, point: Mapping[str, Any]) -> str | None:
    """Return why a check against a peer fails, if it is known."""
    if check["errors"] is not None and abs(check["errors"]) < NOISE:
        return "Noise: the difference is less than two of its standard errors; these runs cannot decide."
    return _find(PEERS, {**point, **check, "peer": peer, "family": family})


def of_paper(check: Mapping[str, Any]) -> str | None:
    """Return why a check against the paper fails, if it is known."""
    return _find(PAPERS, check)


def _find(explanations: tuple[Explanation, ...], check: Mapping[str, Any]) -> str | None:
    for explanation in explanations:
        if all(
            check[name] in value if isinstance(value, tuple) else check[name] == value
            for name, value in explanation.properties.items()
        ):
            return " ".join(explanation.text.split())
    return None
