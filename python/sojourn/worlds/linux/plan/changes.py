"""What changes of a run Linux makes while it goes on: which are possible, when, and the lines for `tc`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.worlds.linux.plan import shaping
from sojourn.worlds.linux.plan.express import Expressed, LinkFacts, Refusal
from sojourn.worlds.linux.plan.flows import Path
from sojourn.worlds.linux.plan.shaping import How
from sojourn.worlds.linux.plan.topology import Place

_KEEP = ("pfifo", "bfifo", "pfifo_head_drop", "codel", "pie", "fq_codel", "fq_pie", "cake")
"""What the simulator changes in place; it replaces the others, as RED of Linux drops its packets when it is changed."""
_SHAPE = ("flows", "besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence")
"""Words of `tc` that say how many queues there are: other ones are another discipline."""
_FIRST_HANDLE = 0x100


@dataclass(frozen=True)
class State:
    """A link between two changes."""

    table: Mapping[str, Any]
    """What the scenario says of it."""
    facts: LinkFacts
    queue: Expressed
    handle: str = shaping.QUEUE_HANDLE


@dataclass(frozen=True)
class Step:
    """A link that becomes another one at a time of the run."""

    at_s: float
    link: str
    named: frozenset[str]
    """The keys that the change names."""
    before: State
    after: State

    @property
    def keeps_packets(self) -> bool:
        """Whether the queue is changed in place."""
        return self.before.handle == self.after.handle


def step(at_s: float, number: int, link: str, part: Mapping[str, Any], before: State, after: State) -> Step:
    """Return change `number` of a run, in which `part` of a link makes `after` of `before`."""
    if "queue" not in part:
        queue, handle = before.queue, before.handle
    else:
        queue = after.queue
        handle = before.handle if _in_place(before.queue, queue) else f"{_FIRST_HANDLE + number:x}:"
    return Step(at_s, link, frozenset(part), before, State(after.table, after.facts, queue, handle))


def refusals(made: Step, key: str) -> Iterator[Refusal]:
    """Say what of a step `tc` cannot do."""
    before, after = made.before.queue, made.after.queue
    if shaping.shapes_itself(before) or shaping.shapes_itself(after):
        yield Refusal(key, "a change of a CAKE that is its own shaper", "a link behind HTB or TBF", who="the testbed")
    elif "htb" in (before.name, after.name) and made.named & {"queue", "rate"}:
        yield Refusal(key, "a change of an htb or of its rate", "a link behind another discipline", who="the testbed")
    elif "queue" in made.named and (after.classes or after.name == "drr"):
        yield Refusal(f"{key}.queue.kind", after.name, "a queue without classes of its own", who="the testbed")
    elif made.keeps_packets and (lost := _taken_back(before, after)):
        yield Refusal(f"{key}.queue", f"no {', '.join(lost)}", "a value: tc change keeps what it is not told")


def _in_place(before: Expressed, after: Expressed) -> bool:
    def shape(one: Expressed) -> list[str]:
        return [word for name, *rest in _settings(one) if name in _SHAPE for word in (name, *rest)]

    return before.name == after.name and after.name in _KEEP and shape(before) == shape(after)


def _settings(one: Expressed) -> list[list[str]]:
    """Return the words of a discipline, each with the values behind it."""
    settings: list[list[str]] = []
    for word in one.words:
        if word[0].isalpha() or not settings:
            settings.append([word])
        else:
            settings[-1].append(word)
    return settings


def _taken_back(before: Expressed, after: Expressed) -> list[str]:
    """Return the settings with values that a change would have to take back."""
    told = {name for name, *_ in _settings(after)}
    return [name for name, *values in _settings(before) if values and name not in told]


def behind(
    place: Place, state: State | None, how: How, paths: Sequence[Path]
) -> tuple[Mapping[str, Any], tuple[Sequence[Path], float | None]]:
    """Return what a link does behind its queue: its table, the paths whose round-trip times it has, and its rate.

    The rate is None where the queue's shaper has taken the time of a transmission already.
    """
    wire_bps = state.facts.rate_bps if state is not None and how.shaper == "device" else None
    return state.table if state is not None else {}, (paths if place.has_rtts else (), wire_bps)


def lines(made: Step, place: Place, how: How, paths: Sequence[Path]) -> dict[str, list[str]]:
    """Return what `tc` is told in each namespace, at the time of the step."""
    device = place.device
    after, inner = made.after, " ".join([made.after.queue.name, *made.after.queue.words])
    router = []
    if "rate" in made.named:
        router.append(shaping.another_rate(device, how, after.facts))
    in_place = f"qdisc change dev {device} parent 1:1 handle {after.handle} {inner}"
    if not made.keeps_packets:
        router.append(f"qdisc replace dev {device} parent 1:1 handle {after.handle} {inner}")
    elif "queue" in made.named or (
        "rate" in made.named and how.shaper == "tbf" and inner.startswith(("pfifo", "bfifo"))
    ):
        # A TBF that is changed gives a FIFO inside its own limit.
        router.append(in_place)
    wire = []
    if made.named & {"delay", "jitter", "loss"} or ("rate" in made.named and how.shaper == "device"):
        table, others = behind(place, after, how, paths)
        wire = shaping.other_delays(place.behind, table, *others, far=place.far)
    return {place.router: router, place.wire: wire}


def rates_bps(first_bps: float, steps: Sequence[Step], link: str) -> list[tuple[float, float]]:
    """Return the rates of a link in bit/s, each with the time in s from which on it is in force."""
    return [(0.0, first_bps), *((one.at_s, one.after.facts.rate_bps) for one in steps if one.link == link)]
