"""What a download says of the queue that it crossed, and what it cannot say because nothing was sent to find out."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.detect.answer import SURE
from sojourn.detect.bandwidth import ALIKE, Carries
from sojourn.detect.download import Beside, Episodes, beside, episodes, features, rate_bps
from sojourn.detect.log import EMPTY, FlowLog, Times
from sojourn.detect.model import Judgement, Model, Reading
from sojourn.detect.plan import FULL_BYTES
from sojourn.detect.policing import Policer, policer
from sojourn.detect.streams import Stream
from sojourn.detect.waits import quantile, waiting

Sizes = NDArray[np.int64]
BEFORE, AFTER, ENDS = "in front of the capture", "behind the capture", "between the two ends"
MIN_PACKETS, MIN_S = 200, 2.0
"""Of fewer packets, or in less time, no queue is named."""
_MIN_QUEUE_S, _MIN_QUEUE_PACKETS, _MIN_TICKS = 1e-3, 3.0, 3.0
_MAX_MISSED = 0.01
# Other traffic that was not captured takes its part now and then.
_MAX_CHANGE = 3.0
# A slope below the first is isolation, where the median waits differ by the last factor at least. A slope above the
# second, with a difference that swings less than the third, is one queue.
_ISOLATED, _SHARED, _SAME, _ALIKE = 0.3, 0.7, 0.25, 1.5
_TAIL = 0.8
_QUARTERS = 4
# A line's rate is known where so many quarters show a standing queue, at rates that are alike.
_KNOWN_QUARTERS = 3
_FEW = 10


@dataclass(frozen=True)
class Passive:
    """What can be said of a download."""

    verdict: str
    """One sentence."""
    cannot: Mapping[str, str]
    """What cannot be said, and why: keys are `queue`, `rtt`, `isolated`, `parameters`."""
    stream: str
    """The stream that is looked at: the largest one."""
    place: str | None
    """Where its queue is, seen from the capture."""
    packets: int
    size_bytes: int
    seconds: float
    judgement: Judgement | None = None
    rate_mbps: float | None = None
    """The rate of the busiest fifth of its time, all streams of its direction together, as IP packets."""
    line: Carries = field(default_factory=Carries)
    """What the line carries: all that was captured while packets waited, where that was the same at every time."""
    rtt_ms: float | None = None
    """The least round-trip time that was seen."""
    wait_ms: Mapping[str, float] = field(default_factory=dict)
    """Quantiles of the delay above the least: `p5`, `median`, `p95`, `deepest` (99.9 %)."""
    lost: int = 0
    losses: Episodes | None = None
    policer: Policer | None = None
    """The token bucket that explains the losses, where one does and no queue is seen."""
    ect: int = 0
    """Packets that allowed marks."""
    marked: int = 0
    isolated: bool | None = None
    """Whether another flow waited by itself, as fair queueing lets it; None where that cannot be told."""
    parameters: Mapping[str, Reading] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What was wrong with the capture."""

    @property
    def has_aqm(self) -> float | None:
        """The probability that the queue has AQM, fair queueing or not."""
        if self.judgement is None:
            return None
        return sum(share for name, share in self.judgement.families.items() if "AQM" in name)

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        judged = self.judgement
        said = asdict(replace(self, judgement=None))
        if self.losses is not None:
            # Of what never happened there is no median.
            said["losses"] = {key: None if np.isnan(value) else value for key, value in said["losses"].items()}
        return {
            "verdict": self.verdict,
            "name": None if judged is None or judged.is_new or judged.names[judged.best] < SURE else judged.best,
            "aqm": self.has_aqm,
            "names": {} if judged is None else dict(judged.names),
            "families": {} if judged is None else dict(judged.families),
            "sets": {} if judged is None else {key: list(names) for key, names in judged.sets.items()},
            "novelty": None if judged is None else judged.novelty,
            **{key: value for key, value in said.items() if key not in ("verdict", "judgement")},
        }


