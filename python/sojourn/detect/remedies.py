"""What to do about a queue that was found: three sentences, a command, and what it would change on this very line."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn import api
from sojourn.comparison import Comparison, compare
from sojourn.detect.answer import SURE, Answer
from sojourn.detect.bandwidth import Carries
from sojourn.detect.passive import BEFORE, Passive
from sojourn.detect.table import queue_table

SHAPED = 0.95
"""A queue of one's own only works where it is the slowest: it gets this part of the line's rate."""
AS_IT_IS = "as it is"
_DEFAULT_RTT_MS = 30.0
_RUNS = 3
# A call waits no longer than this where nothing needs to be done.
_GOOD_MS = 20.0
_POLICER = "policer"
_MEANING = {
    "FIFO": "a FIFO: packets leave in the order in which they came, and one flow's backlog delays all others",
    "FIFO with AQM": "a FIFO with AQM: the wait of all is short, and background transports get as much as the others",
    "fair queueing": "fair queueing: flows do not wait for each other, but each for all that it has sent itself",
    "fair queueing with AQM": "fair queueing with AQM: flows do not wait for each other, and none fills its own queue",
    "heavy-hitter filter": "a heavy-hitter filter: flows of more than 128 kB in 40 ms wait behind all others",
    _POLICER: "a policer: what is above the rate is dropped at once, and nothing waits",
    "shaper": "a shaper: a burst passes faster than the rate that lasts, and then packets wait",
}
_UP = "CAKE on the router that sends into the line"
_DOWN = "CAKE on the router behind the line, where it sends on what came"
_NEEDED = ", a little slower than the line, keeps a call's wait short"
_UNKNOWN = "at which rate cannot be told, since"
_NOT_NEEDED = (
    "A call does not suffer from it; background traffic that is to give way still needs a mark (DSCP LE) and a queue "
    "that knows it, such as CAKE's."
)


@dataclass(frozen=True)
class Remedy:
    """What to do about a queue."""

    sentences: tuple[str, str, str]
    """What the line does, what its queue does, and what to do."""
    command: str | None = None
    """The command that does it; None where nothing needs to be done."""
    table: Comparison | None = None
    """A call beside an upload on this line, as it is and with other queues; None for what is no queue of a scenario."""

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "sentences": list(self.sentences),
            "command": self.command,
            "variants": [] if self.table is None else self.table.rows(),
        }


@dataclass(frozen=True)
class _Seen:
    """What is known of a line and its queue, from a probe or from a capture."""

    family: str
    is_sure: bool
    line: Carries
    carried_mbps: float
    link: Mapping[str, Any] | None
    """The line as a link of a scenario; None where its queue or its rate is not known."""
    waits: str
    """What waits how long, in words."""
    needed: bool
    """Whether something needs to be done."""
    is_behind: bool = False
    """Whether the router that can be reached is behind the queue, as at home for what comes down."""


def remedy(found: Answer, base_ms: float | None = None) -> Remedy | None:
    """Return what to do about what a probe found; None where nothing is known of the queue.

    Parameters
    ----------
    found
        The answer of a probe.
    base_ms
        Round-trip time of the line while nothing waits; 30 ms where it is not known.
    """
    judged, delay_ms = found.judgement, found.delay_ms
    if judged is None or found.carried_mbps is None or delay_ms is None:
        return None
    # Behind a policer nothing waits, and what is too much is lost, also of a call.
    needed = delay_ms > _GOOD_MS or judged.family == _POLICER
    waits = f"95 % of a call's packets wait up to {delay_ms:.3g} ms in its queue beside a bulk flow"
    link = _link(found.line, queue_table(judged.best, found.parameters, found.deepest_ms, found.line.low_mbps))
    is_sure = not found.is_new and judged.families[judged.family] >= SURE
    return _remedy(_Seen(judged.family, is_sure, found.line, found.carried_mbps, link, waits, needed), base_ms)


def remedy_for_download(found: Passive) -> Remedy | None:
    """Return what to do about what a capture shows; None where nothing is known of the queue."""
    judged, rate_mbps, is_behind = found.judgement, found.rate_mbps, found.place == BEFORE
    if rate_mbps is None:
        return None
    if found.policer is not None:
        lost = f"{100 * found.lost / found.packets:.2g} % of this download's packets were lost there"
        policed = {
            "rate": f"{max(rate_mbps, found.policer.rate_bps / 1e6):.6f} Mbit/s",
            "policer": found.policer.table(),
            "queue": "droptail",
        }
        return _remedy(_Seen(_POLICER, True, found.line, rate_mbps, policed, lost, False, is_behind), found.rtt_ms)
    if judged is None:
        return None
    wait_ms, isolated = found.wait_ms["p95"], bool(found.isolated)
    is_sure = not judged.is_new and found.isolated is not None and judged.families[judged.family] >= SURE
    waits = f"95 % of this download's packets waited up to {wait_ms:.3g} ms in its queue"
    waits += ", as only it did" if isolated else ", and so does a call beside it unless flows are kept apart"
    read = {"limit_packets": found.parameters["buffer_packets"]} if "buffer_packets" in found.parameters else {}
    link = _link(found.line, queue_table(judged.best, read, found.wait_ms["deepest"], found.line.low_mbps))
    needed = wait_ms > _GOOD_MS and not isolated
    return _remedy(_Seen(judged.family, is_sure, found.line, rate_mbps, link, waits, needed, is_behind), found.rtt_ms)


def _link(line: Carries, queue: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return None if queue is None or line.low_mbps is None else {"rate": f"{line.low_mbps:.6f} Mbit/s", "queue": queue}


def _remedy(seen: _Seen, base_ms: float | None) -> Remedy:
    line = seen.line
    known = line.low_mbps is not None and line.high_mbps is not None
    shaped = None if line.low_mbps is None else f"{line.low_mbps * SHAPED:.3g}mbit"
    ingress = " ingress" if seen.is_behind else ""
    command = f"tc qdisc replace dev DEV root cake bandwidth {shaped}{ingress}" if seen.needed and known else None
    likely = "is" if seen.is_sure else "is most like"
    carried = f"The line carries {_range(line)}" if known else f"Up to {seen.carried_mbps:.3g} Mbit/s got through"
    router = (_DOWN if seen.is_behind else _UP) + _NEEDED
    do = f"{router}: {command}" if command else f"{router}; {_UNKNOWN} {line.why_not}."
    sentences = (
        f"{carried}, and {seen.waits}.",
        f"The queue {likely} {_MEANING[seen.family]}.",
        do if seen.needed else _NOT_NEEDED,
    )
    variants = _alternatives(seen, base_ms)
    table = compare(variants, runs=_RUNS, purpose="calls") if variants else None
    return Remedy(sentences, command, table)


def _range(line: Carries) -> str:
    """Return a line's rate in words: one number where both ends are written alike."""
    low, high = (f"{rate or 0.0:.3g}" for rate in (line.low_mbps, line.high_mbps))
    return f"{low} Mbit/s" if low == high else f"{low} to {high} Mbit/s"


