"""What the logs of a probe show of the queue: numbers, each with the reason why it separates disciplines.

Delays are waiting times: the least delay that any packet of a flow had is taken off, so that the clocks of the two
hosts need not agree. `_packets` at the end of a name says that a time is counted in times that a full packet takes at
the rate found; all rates come from the receiver's log. What could not be seen is NaN, which the classifier sees as a
value below all others.
"""

from collections.abc import Mapping

import numpy as np

from sojourn.detect.log import EMPTY, FlowLog, Log, Times
from sojourn.detect.plan import FULL, FULL_BYTES, FULL_COUNT, GREEDY, LARGE, LESS, SMALL, SMALL_BYTES, SMALL_COUNT, THIN
from sojourn.detect.waits import (
    FEW,
    NOTHING,
    lag_correlation,
    last_waits,
    log10,
    mean,
    quantile,
    ranks,
    ratio,
    slope_after,
    waiting,
)

REASONS: dict[str, str] = {
    "load_thin_to_greedy": "a thin flow waits as long as the greedy one in a shared queue, hardly at all in its own",
    "load_thin_p90_to_greedy": "the same in the worst tenth, in which a hash collision or a fair queue's turn shows",
    "load_greedy_ms": "the delay that the queue lets a greedy flow build: AQM holds it near a target",
    "load_greedy_packets": "the same in packets, as buffers are often limited",
    "load_greedy_max_ms": "the deepest queue: a plain buffer's size, or the overshoot of an AQM",
    "load_greedy_spread": "how far the delay swings: CUBIC's sawtooth in a plain buffer, little under PIE",
    "load_standing": "the queue that never empties, over the deepest: large in a deep buffer",
    "load_early_to_late": "the first delay over the later one: CoDel and PIE let the first burst in",
    "load_loss": "how often the queue drops packets of a flow that does answer",
    "load_marks": "how often it marks: whether ECN is on, as in the defaults of fq_codel and CAKE",
    "load_loss_rank": "the delay around a loss among all: highest at tail drop, any with a clock",
    "load_loss_delay": "the delay around a loss over the deepest: nothing before a policer's losses",
    "load_thin_loss": "a thin flow loses packets in a shared queue, none where it has a queue of its own",
    "load_rate_change": "the rate that lasts over that of the first trains: below one behind a token bucket",
    "load_rate_fall": "the rate at the end over that of the first second of load: a bucket that has run empty",
    "idle_full_dispersion": "trains on the quiet path leave at the link's rate, but for a bucket's burst",
    "load_full_dispersion": "full packets beside N greedy flows leave N + 1 times apart where flows take turns",
    "load_small_dispersion": "small packets that fit into one turn leave back to back; turns of CAKE are smaller",
    "load_train_to_greedy": "a train's first packet waits as long as the greedy flow's in a shared queue",
    "load_train_growth": "the train's last packet waits longer than its first where it has to take turns",
    "load_mark_rank": "the delay around a mark among all delays: marks by a clock, at random, or above a threshold",
    "over_thin_loss": "a thin flow in a shared queue loses what all lose, none where flows are isolated",
    "over_thin_to_large": "the same as a delay",
    "over_loss": "what the overload loses: a sixth is what must be lost; less says that the buffer has not been filled",
    "over_isolation": "the larger flow's loss less the smaller one's: fair queues take everything from the larger",
    "over_less_loss": "the loss of a flow with less than its fair share: nothing under fair queueing",
    "over_less_to_large": "the smaller flow's delay over the larger one's: small where it has a queue of its own",
    "over_first_loss_s": "the time to the first loss: CoDel's clock starts early, a plain buffer has to fill",
    "over_first_loss_delay": "the delay at the first loss over the later median: one at tail drop, small for a clock",
    "over_loss_early": "loss in the second second: PIE overshoots, RED is at its level",
    "over_loss_late": "loss at the end: CoDel's rate has grown",
    "over_loss_trend": "the later over the earlier loss, by the logarithm",
    "over_delay_early_ms": "delay in the second second",
    "over_delay_late_ms": "delay at the end: CoDel brings it down slowly, PIE soon, a plain buffer stays full",
    "over_delay_late_packets": "the same in packets",
    "over_delay_trend": "the later over the earlier delay, by the logarithm",
    "over_delay_max_ms": "the deepest queue",
    "over_delay_spread": "how far the delay swings: nearly nothing in a full buffer",
    "over_gap_variation": "variation of the gaps between losses: 1 is at random, less is a clock or a full buffer",
    "over_gap_correlation": "whether a long gap follows a long one: a clock that speeds up",
    "over_loss_runs": "how many losses follow upon another: bursts at a full buffer, single ones at random",
    "over_loss_rank": "as under load, with flows that do not answer",
    "over_thin_p90_to_large": "the thin flow's worst tenth",
    "over_rate": "what arrived over the rate found",
    "over_loss_slope": "how the delay moves after a loss: head drop shortens the wait of those behind",
    "find_loss": "trains lost on the quiet path: a policer's or a tiny buffer",
    "rate_log": "the logarithm of the rate found; buffers and quanta have other effects at other rates",
}
"""Every feature and why it separates."""