@dataclass(frozen=True)
class _Looked:
    """The largest stream, on the side of the capture on which its queue is, and those beside it."""

    place: str | None
    log: FlowLog | None
    rate: float
    """bit/s of all of them."""
    tick_s: float
    others: Sequence[tuple[str, FlowLog]]
    streams: Sequence[Stream]
    """Those that share the queue, as far as they were captured."""

    @classmethod
    def at(cls, streams: Sequence[Stream]) -> "_Looked":
        largest, *rest = streams
        place, log = _log(largest)
        beside = [(one, its) for one in rest for where, its in [_log(one)] if where == place]
        others = [(one.name, its) for one, its in beside if its is not None]
        sharing = [largest, *(one for one, _ in beside)]
        return cls(place, log, rate_bps(sharing), largest.resolution_s if place == BEFORE else 0.0, others, sharing)

    @property
    def other(self) -> Beside | None:
        """The flow beside the largest one that tells how their waits are related."""
        return None if self.log is None else beside(self.log, self.others, self.tick_s)


def values_of(streams: Sequence[Stream]) -> dict[str, float]:
    """Return the features of the largest of some streams; NaN for what cannot be seen."""
    seen, largest = _Looked.at(streams), streams[0]
    log = EMPTY if seen.log is None else seen.log
    return features(log, seen.rate, is_ect=largest.ect > 0, rtt_s=largest.rtt_s, other=seen.other)


def looked_at(streams: Sequence[Stream]) -> FlowLog:
    """Return the packets of the largest stream as the side of the capture shows them that has the queue."""
    return _Looked.at(streams).log or EMPTY


@dataclass(frozen=True)
class Leaving:
    """What left a queue between one packet of the largest stream and the next."""

    at_s: Times
    """When the second of both left."""
    gaps_s: Times
    size_bytes: Sizes
    """Of all captured streams."""
    held_bytes: Sizes
    """What the queue held while the second of both waited."""
    stands: NDArray[np.bool_]
    """Whether both had waited, so that the queue never ran empty between them."""


def leaving(streams: Sequence[Stream]) -> Leaving | None:
    """Return what left the queue of the largest stream; None where nothing tells how long its packets waited."""
    seen = _Looked.at(streams)
    if seen.log is None or not seen.rate > 0:
        return None
    return _leaving(seen.log, seen.streams, FULL_BYTES * 8 / seen.rate)


def passive(streams: Sequence[Stream], model: Model, notes: Sequence[str] = ()) -> Passive:
    """Return what the largest of some streams says, and the others beside it."""
    largest, seen = streams[0], _Looked.at(streams)
    place, log, rate = seen.place, seen.log, seen.rate
    found: dict[str, Any] = {
        "stream": largest.name,
        "place": place,
        "packets": len(largest.arrived_s),
        "size_bytes": largest.total_bytes,
        "seconds": float(np.ptp(largest.arrived_s)),
        "rate_mbps": rate / 1e6 if rate > 0 else None,
        "rtt_ms": None if largest.rtt_s is None else largest.rtt_s * 1e3,
        "ect": largest.ect,
        "marked": largest.marked + largest.echoes * (place == AFTER),
        "notes": (*notes, *_notes(largest)),
    }
    cannot = {} if largest.rtt_s is not None else {"rtt": _no_rtt(largest)}
    if log is None or place is None:
        because = _no_waits(largest)
        return Passive(f"cannot say, because {because}", {**cannot, "queue": because}, **found)
    other = seen.other
    apart, untold = _isolation(other, has_others=bool(seen.others))
    if untold is not None:
        cannot["isolated"] = untold
    lost = episodes(log)
    found |= {
        "wait_ms": _quantiles(log),
        "lost": int(log.lost.sum()),
        "losses": lost,
        "isolated": apart,
    }
    evidence = (*largest.limits.sentences(), *_evidence(log, lost, other, found))
    too_little = _too_little(largest, log, rate)
    may_be_policed = too_little is None and not _waits(log, rate, seen.tick_s)
    policed = policer(log, is_before=place == BEFORE) if may_be_policed else None
    if policed is not None:
        verdict = f"{policed.sentence()}: packets were lost where its bucket was empty, and none waited"
        found |= {"policer": policed, "line": policed.carries(), "evidence": evidence}
        return Passive(verdict, {**cannot, "queue": "a policer drops what a queue would hold"}, **found)
    hindered = too_little or _hindrance(largest, log, seen, lost) or _never_full(largest, log)
    if hindered is not None and rate > 0:
        found["line"] = _carries(_quarters(log, seen.streams, FULL_BYTES * 8 / rate))
    if hindered is not None:
        said = Passive(f"cannot say, because {hindered}", {**cannot, "queue": hindered}, **found)
        return replace(said, evidence=evidence)
    judged = model.judge_download(values_of(streams))
    bucket = sum(judged.names.get(name, 0.0) for name in ("policer", "shaper"))
    if bucket <= 1 - SURE:
        line = _carries(_quarters(log, seen.streams, FULL_BYTES * 8 / rate))
    elif (policed := policer(log, is_before=place == BEFORE)) is not None:
        line = policed.carries()
    else:
        line = Carries(why_not="a token bucket may have let bursts pass")
    said = Passive(
        "", cannot, **found, judgement=judged, line=line, policer=policed if judged.best == "policer" else None
    )
    parameters, unread = _parameters(said, rate)
    if unread is not None:
        cannot["parameters"] = unread
    return replace(said, verdict=_verdict(said), parameters=parameters, evidence=evidence)


