"""Classes, filters and policers of `tc`, as queues with classes of a scenario.

What a class takes is known by code points alone: a scenario has no ports, marks of a firewall or addresses.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sojourn.imported.units import quantity
from sojourn.reading import input_error

CLASSFUL = ("htb", "prio", "drr")
Below = Callable[[str], dict[str, Any] | None]
"""Returns the table of the discipline below a class; None where it has none of its own."""
_DSCP_BITS, _PRECEDENCE_BITS = 0xFC, 0xE0
# The priomap of prio and pfifo_fast (sch_generic.c, prio2band).
_PRIOMAP = ["1", "2", "2", "2", "1", "2", "0", "0", "1", "1", "1", "1", "1", "1", "1", "1"]
_SHOWN = re.compile(r"match 00([0-9a-f]{2})0000/00([0-9a-f]{2})0000 at 0")
_DROPS = ("drop", "drop/pipe", "drop/continue", "drop/ok", "shot")
_WHOLE = re.compile(r"(\d{1,10})b?")


@dataclass(frozen=True)
class Class:
    """A class below a discipline."""

    device: str
    """Empty as `tc class show` has it."""
    kind: str
    name: str
    """As in "10:2"."""
    parent: str
    """Empty for "root"."""
    words: Mapping[str, str]

    @property
    def scenario_name(self) -> str:
        """What it is called in a scenario, whose names begin with a letter."""
        return f"class-{self.name.replace(':', '-')}"


@dataclass(frozen=True)
class Filter:
    """What a filter does: packets to a class, or a policer of all packets."""

    device: str
    parent: str
    """The discipline, as in "10:", or "egress" and "ingress"."""
    target: str
    """The class; empty where it has none."""
    matches: tuple[tuple[int, int], ...]
    """Values and bits of the DSCP's byte; none for a filter that takes all."""
    is_known: bool
    """Whether it matches nothing else."""
    line: int
    police: tuple[str, str] | None = None
    """Rate and burst of a policer that drops."""


def classes(lines: Sequence[tuple[int, list[str]]]) -> list[Class]:
    """Return the classes of commands of `tc class add`, or of `tc class show`."""
    found = []
    for _, words in lines:
        is_command = words[:2] == ["tc", "class"] and words[2:3] in (["add"], ["replace"], ["change"])
        if not is_command and words[:1] != ["class"]:
            continue
        told = _pairs(words)
        kinds = [one for one in words if one in CLASSFUL]
        name = told.get("classid", words[2] if not is_command and len(words) > 2 else "")  # noqa: PLR2004 (its name)
        if kinds and name:
            parent = "" if told.get("parent", "").endswith(":") else told.get("parent", "")
            found.append(Class(told.get("dev", ""), kinds[0], name, parent, told))
    return found


def filters(lines: Sequence[tuple[int, list[str]]]) -> list[Filter]:
    """Return the filters of commands of `tc filter add`, or of `tc filter show`, which tells matches below."""
    found: list[Filter] = []
    for number, words in lines:
        is_command = words[:2] == ["tc", "filter"] and words[2:3] in (["add"], ["replace"])
        if is_command or (words[:1] == ["filter"] and ("flowid" in words or "classid" in words)):
            found.append(_filter(words, number))
        elif found and (match := _SHOWN.search(" ".join(words))) is not None:
            last = found.pop()
            more = (int(match[1], 16), int(match[2], 16))
            found.append(Filter(last.device, last.parent, last.target, (*last.matches, more), last.is_known, last.line))
    return found


def _filter(words: Sequence[str], line: int) -> Filter:
    told = _pairs(words)
    side = next((one for one in ("egress", "ingress") if one in words), None)
    text = " ".join(words)
    asked = re.findall(r"\bmatch (ip6? (?:dsfield|tos|priority) \S+ \S+|.+?(?= match | flowid | action |$))", text)
    matches = []
    is_known = "handle" not in words[3:] or "flowid" in words
    for one in asked:
        parts = one.split()
        if len(parts) == 4 and parts[1] in ("dsfield", "tos", "priority") and all(map(_is_byte, parts[2:])):  # noqa: PLR2004
            matches.append((int(parts[2], 0), int(parts[3], 0)))
        else:
            is_known = False
    takes_all = "matchall" in words
    target = told.get("flowid", told.get("classid", ""))
    police = None
    if "police" in words:
        after = _pairs(words[words.index("police") + 1 :])
        drops = any(one in _DROPS for one in words)
        police = (after["rate"], after["burst"]) if drops and {"rate", "burst"} <= after.keys() else None
    is_known = is_known and (takes_all or bool(matches) or words[:1] == ["filter"])
    return Filter(told.get("dev", ""), side or told.get("parent", ""), target, tuple(matches), is_known, line, police)


def _is_byte(text: str) -> bool:
    try:
        return 0 <= int(text, 0) < 1 << 8
    except ValueError:
        return False


def _pairs(words: Sequence[str]) -> dict[str, str]:
    """Return each word with the one behind it; of several the first."""
    found: dict[str, str] = {}
    for word, behind in pairwise(words):
        found.setdefault(word, behind)
    return found


