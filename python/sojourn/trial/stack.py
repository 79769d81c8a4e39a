"""Other people's transport stacks: laws that each has to keep, and its share beside built-in controls.

Runs go through `sojourn.worlds.stacks`, which says what a stack is.
"""

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sojourn.api import Scenario
from sojourn.trial.comparison import CONTROLS, QUEUES, START, Row
from sojourn.trial.laws import MIN_ALONE, MIN_JAIN, RATE_MBPS, SEEDS, Law, droptail, lab, mean, number, percent
from sojourn.worlds import stacks
from sojourn.worlds.stacks import StackError

STACK = "stack"
LONGEST_S = 120.0
"""A run that takes longer of real time is given up: half a minute of simulated time takes the known stacks a second."""
SENT_BYTES = 1_000_000
"""What a transfer over an empty link sends: long enough that it does not end in slow start."""
HARD_BYTES = 300_000
"""What a transfer over a path with faults sends."""
RTT_S = 0.04
HANDSHAKE_AND_SLOW_START_RTTS = 12
"""Round trips that a transfer may take beside its time on the link: 3 of handshakes, 6 in which a window of 2 segments
grows to the 33 of the bandwidth-delay product where acknowledgements are delayed, 3 for what is asked again."""
LEAST_EFFICIENCY = 0.9
"""The part of a packet that is data, at least."""
MAX_LOSS = 0.05
"""A window of the path and its buffer, 67 segments, that halves at a loss and grows by one in a round trip loses
1.5 / 67^2 = 0.03 % (Floyd 1991). Two hundred times as much is not what a congestion window does."""


@dataclass(frozen=True)
class Stack:
    """A program with a stack, and one of its controls."""

    program: str
    """Its path, a name on the search path, or that of one of Sojourn's own stacks that has been built, as "quinn"."""
    control: str | None = None
    """As the stack names it; None for its own choice."""

    @property
    def name(self) -> str:
        """What reports call it."""
        name = Path(self.program).name.removeprefix("sojourn-stack-")
        return name if self.control is None else f"{name} {self.control}"

    def check(self) -> None:
        """Raise InputError where there is no such program."""
        stacks.check(self.program, "--stack")

    def groups(self, flows: int = 1, name: str = "a", size_bytes: int | None = None) -> dict[str, dict[str, Any]]:
        """Return the group of its connections, which send without end or so many bytes."""
        control = {} if self.control is None else {"control": self.control}
        traffic = {} if size_bytes is None else {"traffic": {"kind": "bulk", "size": f"{size_bytes} B"}}
        return {name: {"stack": self.program, "flows": flows, **control, **traffic}}

    def run(self, path: Scenario, seed: int = 1) -> dict[str, Any]:
        """Return the record of one run, without its processor time.

        Raises StackError with the stack's own words where it fails, takes too long or prints no record.
        """
        record = json.loads(stacks.record_of(stacks.check(self.program, "--stack"), path.to_toml(), seed, LONGEST_S))
        return {key: value for key, value in record.items() if key != "wall_s"}

    def runs(self, path: Scenario) -> list[dict[str, Any]]:
        """Return the records of all seeds."""
        return [self.run(path, seed) for seed in range(1, SEEDS + 1)]


Check = Callable[[Stack], tuple[bool, str]]
Item = TypeVar("Item")
Found = TypeVar("Found")


def laws(stack: Stack, progress: Callable[[float], None]) -> list[Law]:
    """Check the laws of stacks."""
    return side_by_side(lambda law: _checked(law, stack), _LAWS, progress)


def side_by_side(
    work: Callable[[Item], Found], items: Sequence[Item], progress: Callable[[float], None]
) -> list[Found]:
    """Do the work for each item on all processors, and return what was found in their order."""
    found: list[Found] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for one in pool.map(work, items):
            found.append(one)
            progress(len(found) / len(items))
    return found


def _checked(law: tuple[str, Check], stack: Stack) -> Law:
    text, check = law
    try:
        return Law(text, *check(stack))
    except StackError as error:
        return Law(text, holds=False, found=str(error))


def _same(stack: Stack) -> tuple[bool, str]:
    path = lab(droptail(50), stack.groups(2))
    same = stack.run(path) == stack.run(path)
    return same, "the same record twice" if same else "two runs of one seed differ"