def _log(stream: Stream) -> tuple[str | None, FlowLog | None]:
    """Return on which side of the capture the queue is, and the packets as that side shows them."""
    if stream.whole:
        return ENDS, stream.before
    sides = [(BEFORE, stream.before, stream.lost_before), (AFTER, stream.after, stream.lost_after)]
    known = [(place, log, lost) for place, log, lost in sides if log is not None and (~log.lost).sum() >= _FEW]
    if not known:
        return None, None
    losing = [one for one in known if one[2]]
    chosen = losing if len(losing) == 1 and losing[0][2] > 1 else known
    place, log, _ = max(chosen, key=lambda one: quantile(one[1].delay_s, 0.95) - quantile(one[1].delay_s, 0.05))
    return place, log


def _no_waits(stream: Stream) -> str:
    if stream.name.endswith("UDP"):
        return (
            f"the largest stream, {stream.name}, does not tell when its packets were sent (a download over QUIC is "
            "UDP, too); a download over TCP does"
        )
    return (
        "the largest stream has no TCP timestamps that follow a clock and no acknowledgements in the capture, so that "
        "nothing tells how long its packets waited"
    )


def _no_rtt(stream: Stream) -> str:
    if stream.whole:
        return "the log of two ends has no acknowledgements"
    return "the capture has neither the begin of the connection nor acknowledgements with timestamps"


def _notes(stream: Stream) -> list[str]:
    notes = []
    if stream.missed:
        notes.append(f"{stream.missed} packets were never captured, though later ones were.")
    if stream.merged:
        notes.append("Packets were captured in larger pieces than a link carries, as network cards merge them.")
    return notes


def _too_little(stream: Stream, log: FlowLog, rate: float) -> str | None:
    """Return that too little was captured to say anything of what the stream crossed, where that is so."""
    count, seconds = len(log.sent_s), float(np.ptp(log.sent_s))
    if count < MIN_PACKETS or seconds < MIN_S or not rate > 0:
        return (
            f"the largest stream has {count} packets in {seconds:.2g} s; "
            f"at least {MIN_PACKETS} in {MIN_S:g} s are needed"
        )
    if stream.missed > _MAX_MISSED * count:
        return f"the capture missed {stream.missed} of {count} packets"
    return None


def _hindrance(stream: Stream, log: FlowLog, seen: _Looked, lost: Episodes) -> str | None:
    """Return why no queue can be named of what was captured, where that is so."""
    if not _waits(log, seen.rate, seen.tick_s):
        deepest = quantile(waiting(log), 0.999)
        if lost.packets:
            return (
                f"{lost.packets} packets were lost while none waited longer than {deepest * 1e3:.2g} ms, and not where "
                "a policer's bucket is empty: a link that loses packets, or a policer that others filled, too"
            )
        if not log.marked.any():
            elsewhere = (
                stream.limits.elsewhere()
                if stream.after is not None or stream.whole
                else "only one direction was captured, and without acknowledgements a queue behind cannot be seen"
            )
            return (
                f"no queue was seen: no packet waited longer than {deepest * 1e3:.2g} ms, and none was lost or marked; "
                f"{elsewhere}"
            )
    change = _change(log, seen.streams, FULL_BYTES * 8 / seen.rate)
    if change > _MAX_CHANGE:
        return f"the rate of the path changed during the download, by a factor of {change:.1f}"
    return None


def _waits(log: FlowLog, rate: float, tick_s: float) -> bool:
    """Return whether packets waited longer than the clocks and the packets before them explain; `rate` is in bit/s."""
    least = max(_MIN_QUEUE_S, _MIN_QUEUE_PACKETS * FULL_BYTES * 8 / rate, _MIN_TICKS * tick_s)
    return quantile(waiting(log), 0.999) >= least