NAMES = tuple(REASONS)


def dispersion_bps(train: FlowLog, count: int, size_bytes: int) -> float:
    """Return the rate at which back-to-back packets left the bottleneck: the median over whole trains; NaN for none."""
    gaps = train_gaps(train, count)
    return float(size_bytes * 8 / np.median(gaps)) if len(gaps) and np.median(gaps) > 0 else NOTHING


def find_rate(log: Log) -> float:
    """Return the rate in bit/s that the trains of the first stage tell; NaN where too few arrived."""
    return dispersion_bps(log.get(FULL, EMPTY), FULL_COUNT, FULL_BYTES)


def lasting_rate(log: Log, quiet_s: float = 1.0) -> float:
    """Return the IP rate in bit/s of all that arrived of the probe in the second half of the load; NaN for nothing."""
    flows = [one for one in log.values() if len(one.sent_s)]
    if not flows:
        return NOTHING
    # A greedy flow may have sent all that it has before the stage ends.
    greedy = log.get(GREEDY, EMPTY)
    end_s = float(greedy.sent_s[-1]) if len(greedy.sent_s) else max(float(one.sent_s[-1]) for one in flows)
    begin_s = quiet_s + (end_s - quiet_s) / 2
    # What is sent in the meantime arrives in the meantime, but for a constant delay.
    base_s = min((float(np.nanmin(one.delay_s)) for one in flows if not one.lost.all()), default=0.0)
    arrived = sum(_bytes_between(one, begin_s + base_s, end_s + base_s) for one in flows)
    return arrived * 8 / (end_s - begin_s) if arrived else NOTHING


def features(find: Log, load: Log, overload: Log) -> dict[str, float]:
    """Return all features of a probe by name; NaN where something was not seen.

    Parameters
    ----------
    find, load, overload
        The logs of the three stages; an empty one where a stage was not sent.
    """
    peak = max(find_rate(find), lasting_rate(load) if load else NOTHING)
    values = {**_of_load(load, peak), **_of_overload(overload, peak)}
    values["find_loss"] = mean(find.get(FULL, EMPTY).lost)
    values["rate_log"] = float(np.log10(peak)) if peak > 0 else NOTHING
    return {name: float(values.get(name, NOTHING)) for name in NAMES}


def vector(values: Mapping[str, float]) -> Times:
    """Return the values in the order of `NAMES`."""
    return np.array([values[name] for name in NAMES], dtype=np.float64)