def _alternatives(seen: _Seen, base_ms: float | None) -> dict[str, api.Scenario]:
    """Return a call beside an upload on this line, with its own queue and with others; nothing where it is unknown."""
    rate = seen.line.low_mbps
    if seen.link is None or rate is None:
        return {}
    shaped = f"{rate * SHAPED:.6f} Mbit/s"
    links = {
        AS_IT_IS: seen.link,
        "cake at 95 %": {**seen.link, "queue": {"kind": "cake", "bandwidth": shaped}},
        "fq_codel at 95 %": {"rate": shaped, "queue": {"kind": "fq_codel", "preset": "linux"}},
        "codel at 95 %": {"rate": shaped, "queue": {"kind": "codel", "preset": "linux"}},
    }
    return {name: api.scenario(_line(link, base_ms or _DEFAULT_RTT_MS)) for name, link in links.items()}


def _line(link: Mapping[str, Any], base_ms: float) -> dict[str, Any]:
    rtt = f"{max(base_ms, 0.1):.6f} ms"
    upload = {"name": "upload", "control": {"kind": "cubic", "preset": "linux"}, "transport": "linux", "start": "2 s"}
    return {
        "name": "this-line",
        "duration": "30 s",
        "warmup": "5 s",
        "bottleneck": dict(link),
        "group": [{"name": "call", "traffic": "voip", "rtt": rtt}, {**upload, "rtt": rtt}],
    }
