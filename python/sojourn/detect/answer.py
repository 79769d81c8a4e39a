"""From a probe to an answer: what the queue is, how sure that is, why, and when nothing can be said."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from sojourn.detect.bandwidth import Carries, carries
from sojourn.detect.causes import BULK, LOSS
from sojourn.detect.classes import code_points_count, has_l4s, low_share
from sojourn.detect.features import lasting_rate
from sojourn.detect.limits import of_senders
from sojourn.detect.log import EMPTY, FlowLog
from sojourn.detect.model import Judgement, Model, Reading, stage_of
from sojourn.detect.plan import CLASSES, FULL, FULL_BYTES, FULL_COUNT, GREEDY, L4S, LARGE, LESS, LOW_DSCP, THIN
from sojourn.detect.probe import Probed, was_full
from sojourn.detect.route import route_change_ms
from sojourn.detect.turns import takes_turns
from sojourn.detect.twin import Twin, twin
from sojourn.detect.waits import last_waits, quantile, wait_ms, waiting

SURE = 0.8
"""A name is said only with this probability; else the family, where that has it."""
DECIDED = 0.97
"""A probe ends after the load where a name has this probability and is like what was trained."""
# Below this nothing waited: in ms, and in full packets.
_MIN_QUEUE_MS, _MIN_QUEUE_PACKETS = 1.0, 3.0
# A rate that differs by more than this between the first and the last third of the load has changed.
_CHANGE = 0.5
_FEW_PACKETS = 50
# Losses of which nine in ten came at this part of the deepest wait, or more, came from a full buffer.
_FEW_LOSSES, _DEEPEST = 20, 0.9


@dataclass(frozen=True)
class Answer:
    """What can be said of a queue."""

    verdict: str
    """One sentence."""
    cannot: str | None = None
    """Why nothing can be said, where that is so."""
    judgement: Judgement | None = None
    is_new: bool = False
    """Whether it is like no queue that is known: unlike those of the training, or its twin does not fit."""
    rate_mbps: float | None = None
    """The rate that lasts, as IP packets."""
    carried_mbps: float | None = None
    """The most that the path carried for seconds: under the overload, which does not slow down, where there was one."""
    line: Carries = field(default_factory=Carries)
    """What the line carries, for a shaper before it."""
    delay_ms: float | None = None
    """The 95th percentile of the thin flow's waiting time beside a greedy flow."""
    deepest_ms: float | None = None
    """The longest wait that any packet had."""
    dropped: bool = False
    """Whether the queue dropped or marked anything at all."""
    fair_queueing: bool | None = None
    """What the trains alone say."""
    classes: bool | None = None
    """Whether a packet's code point decides how it is served; None where that was not asked, or cannot be told."""
    low_share: float | None = None
    """What of the rate a flow that may wait gets beside one that takes all there is; 0 under strict priority.

    None where code points do not count."""
    l4s: bool | None = None
    """Whether packets with ECT(1) have a queue of their own; None where that was not asked, or nothing was marked."""
    causes: Mapping[str, float] = field(default_factory=dict)
    """Probability that packets are lost at random (`loss`), and that others' greedy flows are on the line (`bulk`)."""
    evidence: tuple[str, ...] = ()
    parameters: Mapping[str, Reading] = field(default_factory=dict)
    """Parameters of the most probable name."""
    twin: Twin | None = None
    """The most probable name, simulated under the same probe; None for a token bucket and for an unknown RTT."""
    sent_bytes: int = 0
    active_s: float = 0.0

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        judged = self.judgement
        said: dict[str, Any] = {
            "verdict": self.verdict,
            "cannot": self.cannot,
            "name": None if judged is None else judged.best,
            "family": None if judged is None else judged.family,
            "names": {} if judged is None else _sorted(judged.names),
            "families": {} if judged is None else _sorted(judged.families),
            "sets": {} if judged is None else {key: list(names) for key, names in judged.sets.items()},
            "novelty": None if judged is None else judged.novelty,
            "is_new": self.is_new,
        }
        keys = (
            "rate_mbps",
            "carried_mbps",
            "delay_ms",
            "deepest_ms",
            "dropped",
            "fair_queueing",
            "classes",
            "low_share",
            "l4s",
            "causes",
            "sent_bytes",
            "active_s",
        )
        return {
            **said,
            **{key: getattr(self, key) for key in keys},
            "parameters": {name: asdict(read) for name, read in self.parameters.items()},
            "twin": None if self.twin is None else self.twin.document(),
            "line": asdict(self.line),
            "evidence": list(self.evidence),
        }


