"""Written explanations of what disagrees; docs/validation.md prints those that are needed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.compare import NOISE

DEVICE = """ns-3's device keeps one packet that RED's average does not see and that is counted as waiting, so its queue
is about one packet longer than that of ns-2 and Sojourn."""
SENDER = """ns-3's sender is another one: SACK with proportional rate reduction, and a threshold from the data in
flight. The column "with SACK" shows how far Sojourn's own SACK sender moves; what remains of the difference is open."""
FILLING = """The mean is over the whole run, and the buffer has to fill first. From 10 s on (the rows below) the queue
agrees with the paper, which does not say from when on it measured."""

STARTING = """The share of the link that the start costs is missing here. Over the whole run (the rows above) it agrees;
so no single measuring interval agrees with the paper in both panels."""


@dataclass(frozen=True)
class Explanation:
    """A text for the checks that have all the given properties."""

    text: str
    properties: Mapping[str, Any]


PEERS = (
    Explanation(DEVICE, {"peer": "ns3", "queue": "red", "metric": "queue_packets_mean"}),
    Explanation(SENDER, {"peer": "ns3", "metric": "drops"}),
    Explanation(SENDER, {"peer": "ns3", "metric": "utilization"}),
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


def of_peer(check: Mapping[str, Any], peer: str, queue: str) -> str | None:
    """Return why a check against a peer fails, if it is known."""
    if check["errors"] is not None and abs(check["errors"]) < NOISE:
        return (
            f"Noise: the difference is {abs(check['errors']):.1f} standard errors of itself; these runs cannot decide "
            "at this tolerance."
        )
    return _find(PEERS, {**check, "peer": peer, "queue": queue})


def of_paper(check: Mapping[str, Any]) -> str | None:
    """Return why a check against the paper fails, if it is known."""
    return _find(PAPERS, check)


def _find(explanations: tuple[Explanation, ...], check: Mapping[str, Any]) -> str | None:
    for explanation in explanations:
        if all(check[name] == value for name, value in explanation.properties.items()):
            return " ".join(explanation.text.split())
    return None