def _of_load(log: Log, peak_bps: float) -> dict[str, float]:
    thin, greedy, full, small = (log.get(name, EMPTY) for name in (THIN, GREEDY, FULL, SMALL))
    if len(greedy.sent_s) < FEW or greedy.lost.all():
        return {}
    begin_s, end_s = float(greedy.sent_s[0]), float(greedy.sent_s[-1])
    packet_s = FULL_BYTES * 8 / peak_bps if peak_bps > 0 else NOTHING
    wait = waiting(greedy)
    late_s = begin_s + 0.4 * (end_s - begin_s)
    is_late = greedy.sent_s >= late_s
    late = wait[is_late]
    thin_wait = waiting(thin)[thin.sent_s >= late_s]
    median, deepest = quantile(late, 0.5), quantile(wait, 0.995)
    rank = ranks(greedy, wait)
    seconds = _rates(log, begin_s, end_s)
    idle_full = full.between(-np.inf, begin_s - 0.1)
    loaded_full, loaded_small = full.between(late_s, np.inf), small.between(late_s, np.inf)
    firsts, lasts = _ends_of_trains(loaded_full, FULL_COUNT)
    lasting = lasting_rate(log)
    return {
        "load_thin_to_greedy": ratio(quantile(thin_wait, 0.5), median),
        "load_thin_p90_to_greedy": ratio(quantile(thin_wait, 0.9), median),
        "load_greedy_ms": log10(median * 1e3),
        "load_greedy_packets": log10(median / packet_s),
        "load_greedy_max_ms": log10(deepest * 1e3),
        "load_greedy_spread": ratio(quantile(late, 0.9) - quantile(late, 0.1), median),
        "load_standing": ratio(quantile(late, 0.1), deepest),
        "load_early_to_late": log10(ratio(quantile(wait[~is_late], 0.99), median)),
        "load_loss": log10(mean(greedy.lost) + 1e-5),
        "load_marks": log10(mean(greedy.marked) + 1e-5),
        "load_loss_rank": mean(rank[greedy.lost]),
        "load_loss_delay": ratio(_around_losses(greedy, wait), deepest),
        "load_thin_loss": mean(thin.lost),
        "load_rate_change": log10(lasting / peak_bps),
        "load_rate_fall": log10(ratio(mean(seconds[-2:]), mean(seconds[1:2]))),
        "idle_full_dispersion": _dispersion(idle_full, FULL_COUNT, packet_s),
        "load_full_dispersion": _dispersion(loaded_full, FULL_COUNT, packet_s),
        "load_small_dispersion": _dispersion(loaded_small, SMALL_COUNT, packet_s * SMALL_BYTES / FULL_BYTES),
        "load_train_to_greedy": ratio(quantile(firsts, 0.5), median),
        "load_train_growth": ratio(quantile(lasts - firsts, 0.5), packet_s * (FULL_COUNT - 1)),
        "load_mark_rank": mean(rank[greedy.marked]),
    }