def answer(seen: Probed, model: Model) -> Answer:
    """Return what a probe says; never a name where the path does not let one be known."""
    cannot = cannot_say(seen)
    load = seen.logs.get("load", {})
    rate = lasting_rate(load) if load else float("nan")
    common: dict[str, Any] = {
        "rate_mbps": rate / 1e6 if rate > 0 else None,
        "carried_mbps": seen.carried_mbps,
        "line": carries(seen.logs, seen.stages, is_full=bool(load) and was_full(load, seen.rate_bps)),
        "delay_ms": _known(wait_ms(load.get(THIN, EMPTY), 0.95)),
        "deepest_ms": _known(seen.deepest_ms),
        "dropped": _signals(seen),
        "fair_queueing": None if seen.is_bounded else fair_queueing(seen),
        "low_share": low_share(seen.logs.get("shares", {}), seen.rate_bps),
        "l4s": has_l4s(seen.logs.get(L4S, {})),
        "classes": code_points_count(seen.logs.get(CLASSES, {}), seen.rate_bps),
        "sent_bytes": seen.sent_bytes,
        "active_s": seen.active_s,
    }
    if cannot is not None:
        return Answer(f"cannot say, because {cannot}", cannot, **common)
    judged = model.judge(seen.features, whole=seen.whole)
    nearest = twin_of(seen, judged, model)
    is_new = strangeness(judged, nearest) > 1
    read = {} if is_new else model.read(judged.best, seen.features, whole=seen.whole)
    causes = model.causes(seen.features, seen.signs, whole=seen.whole)
    said = (*_of_causes(causes), *evidence(seen), *([] if nearest is None else [_compared(nearest)]))
    verdict = _verdict(judged, is_new=is_new)
    found: dict[str, Any] = {"causes": causes, "evidence": said, "parameters": read, "twin": nearest}
    return Answer(verdict, None, judged, is_new, **found, **common)


def decided(model: Model) -> Any:
    """Return what says, after the load, whether more packets would change the answer."""

    def enough(seen: Probed) -> bool:
        if cannot_say(seen) is not None:
            return True
        judged = model.judge(seen.features, whole=False)
        return judged.names[judged.best] >= DECIDED and strangeness(judged, twin_of(seen, judged, model)) <= 1

    return enough


def twin_of(seen: Probed, judged: Judgement, model: Model) -> Twin | None:
    """Return the twin of a probe with the most probable name, where it has one."""
    read = model.read(judged.best, seen.features, whole=seen.whole)
    return twin(seen, judged.best, read, model.twins[stage_of(whole=seen.whole)])


def strangeness(judged: Judgement, nearest: Twin | None) -> float:
    """Return how unlike all known queues a probe is, by the training and by its twin; above 1 it is of none."""
    return judged.novelty if nearest is None else nearest.scale.strangeness(nearest.distance, judged.novelty)


def fair_queueing(seen: Probed) -> bool | None:
    """Return whether flows take turns, from the trains beside the greedy flow; None where they do not tell."""
    return takes_turns(seen.logs.get("find", {}), seen.logs.get("load", {}))


def cannot_say(seen: Probed) -> str | None:
    """Return why no answer can be given, where that is so."""
    return _nothing_through(seen) or _no_bottleneck(seen) or _not_the_same(seen)


def _nothing_through(seen: Probed) -> str | None:
    if not any(len(flow.sent_s) for log in seen.logs.values() for flow in log.values()):
        return "nothing was sent"
    if not seen.rate_bps > 0:
        lost = seen.logs["find"].get(FULL, EMPTY).lost
        return f"{np.mean(lost):.0%} of the first trains were lost, so that the rate of the path is not known"
    greedy = seen.logs.get("load", {}).get(GREEDY, EMPTY)
    if len(greedy.sent_s) < _FEW_PACKETS or greedy.lost.all():
        return "the greedy flow got hardly anything through"
    return None


def _no_bottleneck(seen: Probed) -> str | None:
    if seen.is_bounded:
        found, most = seen.rate_bps / 1e6, seen.most_bps / 1e6
        return (
            f"no bottleneck was met: trains left at {found:.0f} Mbit/s, and no more than {most:.0f} Mbit/s may be sent"
        )
    packet_ms = FULL_BYTES * 8e3 / seen.rate_bps
    deepest = seen.deepest_ms
    if not _signals(seen) and deepest < max(_MIN_QUEUE_MS, _MIN_QUEUE_PACKETS * packet_ms):
        return f"no queue was seen: no packet waited longer than {deepest:.2g} ms, and none was dropped or marked"
    return None


