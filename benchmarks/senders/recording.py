"""What a kernel's TCP did with each acknowledgement, as it is kept in recordings/."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import archive

RECORDINGS = Path(__file__).resolve().parent / "recordings"

KINDS = ("supply", "accepted", "ack", "look")
"""What may happen to a sender."""

STATES = ("cwnd", "ssthresh", "ca_state", "rto_us", "pacing_gain")
"""What TCP_INFO says after each input, windows in segments; and BBR's pacing gain in 1/256."""

INFINITE = 0x7FFFFFFF
"""A slow-start threshold that has not been set."""

Column = NDArray[np.int64]


@dataclass(frozen=True)
class Connection:
    """Inputs of a sender with its state after each, and the segments it sent. Times are ns; segments have one MSS.

    The value of an input is the segments that the application has had to send so far, or the next number expected.
    """

    time_ns: Column
    kind: Column
    """Codes into `KINDS`."""
    value: Column
    echo_ns: Column
    """Acknowledgements only, as the next four: when the segment was sent that the timestamp echoes."""
    delay_ns: Column
    """One-way delay of the segment that caused it."""
    marked: Column
    blocks: Column
    """How many SACK blocks each has."""
    edges: Column
    """Start and end of each block."""
    states: Mapping[str, Column]
    """After each input that is no supply, by the names of `STATES`."""
    sent_ns: Column
    number: Column
    nth: Column
    """How often the segment had been sent before."""
    cwr: Column
    before: Column
    """How many inputs came between the segment and the one sent before it."""
    start_tick: int = 0
    """Ticks of the kernel's timers from its start to that of the recording."""

    @property
    def acks(self) -> NDArray[np.bool_]:
        """Which inputs are acknowledgements."""
        acks: NDArray[np.bool_] = self.kind == KINDS.index("ack")
        return acks

    @property
    def looks(self) -> NDArray[np.bool_]:
        """Which inputs have a state."""
        looks: NDArray[np.bool_] = self.kind != KINDS.index("supply")
        return looks

    def state(self, name: str) -> Column:
        """Return a state after each acknowledgement."""
        return self.states[name][self.acks[self.looks]]

    def sack(self) -> list[list[tuple[int, int]]]:
        """Return the blocks of each acknowledgement."""
        starts, ends = self.edges[::2].tolist(), self.edges[1::2].tolist()
        edges = zip(starts, ends, strict=True)
        return [[next(edges) for _ in range(count)] for count in self.blocks.tolist()]


def parse(document: Mapping[str, Any]) -> Connection:
    """Read what `inside` wrote of a run."""
    inputs, sent = document["inputs"], np.array(document["sent"], dtype=np.int64).reshape(-1, 4)
    time_ns = _column([row[0] for row in inputs])
    begun = np.searchsorted(time_ns, sent[:, 0], side="right")
    acks = [row[3] for row in inputs if row[1] == "ack"]
    states = [row[4] for row in inputs if row[1] != "supply"]
    return Connection(
        time_ns=time_ns,
        kind=_column([KINDS.index(row[1]) for row in inputs]),
        value=_column([row[2] for row in inputs]),
        echo_ns=_column([ack[0] for ack in acks]),
        delay_ns=_column([ack[1] for ack in acks]),
        marked=_column([ack[2] for ack in acks]),
        blocks=_column([len(ack[3]) for ack in acks]),
        edges=_column([edge for ack in acks for block in ack[3] for edge in block]),
        states={name: _column([state[name] for state in states]) for name in STATES},
        sent_ns=sent[:, 0],
        number=sent[:, 1],
        nth=sent[:, 2],
        cwr=sent[:, 3],
        before=archive.steps(begun),
        start_tick=document["start_tick"],
    )


def _column(values: Sequence[int]) -> Column:
    return np.array(values, dtype=np.int64)


# How each column is kept so that it is small: as differences, since it rises nearly always by the same, or as it is.
_RISING = ("time_ns", "value", "number", "edges")


def save(name: str, about: Mapping[str, Any], connections: Mapping[str, Connection]) -> Path:
    """Write recordings/NAME.zip: all connections of a control, one after the other in each column.

    Raises
    ------
    ValueError
        If something would not be the same when read again.
    """
    path = RECORDINGS / f"{name}.zip"
    about = {**about, "start_ticks": {run: connection.start_tick for run, connection in connections.items()}}
    fields = {run: _fields(connection) for run, connection in connections.items()}
    names = next(iter(fields.values()))
    columns = {field: np.concatenate([found[field] for found in fields.values()]) for field in names}
    lengths = {run: {field: len(found[field]) for field in names} for run, found in fields.items()}
    archive.write(path, {**about, "lengths": lengths}, columns)
    again = load(name)[1]
    for run, connection in connections.items():
        for field, values in _plain(connection).items():
            if not np.array_equal(values, _plain(again[run])[field]):
                raise ValueError(f"{path.name}: {field} of {run} would not be read as it was recorded")
    return path


def load(name: str) -> tuple[dict[str, Any], dict[str, Connection]]:
    """Read recordings/NAME.zip."""
    about, columns = archive.read(RECORDINGS / f"{name}.zip")
    begins = dict.fromkeys(columns, 0)
    connections = {}
    for run, lengths in about["lengths"].items():
        ends = {field: begins[field] + length for field, length in lengths.items()}
        fields = {field: columns[field][begins[field] : ends[field]] for field in columns}
        connections[run] = _connection(fields, about["start_ticks"][run])
        begins = ends
    return about, connections


def _plain(connection: Connection) -> dict[str, Column]:
    columns = {name: values for name, values in vars(connection).items() if name not in ("states", "start_tick")}
    return {**columns, **connection.states}


def _fields(connection: Connection) -> dict[str, Column]:
    """Return the columns as they are kept: small numbers."""
    fields = _plain(connection)
    fields["sent_ns"] = connection.sent_ns - _begun(connection.time_ns, connection.before)
    # The segment that is echoed, counted back from the last one sent before.
    acked_ns = connection.time_ns[connection.acks]
    fields["echo_ns"] = _sent_by(connection.sent_ns, acked_ns) - _sent_by(connection.sent_ns, connection.echo_ns)
    return {name: archive.steps(values) if name in _RISING else values for name, values in fields.items()}


def _connection(fields: Mapping[str, Column], start_tick: int) -> Connection:
    found = {name: np.cumsum(values) if name in _RISING else values for name, values in fields.items()}
    found["sent_ns"] = found["sent_ns"] + _begun(found["time_ns"], found["before"])
    acked_ns = found["time_ns"][found["kind"] == KINDS.index("ack")]
    found["echo_ns"] = found["sent_ns"][_sent_by(found["sent_ns"], acked_ns) - found["echo_ns"] - 1]
    states = {name: found.pop(name) for name in STATES}
    return Connection(states=states, start_tick=start_tick, **found)


def _begun(time_ns: Column, before: Column) -> Column:
    """Return the time of the last input before each segment."""
    return time_ns[np.cumsum(before) - 1]


def _sent_by(sent_ns: Column, times_ns: Column) -> Column:
    """Return how many segments had been sent at each time."""
    counts: Column = np.searchsorted(sent_ns, times_ns, side="right")
    return counts