def _of_overload(log: Log, peak_bps: float) -> dict[str, float]:
    thin, large, less = (log.get(name, EMPTY) for name in (THIN, LARGE, LESS))
    if len(large.sent_s) < FEW or large.lost.all():
        return {}
    begin_s, end_s = float(large.sent_s[0]), float(large.sent_s[-1])
    length_s = end_s - begin_s
    packet_s = FULL_BYTES * 8 / peak_bps if peak_bps > 0 else NOTHING
    base_s = min(float(np.nanmin(one.delay_s)) for one in (large, less) if not one.lost.all())
    wait, less_wait, thin_wait = waiting(large, base_s), waiting(less, base_s), waiting(thin)
    loaded_thin = thin.sent_s >= begin_s + 0.3 * length_s
    second = (large.sent_s >= begin_s + 0.15 * length_s) & (large.sent_s < begin_s + 0.35 * length_s)
    last = large.sent_s >= end_s - 0.25 * length_s
    both = large.sent_s >= begin_s + 0.15 * length_s
    median = quantile(wait[both], 0.5)
    lost = large.lost
    times = large.sent_s[lost]
    gaps = np.diff(times[times >= begin_s + 0.15 * length_s])
    first = int(np.flatnonzero(lost)[0]) if lost.any() else None
    rank = ranks(large, wait)
    early, later = quantile(wait[second], 0.5), quantile(wait[last], 0.5)
    arrived = sum(_bytes_between(one, begin_s + base_s + 0.3 * length_s, end_s + base_s) for one in (large, less))
    offered = (len(large.sent_s) + len(less.sent_s)) * FULL_BYTES * 8 / length_s
    late_less = less.sent_s >= begin_s + 0.3 * length_s
    late_large = large.sent_s >= begin_s + 0.3 * length_s
    return {
        "over_thin_loss": mean(thin.lost[loaded_thin]),
        "over_thin_to_large": ratio(quantile(thin_wait[loaded_thin], 0.5), median),
        "over_thin_p90_to_large": ratio(quantile(thin_wait[loaded_thin], 0.9), median),
        "over_loss": mean(np.concatenate([large.lost[late_large], less.lost[late_less]])),
        "over_isolation": mean(large.lost[late_large]) - mean(less.lost[late_less]),
        "over_less_loss": mean(less.lost[late_less]),
        "over_less_to_large": ratio(quantile(less_wait[late_less], 0.5), median),
        "over_first_loss_s": log10(times[0] - begin_s + 1e-3) if first is not None else log10(100.0),
        "over_first_loss_delay": ratio(_near(wait, first), median) if first is not None else NOTHING,
        "over_loss_early": mean(lost[second]),
        "over_loss_late": mean(lost[last]),
        "over_loss_trend": log10((mean(lost[last]) + 0.01) / (mean(lost[second]) + 0.01)),
        "over_delay_early_ms": log10(early * 1e3),
        "over_delay_late_ms": log10(later * 1e3),
        "over_delay_late_packets": log10(later / packet_s),
        "over_delay_trend": log10(ratio(later, early)),
        "over_delay_max_ms": log10(quantile(wait, 0.995) * 1e3),
        "over_delay_spread": ratio(quantile(wait[last], 0.9) - quantile(wait[last], 0.1), later),
        "over_gap_variation": ratio(float(np.std(gaps)), float(np.mean(gaps))) if len(gaps) >= FEW else NOTHING,
        "over_gap_correlation": lag_correlation(gaps),
        "over_loss_runs": mean(lost[1:][lost[:-1]]),
        "over_loss_rank": mean(rank[lost]),
        "over_rate": ratio(arrived * 8 / (0.7 * length_s), offered / 1.2),
        "over_loss_slope": slope_after(wait, lost, packet_s),
    }


def _around_losses(flow: FlowLog, wait: Times) -> float:
    return quantile(last_waits(wait)[flow.lost], 0.5)


def _near(wait: Times, place: int) -> float:
    return quantile(wait[max(0, place - 5) : place + 6], 0.5)


def train_gaps(train: FlowLog, count: int) -> Times:
    """Return the mean time between the packets of each train that arrived whole and in order."""
    whole = len(train.sent_s) // count * count
    arrivals = train.received_s[:whole].reshape(-1, count)
    gaps: Times = (arrivals[:, -1] - arrivals[:, 0]) / (count - 1)
    return gaps[~np.isnan(gaps)]


def _dispersion(train: FlowLog, count: int, packet_s: float) -> float:
    gaps = train_gaps(train, count)
    return log10(float(np.median(gaps)) / packet_s + 1e-2) if len(gaps) else NOTHING


def _ends_of_trains(train: FlowLog, count: int) -> tuple[Times, Times]:
    """Return what the first and the last packets of trains waited."""
    whole = len(train.sent_s) // count * count
    wait = waiting(train)[:whole].reshape(-1, count)
    return wait[:, 0], wait[:, -1]


def _bytes_between(flow: FlowLog, begin_s: float, end_s: float) -> float:
    own = (flow.received_s >= begin_s) & (flow.received_s < end_s)
    return float(flow.size_bytes[own].sum())


def _rates(log: Log, begin_s: float, end_s: float) -> Times:
    """Return what arrived of all flows in each half second, or in each eighth of less than four seconds."""
    edges = np.arange(begin_s, end_s, min(0.5, (end_s - begin_s) / 8))
    arrived = [
        np.histogram(one.received_s[~one.lost], edges, weights=one.size_bytes[~one.lost])[0] for one in log.values()
    ]
    total: Times = np.sum(arrived, axis=0).astype(np.float64)
    return total
