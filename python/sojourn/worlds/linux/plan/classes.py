"""The commands that give a device a discipline with classes: lines for `tc -batch`."""

from collections.abc import Iterator, Sequence

from sojourn.worlds.linux.plan.express import Class, Expressed

_FEWEST_BANDS = 2
"""That prio can have."""
_PRIORITIES = 16
"""Of packets, for each of which prio has a band."""
_FIRST_BELOW = 2
"""Number of the first class of an htb below that of the link, which is 1."""


def lines(device: str, parent: str, handle: str, queue: Expressed) -> Iterator[str]:
    """Yield the lines that put a discipline with classes below `parent`, with filters that read the code point.

    What no filter takes belongs to the class that takes the rest: prio has it as the band of all priorities, drr by a
    filter that takes all.
    """
    place = f"qdisc add dev {device} parent {parent} handle {handle}"
    numbered = places(handle, queue)
    rest = next(number for number, one in enumerate(queue.classes) if one.takes_rest)
    if queue.name == "prio":
        bands = max(len(queue.classes), _FEWEST_BANDS)
        yield f"{place} prio bands {bands} priomap {' '.join([str(rest)] * _PRIORITIES)}"
    else:
        yield f"{place} {queue.name}"
        word, quantum = queue.words
        for name, one in numbered:
            share = f"{word} {one.weight * int(quantum)}"
            yield f"class add dev {device} parent {handle} classid {name} {queue.name} {share}"
    for name, one in numbered:
        yield f"qdisc add dev {device} parent {name} {' '.join([one.queue.name, *one.queue.words])}"
    for order, (name, one) in enumerate(numbered, start=1):
        yield from _filters(f"filter add dev {device} parent {handle} protocol ip prio {order}", name, one)
    if queue.name != "prio":
        last = len(numbered) + 1
        yield f"filter add dev {device} parent {handle} protocol ip prio {last} matchall flowid {handle}{rest + 1:x}"


def places(handle: str, queue: Expressed) -> list[tuple[str, Class]]:
    """Return the classes that have queues, each with its name in the kernel, below a discipline with this handle."""
    first = _FIRST_BELOW if queue.name == "htb" else 1
    return [(f"{handle}{number:x}", one) for number, one in enumerate(queue.classes, start=first)]


def shaped(device: str, handle: str, top: str, queue: Expressed) -> Iterator[str]:
    """Yield the lines that put the classes of an htb below `top`, the class of the link, with filters as above."""
    numbered = places(handle, queue)
    inner = {one.name: f"{handle}{number:x}" for number, one in enumerate(queue.inner, _FIRST_BELOW + len(numbered))}
    for one in _from_the_link(queue.inner):
        above = top if one.parent is None else inner[one.parent]
        yield f"class add dev {device} parent {above} classid {inner[one.name]} htb {' '.join(one.words)}"
    for name, one in numbered:
        above = top if one.parent is None else inner[one.parent]
        yield f"class add dev {device} parent {above} classid {name} htb {' '.join(one.words)}"
        yield f"qdisc add dev {device} parent {name} {' '.join([one.queue.name, *one.queue.words])}"
    for order, (name, one) in enumerate(numbered, start=1):
        yield from _filters(f"filter add dev {device} parent {handle} protocol ip prio {order}", name, one)


def _from_the_link(inner: Sequence[Class]) -> list[Class]:
    """Return classes in which others lie, each behind the one in which it lies itself."""
    known = {one.name: one for one in inner}

    def depth(one: Class) -> int:
        return 0 if one.parent is None else 1 + depth(known[one.parent])

    return sorted(inner, key=depth)


def rest_of(queue: Expressed) -> str:
    """Return the number of the class of an htb that takes what no filter does, as `default` wants it."""
    return f"{_FIRST_BELOW + next(number for number, one in enumerate(queue.classes) if one.takes_rest):x}"


def _filters(start: str, name: str, one: Class) -> Iterator[str]:
    for value, bits in one.matches:
        yield f"{start} u32 match ip dsfield {value:#04x} {bits:#04x} flowid {name}"