def _never_full(stream: Stream, log: FlowLog) -> str | None:
    """Return that the receiver kept the queue from being filled, where that is so."""
    if not stream.limits.window_rules or log.lost.any() or log.marked.any():
        return None
    deepest_ms = quantile(waiting(log), 0.999) * 1e3
    return (
        "the receiver's window bounded what was on its way, so that the queue was never filled; "
        f"no packet waited longer than {deepest_ms:.3g} ms"
    )


def _carries(rates: Sequence[float]) -> Carries:
    """Return what a line carries, from the rates at which its queue was left in the quarters of a download."""
    low, high = min(rates, default=0.0) / 1e6, max(rates, default=0.0) / 1e6
    if high <= ALIKE * low and len(rates) < _KNOWN_QUARTERS:
        return Carries(why_not="packets did not wait long enough in most of the download")
    if high > ALIKE * low:
        why = (
            f"what was captured left the queue at {low:.3g} to {high:.3g} Mbit/s: others were on the line, or it varies"
        )
        return Carries(why_not=why, varies=True)
    return Carries(low, high)


def _change(log: FlowLog, streams: Sequence[Stream], packet_s: float) -> float:
    """Return by what the rate at which packets leave a standing queue differs between the quarters of a download."""
    rates = _quarters(log, streams, packet_s)
    return max(rates) / min(rates) if len(rates) > 1 else 1.0


def _leaving(log: FlowLog, streams: Sequence[Stream], packet_s: float) -> Leaving:
    """Return what left between the packets of a log, counting all streams that were captured."""
    came = ~log.lost
    wait, arrived = waiting(log)[came], log.received_s[came]
    is_behind = log is streams[0].after
    every_s, size_bytes = _passed(streams, is_behind=is_behind)
    order = np.argsort(every_s, kind="stable")
    total = np.concatenate([[0], np.cumsum(size_bytes[order])])

    def passed(until_s: Times) -> Sizes:
        return total[np.searchsorted(every_s[order], until_s, "right")]

    # What left between two packets is what was captured between them: as they left, or as they came to a queue behind.
    # So is what the queue held: what left while a packet waited, or what came to a queue behind.
    at_s = log.sent_s[came] if is_behind else arrived
    held = passed(at_s + wait) - passed(at_s) if is_behind else passed(at_s) - passed(at_s - wait)
    gaps = np.diff(arrived)
    # A sender that paused leaves a gap, too: the second packet came to the queue before the first one left.
    is_busy = (gaps >= 0) & (gaps <= wait[1:] + packet_s)
    stands = (wait[1:] > 5 * packet_s) & (wait[:-1] > 5 * packet_s) & is_busy
    return Leaving(arrived[1:], gaps, np.diff(passed(at_s)), held[1:], stands)


def _quarters(log: FlowLog, streams: Sequence[Stream], packet_s: float) -> list[float]:
    """Return the rates at which packets left a standing queue in the quarters of a download that show one.

    Packets of all streams count that were captured, in the time in which those of the log waited.
    """
    left = _leaving(log, streams, packet_s)
    edges = np.linspace(np.nanmin(log.received_s), left.at_s[-1], _QUARTERS + 1)
    rates = []
    for begin, end in itertools.pairwise(edges):
        own = left.stands & (left.at_s >= begin) & (left.at_s < end)
        seconds = left.gaps_s[own].sum()
        if own.sum() >= MIN_PACKETS // _QUARTERS and seconds > 0:
            rates.append(float(left.size_bytes[own].sum() * 8 / seconds))
    return rates


def _passed(streams: Sequence[Stream], *, is_behind: bool) -> tuple[Times, Sizes]:
    """Return when packets were captured, and their sizes; without those that a queue behind the capture drops."""
    kept = []
    for one in streams:
        lost = one.after.sent_s[one.after.lost] if is_behind and one.after is not None else ()
        kept.append(~np.isin(one.arrived_s, lost))
    return (
        np.concatenate([one.arrived_s[own] for one, own in zip(streams, kept, strict=True)]),
        np.concatenate([one.size_bytes[own] for one, own in zip(streams, kept, strict=True)]),
    )


def _isolation(other: Beside | None, *, has_others: bool) -> tuple[bool | None, str | None]:
    """Return whether another flow waited by itself, or why that cannot be told."""
    if other is None:
        if has_others:
            return None, "the flows beside it have too few packets, or the queue hardly moved while they were there"
        return None, "no other flow whose waits are known crossed the queue beside it"
    # In one queue both wait alike in the median, however badly each wait is known.
    is_alike = not (other.wait <= 1 / _ALIKE or other.wait >= _ALIKE)
    if other.slope < _ISOLATED and not is_alike:
        return True, None
    if other.slope > _SHARED and other.rest < _SAME:
        return False, None
    return None, "the wait of the flow beside it was neither its own nor the same at every time"


