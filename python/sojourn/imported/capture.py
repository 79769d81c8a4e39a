"""Captures: what the largest stream shows of the queue that it crossed, by the detector of captures."""

import contextlib
import ipaddress
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sojourn import InputError
from sojourn.detect.capture import MAGICS
from sojourn.detect.captured import read_streams
from sojourn.detect.draw import FAMILIES
from sojourn.detect.passive import AFTER, BEFORE, MIN_PACKETS, MIN_S, Leaving, Passive, leaving, looked_at, passive
from sojourn.detect.stored import load_model
from sojourn.detect.streams import Stream
from sojourn.detect.table import NO_QUEUE, queue_table
from sojourn.imported.line import DOWN, FULL_BYTES, PAYLOAD_SHARE, UP, Estimate, Imported, Measured, Way
from sojourn.imported.recorded import opportunities, rates_over_time
from sojourn.imported.registry import Kind, Source
from sojourn.reading import input_error

_UNTOLD = {
    "rtt": "The round-trip time",
    "isolated": "Whether flows wait for each other",
    "parameters": "What the queue is set to",
}
# A stream with less of the bytes than the largest one is no bulk flow beside it.
_BULK = 0.1
_FIFO = "droptail"
_POLICED = "losses came where such a bucket is empty"
_FOR_EACH = ("fair queueing", "heavy-hitter filter")
"""Families without AQM whose flows wait by themselves."""
# Where others may have been on the line, it carries at least what was captured.
_LEAST, _MOST = 0.97, 1.3
# Room in a FIFO beyond the longest wait, where it was full and where it was not.
_FULL, _ROOM = 1.05, 3.0
_LEAST_RTT = 0.1
_TAIL = 0.8
_DEEPEST = 0.999


def _read(source: Source) -> Imported:
    with _as_file(source) as path:
        try:
            streams, notes = read_streams(path)
        except InputError as error:
            (told,) = error.diagnostics
            raise input_error(**{**told, "file": source.name}) from None
    found = passive(streams, load_model(None), notes)
    if found.rate_mbps is None or found.packets < MIN_PACKETS or found.seconds < MIN_S:
        size = f"{found.packets} packets with data in {found.seconds:.2g} s"
        allowed = f"a transfer of at least {MIN_PACKETS} packets and {MIN_S:g} s, in the direction of its data"
        message = f"its largest stream has {size}; allowed: {allowed}"
        raise input_error(message, file=source.name, found=size, allowed=allowed)
    largest = streams[0]
    name = _direction(largest, found.place)
    flows = sum(one.total_bytes >= _BULK * largest.total_bytes for one in streams)
    left = leaving(streams) if found.line.varies else None
    deepest = None if left is None else _held_ms(left)
    way = Way(**_capacity(found, left, name), flows=flows, **_queue(found, deepest))
    rtt = None
    if found.rtt_ms is not None:
        # It may hold a full packet's time on the wire, which a scenario adds.
        low = max(found.rtt_ms - FULL_BYTES * 8 / found.rate_mbps / 1e3, _LEAST_RTT * found.rtt_ms)
        rtt = Estimate(found.rtt_ms, "the least round trip of the capture", low, found.rtt_ms)
    wait = found.wait_ms
    measured = [
        *(
            Measured(f"wait, {words}", f"bottleneck_queue_ms_{metric}", wait[key])
            for words, key, metric in (
                ("median", "median", "p50"),
                ("95 %", "p95", "p95"),
                ("99.9 %", "deepest", "p999"),
            )
            if key in wait
        ),
        Measured("goodput", "goodput_mbps", _passed_mbps(streams, found) * PAYLOAD_SHARE, "Mbit/s"),
    ]
    remarks = [
        f"Queue: {found.verdict}.",
        *(f"{_UNTOLD[what]} cannot be told, because {why}." for what, why in found.cannot.items() if what in _UNTOLD),
        *found.notes,
        "Other traffic that answered to this queue, as transfers do, is not in the scenario.",
    ]
    return Imported("capture", source.name, {name: way}, rtt, found.seconds, tuple(measured), None, tuple(remarks))


@contextlib.contextmanager
def _as_file(source: Source) -> Iterator[Path]:
    """Give the file itself, or one for what came through a pipe or was packed."""
    if source.path is not None:
        yield source.path
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "capture.pcap")
        path.write_bytes(source.data)
        yield path


def _direction(stream: Stream, place: str | None) -> str:
    """Return whether a stream left a home: where one end alone has an address that only homes have, that one is there.

    Such addresses: RFC 1918, RFC 4193. Elsewhere the capture is taken to be at home, where what comes down has crossed
    the queue before it was captured.
    """
    ends = stream.name.partition(",")[0].split(" > ")
    private = [ipaddress.ip_address(one.rpartition(":")[0].strip("[]")).is_private for one in ends]
    if private in ([True, False], [False, True]):
        return UP if private[0] else DOWN
    return DOWN if place == BEFORE else UP