def table(
    kind: str,
    handle: str,
    words: Sequence[str],
    own: Sequence[Class],
    sent: Sequence[Filter],
    below: Below,
    where: str,
) -> tuple[dict[str, Any], list[str]]:
    """Return the table of a discipline with classes, and what cannot be said.

    Raises InputError for what would be another queue without it.
    """
    remarks = [
        f"line {one.line}: a filter was left out that matches more than a code point."
        for one in sent
        if one.parent == handle and one.target and not one.is_known
    ]
    known = [one for one in sent if one.parent == handle and one.target and one.is_known]
    made: dict[str, Any] = {"kind": "dwrr" if kind == "drr" else kind}
    if kind == "prio":
        found = _bands(handle, words, where)
        if found is None:
            named = [(f"{handle}{place}", name) for place, name in enumerate(("first", "second", "last"), 1)]
            queues = [below(name) for name, _ in named]
            if any(queues):
                remarks.append(f"{where}: the queues below a prio with Linux's priomap are taken as Linux's own.")
            return {**made, "preset": "linux"}, remarks
        members, rest = found
    else:
        members = list(own)
        rest = _rest(kind, handle, words, known, members)
        made |= _turns(members, where) if kind == "drr" else {}
    rows = []
    for one in members:
        has_others = any(other.parent == one.name for other in members)
        row: dict[str, Any] = {"name": one.scenario_name}
        if kind != "prio" and one.parent:
            above = next((other for other in members if other.name == one.parent), None)
            row |= {"parent": above.scenario_name} if above is not None else {}
        row |= _htb(one, where) if kind == "htb" else {}
        row |= {"weight": _quantum(one, where) // made["quantum"]} if kind == "drr" else {}
        if not has_others:
            row |= _taken(one.name, known, is_rest=one.name == rest)
            queue = below(one.name)
            row |= {"queue": queue} if queue is not None else {}
            if not (one.name == rest or {"dscp", "precedence"} & row.keys()):
                remarks.append(f"{where}: the class {one.name} was left out, since no code point leads to it.")
                continue
        rows.append(row)
    if not any(one.name == rest for one in members):
        message = f"{where}: no class of {kind} takes what no filter takes; allowed: default, priomap or matchall"
        raise input_error(message, found=kind)
    return {**made, "class": rows}, remarks


def _bands(handle: str, words: Sequence[str], where: str) -> tuple[list[Class], str] | None:
    """Return the bands of a prio, and that of what no filter takes; None where bands are those of Linux."""
    told = _pairs(words)
    at = list(words).index("priomap") + 1 if "priomap" in words else len(words)
    chosen = [one for one in words[at : at + len(_PRIOMAP)] if one.isdecimal()]
    if not chosen or (chosen == _PRIOMAP and told.get("bands", "3") == "3"):
        return None
    if len(set(chosen)) > 1 or not told.get("bands", "3").isdecimal():
        message = f"{where}: found a priomap of its own; allowed: Linux's, or one band for all and filters by DSCP"
        raise input_error(message, found=" ".join(chosen))
    bands = min(int(told.get("bands", "3")), len(_PRIOMAP))
    found = [Class("", "prio", f"{handle}{place + 1:x}", "", {}) for place in range(bands)]
    return found, f"{handle}{int(chosen[0]) + 1:x}"


def _rest(kind: str, handle: str, words: Sequence[str], known: Sequence[Filter], members: Sequence[Class]) -> str:
    if kind == "htb":
        told = _pairs(words).get("default", "0").removeprefix("0x")
        return f"{handle}{told}"
    return next((one.target for one in known if not one.matches), members[-1].name if len(members) == 1 else "")


def _turns(members: Sequence[Class], where: str) -> dict[str, Any]:
    if not members:
        raise input_error(f"{where}: drr has no classes; allowed: tc class add with a quantum", found="drr")
    quanta = [_quantum(one, where) for one in members]
    least = min(quanta)
    if any(one % least for one in quanta):
        message = f"{where}: found quanta of {', '.join(map(str, quanta))}; allowed: multiples of the smallest"
        raise input_error(message, found=str(max(quanta)))
    return {"turns": "ahead", "quantum": least}


def _quantum(one: Class, where: str) -> int:
    match = _WHOLE.fullmatch(one.words.get("quantum", "1514"))
    if match is None or not int(match[1]):
        found = one.words["quantum"]
        raise input_error(f"{where}: quantum of {one.name}: found {found}; allowed: bytes", found=found)
    return int(match[1])


def _htb(one: Class, where: str) -> dict[str, Any]:
    """Return the parameters of a class of an htb; without a ceiling it has its rate as one (tc-htb(8))."""
    rate = one.words.get("rate", "")
    made: dict[str, Any] = {"rate": rate_text(rate, where)}
    made["ceil"] = rate_text(one.words.get("ceil", rate), where)
    for word in ("prio", "burst", "cburst", "quantum"):
        match = _WHOLE.fullmatch(one.words.get(word, ""))
        if match is not None and (word == "prio" or int(match[1])):
            made[word] = int(match[1])
    return made


def rate_text(text: str, where: str) -> str:
    """Return a rate of `tc` as a scenario says it; raises InputError."""
    return str(quantity(text, "rate", f"{where}: rate"))


def _taken(name: str, known: Sequence[Filter], *, is_rest: bool) -> dict[str, Any]:
    if is_rest:
        return {}
    every = [match for one in known if one.target == name for match in one.matches]
    points = [point >> 2 for point, bits in every if bits == _DSCP_BITS]
    levels = [point >> 5 for point, bits in every if bits == _PRECEDENCE_BITS]
    return ({"dscp": points} if points else {}) | ({"precedence": levels} if levels else {})


def policers(sent: Sequence[Filter], where: Callable[[Filter], str]) -> Iterator[tuple[Filter, dict[str, Any]]]:
    """Yield the policers of all that leaves or enters a device, as a scenario has them."""
    for one in sent:
        if one.police is not None and one.is_known and not one.matches and one.parent in ("egress", "ingress"):
            rate, burst = one.police
            yield (
                one,
                {
                    "rate": quantity(rate, "rate", f"{where(one)}: rate"),
                    "burst": quantity(burst, "bytes", f"{where(one)}: burst"),
                },
            )