def _quantiles(log: FlowLog) -> dict[str, float]:
    wait = waiting(log) * 1e3
    fractions = {"p5": 0.05, "median": 0.5, "p95": 0.95, "deepest": 0.999}
    return {name: quantile(wait, fraction) for name, fraction in fractions.items()}


def _parameters(said: Passive, rate: float) -> tuple[dict[str, Reading], str | None]:
    """Return what the waits say of the queue's own numbers, or why they say nothing."""
    lost, aqm = said.losses, said.has_aqm
    assert lost is not None and aqm is not None  # noqa: S101, PT018 (it is asked of what was judged)
    wait = said.wait_ms
    if aqm >= SURE:
        return {"settles_at_ms": Reading(wait["median"], wait["p5"], wait["p95"])}, None
    if aqm > 1 - SURE:
        return {}, "it is not sure whether the queue is managed"
    if not lost.packets:
        return {}, f"nothing was dropped: the buffer is deeper than {wait['deepest']:.3g} ms"
    full = Reading(lost.wait_ms, lost.low_ms, lost.high_ms)
    packets = rate / 8 / FULL_BYTES / 1e3
    return {
        "buffer_ms": full,
        "buffer_packets": Reading(*(one * packets for one in (full.value, full.low, full.high))),
    }, None


def _verdict(said: Passive) -> str:
    judged, aqm = said.judgement, said.has_aqm
    assert judged is not None and aqm is not None  # noqa: S101, PT018
    share, family = judged.names[judged.best], judged.families[judged.family]
    if judged.is_new:
        return f"unknown, most like {judged.best}"
    if share >= SURE:
        return f"{judged.best} ({share:.0%}): {judged.family} ({family:.0%})"
    set_ = " or ".join(judged.sets["95 %"])
    # Without a second flow only what queues people have speaks for or against fair queueing.
    if family >= SURE and said.isolated is not None:
        return f"{judged.family} ({family:.0%}), most like {judged.best} ({share:.0%}); with 95 % it is {set_}"
    if aqm >= SURE:
        return f"a queue with AQM ({aqm:.0%}), most like {judged.best} ({share:.0%}); with 95 % it is {set_}"
    if aqm <= 1 - SURE:
        return f"a queue without AQM ({1 - aqm:.0%}), most like {judged.best} ({share:.0%}); with 95 % it is {set_}"
    return f"not sure: {judged.best} ({share:.0%}) or another; with 95 % it is {set_}"


def _evidence(log: FlowLog, lost: Episodes, other: Beside | None, found: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what was seen and what it means, a sentence each."""
    wait = found["wait_ms"]
    median, low, high = (f"{wait[name]:.3g}" for name in ("median", "p5", "p95"))
    said = [f"Packets waited {median} ms in the median, and {low} to {high} ms in nine of ten cases."]
    if not lost.packets:
        said.append("No packet was lost.")
    else:
        times = "once" if lost.count == 1 else f"{lost.count} times"
        each = "one packet each" if lost.packets == lost.count else f"{lost.packets / lost.count:.1f} packets each"
        said.append(
            f"Packets were lost {times}, {each}, where the queue held {lost.low_ms:.3g} to {lost.high_ms:.3g} ms."
        )
        deep = lost.wait_ms >= _TAIL * wait["deepest"]
        said.append(
            "Losses came where the queue was deepest, as a full buffer drops."
            if deep
            else "Losses came where the queue was not at its deepest, as an AQM drops, or a link that loses packets."
        )
    if found["marked"]:
        said.append(f"{found['marked']} packets were marked instead of dropped (CE), so the queue has AQM with ECN.")
    elif found["ect"]:
        said.append("The packets allowed marks (ECT), and none was marked.")
    else:
        said.append("The packets did not allow marks, so whether the queue would mark is not known.")
    if other is not None:
        meaning = {True: "flows are isolated from each other", False: "both share one queue"}
        said.append(
            f"Beside it, the wait of {other.name} changed by {other.slope:.2f} ms with each ms of the largest stream's"
            f": {meaning.get(found['isolated'], 'neither one queue nor isolation')}."
        )
    return tuple(said)
