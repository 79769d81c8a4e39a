"""What the kernel's sender and Sojourn's did, side by side."""

from collections.abc import Iterator

from benchmarks.senders import compare
from benchmarks.senders.cases import Sender
from benchmarks.senders.recording import KINDS, STATES, Connection

_OURS = " " * 30


def lines(sender: Sender, workload: str, connection: Connection, start_s: float, end_s: float) -> Iterator[str]:
    """Yield a line for each input, with both states after it, and for each segment between two times (s)."""
    ours = compare.replay(sender, workload, connection)
    rows = list(_inputs(connection, ours))
    kernel = zip(connection.sent_ns.tolist(), connection.number.tolist(), connection.nth.tolist(), strict=True)
    rows += [(at, 1, f"  kernel sends {_segment(number, nth)}") for at, number, nth in kernel]
    sent = zip(ours.sent_ns.tolist(), ours.number.tolist(), ours.nth.tolist(), strict=True)
    rows += [(at, 2, f"{_OURS}  Sojourn sends {_segment(number, nth)}") for at, number, nth in sent]
    for at_ns, _, text in sorted(rows, key=lambda row: row[0]):
        if start_s <= at_ns / 1e9 <= end_s:
            yield f"{at_ns / 1e6:12.3f} ms {text}"


def _segment(number: int, nth: int) -> str:
    return f"{number}{f', again ({nth})' if nth else ''}"


def _inputs(connection: Connection, ours: compare.Replayed) -> Iterator[tuple[int, int, str]]:
    states = (dict(zip(STATES, row, strict=True)) for row in zip(*map(connection.states.get, STATES), strict=True))
    sack = iter(connection.sack())
    marks = iter(connection.marked.tolist())
    inputs = zip(connection.time_ns.tolist(), connection.kind.tolist(), connection.value.tolist(), strict=True)
    for place, (at_ns, code, value) in enumerate(inputs):
        kind = KINDS[code]
        text = f"{kind} {value}"
        if kind == "ack":
            text += "".join(f" [{start}, {end})" for start, end in next(sack)) + (" ECE" if next(marks) else "")
        if kind != "supply":
            kernel = ", ".join(f"{name} {value}" for name, value in next(states).items())
            text += f" | kernel: {kernel} | Sojourn: cwnd {ours.cwnd[place]:.2f}, ssthresh {ours.ssthresh[place]:.1f}"
            text += f", rto_us {ours.rto_s[place] * 1e6:.0f}"
        yield at_ns, 0, text