def _not_the_same(seen: Probed) -> str | None:
    load = seen.logs.get("load", {})
    change = _change(load)
    if change is not None:
        return f"the rate of the path changed during the probe, by a factor of {change:.1f}"
    moved_ms = route_change_ms(load, seen.rate_bps)
    if moved_ms is not None:
        way = "rose" if moved_ms > 0 else "fell"
        return f"the delay {way} by {abs(moved_ms):.3g} ms at once during the probe and stayed, as on another route"
    return None


def _change(load: Mapping[str, FlowLog]) -> float | None:
    """Return by what the rate at which trains leave changed during the load, where it did."""
    full, greedy = load.get(FULL, EMPTY), load.get(GREEDY, EMPTY)
    whole = len(full.sent_s) // FULL_COUNT * FULL_COUNT
    # What varies on an empty path stretches trains, which a queue hides.
    before = 0 if not len(greedy.sent_s) else int((full.sent_s[:whole] < greedy.sent_s[0]).sum())
    third = (whole - before) // 3 // FULL_COUNT * FULL_COUNT
    if third < 2 * FULL_COUNT:
        return None
    # The fastest trains of the first and of the last third met no turns of other flows, or the same number of them.
    rates = [_fastest(full, slice(whole - 3 * third, whole - 2 * third)), _fastest(full, slice(whole - third, whole))]
    change = max(rates) / min(rates) if min(rates) > 0 else float("nan")
    thirds = _throughput(greedy)
    moved = max(thirds) / min(thirds) if min(thirds) > 0 else float("inf")
    return change if change > 1 / _CHANGE and moved > 1 / _CHANGE and _cause_is_rate(change, moved) else None


def _cause_is_rate(change: float, moved: float) -> bool:
    return bool(abs(np.log(change / moved)) < np.log(2))


def _fastest(full: FlowLog, rows: slice) -> float:
    arrivals = full.received_s[rows].reshape(-1, FULL_COUNT)
    gaps = np.diff(arrivals, axis=1)
    known = gaps[~np.isnan(gaps)]
    known = known[known > 0]
    return float(FULL_BYTES * 8 / np.quantile(known, 0.2)) if len(known) else float("nan")


def _throughput(flow: FlowLog) -> list[float]:
    """Return the bytes that arrived in the last two quarters of a flow's life."""
    begin_s, end_s = float(flow.sent_s[0]), float(flow.sent_s[-1])
    base_s = float(np.nanmin(flow.delay_s))
    edges = base_s + begin_s + (end_s - begin_s) * np.array([0.25, 0.6, 1.0])
    arrived = ~flow.lost
    sums, _ = np.histogram(flow.received_s[arrived], edges, weights=flow.size_bytes[arrived])
    return [float(value / width) for value, width in zip(sums, np.diff(edges), strict=True)]


def _compared(one: Twin) -> str:
    apart = f"its distance is {one.distance:.2f}, and up to {one.limit:.2f} it fits"
    if one.fits:
        return f"Simulated under the same probe {one.name} fits: {apart}."
    words, far = next(iter(one.apart.items()))
    return f"Simulated under the same probe {one.name} does not fit: {apart}. Farthest are the {words} ({far:.1f})."


def _verdict(judged: Judgement, *, is_new: bool) -> str:
    share, family_share = judged.names[judged.best], judged.families[judged.family]
    if is_new:
        return f"unknown, most like {judged.best} ({share:.0%}): {judged.family} ({family_share:.0%})"
    if share >= SURE:
        return f"{judged.best} ({share:.0%}): {judged.family} ({family_share:.0%})"
    two = sorted(judged.names, key=lambda name: -judged.names[name])[:2]
    both = sum(judged.names[name] for name in two)
    if both >= SURE and family_share < SURE:
        return f"{' or '.join(two)} ({both:.0%})"
    set_ = " or ".join(judged.sets["99 %"])
    if family_share >= SURE:
        return f"{judged.family} ({family_share:.0%}), most like {judged.best} ({share:.0%}); with 99 % it is {set_}"
    return f"not sure: {judged.best} ({share:.0%}) or another; with 99 % it is {set_}"