def _passed_mbps(streams: Sequence[Stream], found: Passive) -> float:
    """Return what got through of the largest stream, until the last packet was beyond the queue."""
    log = looked_at(streams)
    seconds = float(np.nanmax(log.received_s) - log.sent_s[0]) if found.place == AFTER else found.seconds
    lost_bytes = found.lost * FULL_BYTES if found.place == AFTER else 0
    return (found.size_bytes - lost_bytes) * 8 / seconds / 1e6


def _capacity(found: Passive, left: Leaving | None, name: str) -> dict[str, Any]:
    """Return a rate, or a recorded link where what left a standing queue differed from time to time."""
    if found.policer is not None:
        # What a full bucket lets pass at once comes at the link's own rate, or the sender's.
        burst = found.rate_mbps or 0.0
        rate = Estimate(burst, "the busiest fifth of the capture; bursts may come faster", burst, _MOST * burst)
        return {"rate_mbps": rate, "policer": found.policer.table(), "policer_source": _POLICED}
    if left is None:
        return {"rate_mbps": _rate(found)}
    times, rates = rates_over_time(left)
    low, high = (float(np.percentile(rates, part)) / 1e3 for part in (5, 95))
    source = (
        f"{name}: what left the queue while packets waited, {low:.3g} to {high:.3g} Mbit/s; "
        "others that were not captured took their part"
    )
    return {"trace": opportunities(times, rates), "trace_source": source}


def _held_ms(left: Leaving) -> float:
    """Return the most that the queue held, in ms of the link's mean rate: that is what a scenario counts in ms."""
    _, rates = rates_over_time(left)
    return float(np.quantile(left.held_bytes, _DEEPEST)) * 8 / float(np.mean(rates))


def _rate(found: Passive) -> Estimate:
    line, rate = found.line, found.rate_mbps or 0.0
    if line.low_mbps is not None and line.high_mbps is not None:
        middle = (line.low_mbps + line.high_mbps) / 2
        return Estimate(middle, "left the queue while packets waited", line.low_mbps, line.high_mbps)
    why = line.why_not or "no queue was seen"
    # Where no queue was seen, the line may lie behind the capture, and be slower than what was sent into it.
    least = rate if found.judgement is not None else min(rate, found.size_bytes * 8 / found.seconds / 1e6)
    return Estimate(rate, f"the busiest fifth of the capture; {why}", _LEAST * least, _MOST * rate)


def _queue(found: Passive, held_ms: float | None) -> dict[str, Any]:
    """Return the queue; `held_ms` is the most that it held where the link's rate varies."""
    judged = found.judgement
    lost = found.lost > 0
    if judged is None or found.policer is not None:
        why = "a policer drops what it would hold" if found.policer is not None else found.cannot.get("queue")
        taken = {"queue_source": f"taken as a FIFO: {why or found.verdict}"}
        if held_ms is None:
            return taken
        most = (_FULL if lost else _ROOM) * held_ms
        return {**taken, "buffer_ms": Estimate(held_ms, "the most that it held", held_ms, most)}
    deepest, usual = found.wait_ms["deepest"] if held_ms is None else held_ms, found.wait_ms["p95"]
    why = (
        "the longest wait; packets were lost" if lost else "the longest wait, which is the least that there is room for"
    )
    known = {"buffer_ms": Estimate(deepest, why, deepest, (_FULL if lost else _ROOM) * deepest)}
    # Where packets are lost long before the longest wait, that was late for another reason than the queue.
    is_odd = found.losses is not None and found.losses.high_ms < _TAIL * deepest
    shorter = [{"kind": _FIFO, "limit": f"{usual:.4g} ms"}] if lost and is_odd else []
    said = f"{judged.best} is the most likely ({judged.names[judged.best]:.0%})"
    likely = [name for name in judged.sets["95 %"] if name not in NO_QUEUE]
    if not found.isolated and any(FAMILIES.get(name) in _FOR_EACH for name in likely):
        # To one flow alone they are FIFOs, which most lines have, and a call beside it waits.
        likely = [_FIFO, *(name for name in likely if name != _FIFO and FAMILIES.get(name) not in _FOR_EACH)]
    tables = [one for name in likely if (one := queue_table(name, {}, deepest, found.rate_mbps)) is not None]
    if not any(one["kind"] == _FIFO for one in tables):
        return {"queue": tables[0], "queue_source": said, "others": tuple(tables[1:])} if tables else known
    if judged.best != _FIFO:
        said += "; a FIFO may look the same"
    return {**known, "queue_source": said, "others": (*shorter, *(one for one in tables if one["kind"] != _FIFO))}


KIND = Kind(
    "capture",
    "a pcap or pcapng file of a transfer over TCP",
    lambda one: one.data[:4] in MAGICS,
    _read,
)