def _arithmetic(stack: Stack) -> tuple[bool, str]:
    """Check that a transfer over an empty link with room for all of it takes its time on the link, and little more."""
    least_s = SENT_BYTES * 8 / (RATE_MBPS * 1e6)
    most_s = least_s / LEAST_EFFICIENCY + HANDSHAKE_AND_SLOW_START_RTTS * RTT_S
    arrived = {
        span_s: stack.run(
            lab(droptail(1000), stack.groups(size_bytes=SENT_BYTES), duration=f"{span_s * 1e3:.0f} ms", warmup="0 s")
        )["flows"][0]["delivered_bytes"]
        for span_s in (least_s, most_s)
    }
    holds = arrived[least_s] < SENT_BYTES == arrived[most_s]
    early, late = (f"{count} after {span_s:.2f} s" for span_s, count in arrived.items())
    return holds, f"of {SENT_BYTES} B there were {early}, all are not there before, and {late}"


def _hard() -> dict[str, dict[str, Any]]:
    link = {"rate": f"{RATE_MBPS:g} Mbit/s", "queue": droptail(50)}
    jitter = {"kind": "uniform", "max": "20 ms", "reorder": True}
    outage = [
        {"at": "100 ms", "bottleneck": {"loss": 1.0}},
        {"at": "3100 ms", "bottleneck": {"loss": 0.0}},
    ]
    return {
        "5 % loss": {"bottleneck": {**link, "loss": 0.05}},
        "5 % loss on the way back": {"bottleneck": link, "reverse": {"rate": link["rate"], "loss": 0.05}},
        "reordering": {"bottleneck": {**link, "jitter": jitter}},
        "a buffer of two packets": {"bottleneck": {**link, "queue": droptail(2)}},
        "100 kbit/s": {"bottleneck": {**link, "rate": "100 kbit/s"}},
        "3 s without a link": {"bottleneck": link, "change": outage},
    }


def _survives(stack: Stack) -> tuple[bool, str]:
    """Check that a transfer ends within a minute whatever the path does: 100 kbit/s alone take 24 s for it."""
    short = []
    for what, changes in _hard().items():
        sent = stack.groups(size_bytes=HARD_BYTES)
        path = lab(droptail(50), sent, **{"duration": "60 s", "warmup": "0 s", **changes})
        arrived = stack.run(path)["flows"][0]["delivered_bytes"]
        if arrived != HARD_BYTES:
            short.append(f"{what}: {arrived} of {HARD_BYTES} B arrived in 60 s")
    return not short, "; ".join(short) or f"{HARD_BYTES} B arrived through {', '.join(_hard())}"


def _alone(stack: Stack) -> tuple[bool, str]:
    used = mean(
        run["bottleneck"]["utilization"] for run in stack.runs(lab(droptail(34), stack.groups(), duration="60 s"))
    )
    return used is not None and used >= MIN_ALONE, f"utilization {percent(used)}, at least {percent(MIN_ALONE)}"


def _fair(stack: Stack) -> tuple[bool, str]:
    made = stack.groups(4)
    made["a"].update(START)
    jain = mean(run["groups"]["a"]["jain"] for run in stack.runs(lab(droptail(50), made, duration="60 s")))
    return jain is not None and jain >= MIN_JAIN, f"Jain's index of 4 connections {number(jain)}, at least {MIN_JAIN:g}"


def _bounded(stack: Stack) -> tuple[bool, str]:
    """Check under each queue that a lone connection's window follows its losses."""
    lost = {
        queue: mean(run["bottleneck"]["drop_rate"] for run in stack.runs(lab(setting, stack.groups())))
        for queue, setting in {**QUEUES, "droptail": droptail(34)}.items()
    }
    over = {queue: share for queue, share in lost.items() if share is None or share > MAX_LOSS}
    if over:
        return False, ", ".join(f"{percent(share)} lost under {queue}" for queue, share in over.items())
    most = max(share for share in lost.values() if share is not None)
    return True, f"at most {percent(most)} lost under {', '.join(lost)}; allowed {percent(MAX_LOSS)}"


_LAWS: tuple[tuple[str, Check], ...] = (
    ("The same seed gives the same run", _same),
    ("A transfer over an empty link takes as long as arithmetic says", _arithmetic),
    ("A transfer ends through loss, reordering, tiny buffers, slow links and outages", _survives),
    ("A lone connection uses the link", _alone),
    ("A lone connection causes little loss", _bounded),
    ("Equal connections share", _fair),
)


def compare(stack: Stack, progress: Callable[[float], None]) -> list[Row]:
    """Return the stack's shares beside built-in controls under six queues: two connections beside two flows."""
    places = [(queue, other) for queue in QUEUES for other in CONTROLS]
    return side_by_side(lambda place: _beside(stack, *place), places, progress)


def _beside(stack: Stack, queue: str, other: str) -> Row:
    made = {**stack.groups(2, "mine"), "other": {"control": other, "flows": 2, **START}}
    made["mine"].update(START)
    runs = stack.runs(lab(QUEUES[queue], made))
    return Row.of(runs, stack.name, other, queue, lambda run: run["groups"]["mine"]["share"])