def evidence(seen: Probed) -> tuple[str, ...]:
    """Return what was seen and what it means, a sentence each."""
    values = seen.features
    planned_bps = max((stage.overload_bps for stage in seen.stages), default=0.0)
    said = [*of_senders(seen.logs.get("find", {}), seen.logs.get("overload", {}), planned_bps), *_of_losses(seen)]

    def note(name: str, sentence: str) -> None:
        if not np.isnan(values[name]):
            said.append(sentence.format(values[name]))

    isolated = values["load_thin_to_greedy"] < 0.3  # noqa: PLR2004
    meaning = "flows are isolated from each other" if isolated else "both share one queue"
    note("load_thin_to_greedy", "The thin flow waited {:.2f} times as long as the greedy one: " + meaning + ".")
    turns = fair_queueing(seen)
    if turns is not None:
        how = "apart, so flows take turns" if turns else "as one, so flows do not take turns"
        said.append(f"Trains of {FULL_COUNT} packets beside the greedy flow left {how}.")
    fairly = values["over_isolation"] > 0.1  # noqa: PLR2004
    meaning = "the queue takes what is too much from the larger flow" if fairly else "the queue drops all flows alike"
    more = "less" if values["over_isolation"] < 0 else "more"
    if not np.isnan(values["over_isolation"]):
        lost = f"{abs(values['over_isolation']):.0%} {more}"
        said.append(f"The larger flow of the overload lost {lost} than the smaller one: {meaning}.")
    if not np.isnan(values["over_first_loss_s"]):
        first = 10 ** values["over_first_loss_s"]
        when = f"{first:.2f} s after the overload began" if first < 99 else "never during the overload"  # noqa: PLR2004
        said.append(f"The first drop came {when}." if first < 99 else "The overload led to no drop.")  # noqa: PLR2004
    said += _of_classes(seen)
    marks = 10 ** values["load_marks"] if not np.isnan(values["load_marks"]) else 0.0
    if marks > 1e-4:  # noqa: PLR2004
        said.append(f"The queue marks instead of dropping: {marks:.2%} of the greedy flow's packets.")
    return tuple(said)


def _of_causes(causes: Mapping[str, float]) -> list[str]:
    sentences = {
        LOSS: "Packets are lost at random as well, whatever the queue holds",
        BULK: "Greedy flows of others are on the line as well",
    }
    return [f"{sentences[cause]} ({share:.0%})." for cause, share in causes.items() if share >= SURE]


def _of_losses(seen: Probed) -> list[str]:
    """Return how deep the queue was where packets were lost, if it was as deep at no other time."""
    large = seen.logs.get("overload", {}).get(LARGE, EMPTY)
    if large.lost.sum() < _FEW_LOSSES or large.lost.all():
        return []
    wait = waiting(large)
    at_losses = last_waits(wait)[large.lost]
    deepest_s = quantile(wait, 0.99)
    if quantile(at_losses, 0.1) < _DEEPEST * deepest_s:
        return []
    packets = deepest_s * seen.rate_bps / 8 / FULL_BYTES
    depth = f"{deepest_s * 1e3:.3g} ms, or {packets:.3g} full packets at this rate"
    return [f"The overload's packets were lost only while the queue was deepest: {depth}."]


def _of_classes(seen: Probed) -> list[str]:
    """Return what the stages say that ask for classes."""
    said = []
    classes, point = code_points_count(seen.logs.get(CLASSES, {}), seen.rate_bps), LOW_DSCP.upper()
    if classes is not None:
        meaning = "the queue has classes" if classes else "the queue does not look at it"
        how = "gave way to an equal flow without it" if classes else "fared as an equal flow without it"
        said.append(f"A flow with the code point {point} {how}: {meaning}.")
    left = low_share(seen.logs.get("shares", {}), seen.rate_bps)
    if left is not None:
        meaning = "priority is strict" if left == 0 else f"its class keeps {left:.0%} of the rate or more"
        said.append(f"Beside a flow that takes all there is, {point} got {left:.0%} of the rate: {meaning}.")
    own = has_l4s(seen.logs.get(L4S, {}))
    if own is not None:
        meaning = "L4S, a queue of their own" if own else "they have no queue of their own"
        said.append(f"Packets with ECT(1) waited {'less' if own else 'as long'} beside such with ECT(0): {meaning}.")
    return said


def _signals(seen: Probed) -> bool:
    own = [log.get(name, EMPTY) for log in seen.logs.values() for name in (GREEDY, LARGE, LESS)]
    return any(bool(flow.lost.any() or flow.marked.any()) for flow in own)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _sorted(shares: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(shares.items(), key=lambda item: -item[1]))
