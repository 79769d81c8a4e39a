"""How a queue discipline or a congestion control is said to Linux, or why it cannot be.

What is possible is declared beside each algorithm in the engine and arrives with the catalogue. Linux takes what it
can be told exactly; anything else is refused, with the value that it would have to be.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn import _native
from sojourn.registry import Entry, catalogue
from sojourn.resolved import amount
from sojourn.spelling import spelled
from sojourn.worlds.linux.plan.flows import code_point

# Where the code point (RFC 2474) and the precedence of old are in their byte.
_POINT_SHIFT, _POINT_BITS = 2, 0xFC
_PRECEDENCE_SHIFT, _PRECEDENCE_BITS = 5, 0xE0
# A quantum of htb that is automatic, in bytes: a part of what the rate sends in a second (its r2q), within bounds.
_RATE_TO_QUANTUM, _LEAST_QUANTUM, _MOST_QUANTUM = 10, 1000, 200_000


@dataclass(frozen=True)
class Refusal:
    """A key of the scenario that Linux cannot have."""

    key: str
    found: str
    allowed: str
    who: str = "the Linux kernel"
    hint: str = ""
    """An override that makes the scenario fit, if there is one."""

    def __str__(self) -> str:
        other = f"{spelled('world', 'sim')} can"
        return f"{self.key}: {self.who} cannot have {self.found}; allowed: {self.allowed} ({other})"


@dataclass(frozen=True)
class LinkFacts:
    """What automatic values depend on."""

    rate_bps: float
    packet_bytes: int


@dataclass(frozen=True)
class Expressed:
    """An algorithm as Linux has it."""

    name: str
    words: tuple[str, ...]
    """What `tc` is told besides the name."""
    module: str
    remarks: tuple[str, ...]
    classes: "tuple[Class, ...]" = ()
    """What a discipline with classes has, in the order of the scenario."""
    inner: "tuple[Class, ...]" = ()
    """Those of an htb in which others lie, likewise."""


@dataclass(frozen=True)
class Class:
    """A class of packets with a queue of its own."""

    matches: tuple[tuple[int, int], ...]
    """Values of the byte that holds the code point, each with the bits that count."""
    weight: int
    queue: Expressed
    words: tuple[str, ...] = ()
    """What `tc` is told of a class that has a rate of its own."""
    name: str = ""
    parent: str | None = None
    """The class in which it lies."""
    groups: tuple[str, ...] = ()
    """Those whose packets belong to it, which no code point tells."""

    @property
    def takes_rest(self) -> bool:
        """Whether it has the packets that belong to no other."""
        return not (self.matches or self.groups)


class CannotSayError(Exception):
    """A value that does not fit a unit; the text says what would."""


def queue(table: Mapping[str, Any], key: str, link: LinkFacts) -> Expressed | list[Refusal]:
    """Say a resolved queue table to `tc`; `key` is where it lies in the scenario."""
    said = _express(_entry("queues", table["kind"]), table, key, link)
    tables = table.get("class", [])
    rates = _rates(tables, link) if any("ceil" in one for one in tables) else {}
    inside = [_class(one, f"{key}.class.{one['name']}", link, rates.get(one["name"], 0.0)) for one in tables]
    refusals = [one for found in (said, *inside) if isinstance(found, list) for one in found]
    if refusals or isinstance(said, list):
        return refusals
    if table["kind"] == "cake":
        said = _as_ip(said)
    made, above = [one for one in inside if isinstance(one, Class)], {one.get("parent") for one in tables}
    leaves, inner = (tuple(one for one in made if (one.name in above) is want) for want in (False, True))
    return dataclasses.replace(said, classes=leaves, inner=inner)


def _as_ip(cake: Expressed) -> Expressed:
    """Return a CAKE with a bandwidth as it has to be told so that it counts what IP sees.

    With `raw` it counts Ethernet's header as well, whatever overhead it is told (sch_cake.c: CAKE_FLAG_OVERHEAD).
    """
    if "bandwidth" not in cake.words or "raw" not in cake.words:
        return cake
    words = tuple(word for word in cake.words if word != "raw")
    return dataclasses.replace(cake, words=words if "overhead" in words else (*words, "overhead", "0"))


def _rates(tables: Sequence[Mapping[str, Any]], link: LinkFacts) -> dict[str, float]:
    """Return the rate of each class of an htb; an automatic one is an equal part of what the class above it has."""
    known = {one["name"]: one for one in tables}

    def rate(name: str | None) -> float:
        if name is None:
            return link.rate_bps
        table, above = known[name], known[name].get("parent")
        own: str = table["rate"]
        return rate_bps(own) if own != "auto" else rate(above) // sum(one.get("parent") == above for one in tables)

    return {name: rate(name) for name in known}


def _class(table: Mapping[str, Any], key: str, link: LinkFacts, rate: float) -> Class | list[Refusal]:
    """Say a class of a resolved queue: who belongs to it, and its queue."""
    inside = queue(table["queue"], f"{key}.queue", link)
    refusals = inside if isinstance(inside, list) else []
    if isinstance(inside, Expressed) and (inside.classes or inside.name == "drr" or "bandwidth" in inside.words):
        found = table["queue"]["kind"]
        allowed = "a discipline without classes and without a bandwidth of its own"
        refusals.append(Refusal(f"{key}.queue.kind", found, allowed, who="a class of the testbed"))
    if refusals or isinstance(inside, list):
        return refusals
    points = [(code_point(one) << _POINT_SHIFT, _POINT_BITS) for one in table.get("dscp", [])]
    precedences = [(one << _PRECEDENCE_SHIFT, _PRECEDENCE_BITS) for one in table.get("precedence", [])]
    words = _shaped(table, link, rate) if "ceil" in table else ()
    who = tuple(table.get("groups", ()))
    return Class(
        (*points, *precedences), table.get("weight", 1), inside, words, table["name"], table.get("parent"), who
    )


def _shaped(table: Mapping[str, Any], link: LinkFacts, rate: float) -> tuple[str, ...]:
    """Say the class of an htb; what is automatic there is no default of `tc`."""
    ceil = max(link.rate_bps, rate) if table["ceil"] == "auto" else rate_bps(table["ceil"])
    quantum = table["quantum"]
    if quantum == "auto":
        quantum = round(min(max(rate // 8 // _RATE_TO_QUANTUM, _LEAST_QUANTUM), _MOST_QUANTUM))
    values = {"rate": f"{round(rate)}bit", "ceil": f"{round(ceil)}bit", "quantum": str(quantum)}
    values |= {name: str(table[name]) for name in ("prio", "burst", "cburst")}
    return tuple(word for pair in values.items() for word in pair)


def rate_bps(text: str) -> float:
    """Return a rate of a resolved scenario."""
    return amount(text, "bit/s")


def control(table: Mapping[str, Any], key: str) -> Expressed | list[Refusal]:
    """Say a resolved control table; the kernel takes its name only."""
    return _express(_entry("controls", table["kind"]), table, key, LinkFacts(1.0, 1))


def transport(table: Mapping[str, Any], key: str) -> list[Refusal]:
    """Return what of a resolved transport table the kernel's TCP does not do."""
    (entry,) = catalogue()["transports"]
    said = _express(entry, table, key, LinkFacts(1.0, 1))
    return said if isinstance(said, list) else []


def switches(table: Mapping[str, Any]) -> dict[str, str]:
    """Return by key of a transport table that fits what switches it in a kernel, as `sysctl` takes it."""
    (entry,) = catalogue()["transports"]
    said = {
        setting["parameter"]: " ".join(_setting(setting, table[setting["parameter"]], table, LinkFacts(1.0, 1)))
        for form in entry["linux"]["forms"]
        for setting in form["settings"]
    }
    return {name: word for name, word in said.items() if "=" in word}


def switched(table: Mapping[str, Any], key: str, others: Mapping[str, str], whose: str) -> list[Refusal]:
    """Return where a transport table that fits wants a kernel switched otherwise than `others` say."""
    return [
        Refusal(f"{key}.{name}", shown(table[name]), f"the value of {whose}")
        for name, word in switches(table).items()
        if others[name] != word
    ]


def switches_of_linux() -> dict[str, str]:
    """Return the switches of a kernel that nobody has told anything: those of preset `linux`."""
    (entry,) = catalogue()["transports"]
    (preset,) = (preset for preset in entry["presets"] if preset["name"] == "linux")
    values = {parameter["name"]: parameter["default"] for parameter in entry["parameters"]} | preset["values"]
    # The catalogue has values of presets as texts.
    return switches({name: value == "true" if value in ("true", "false") else value for name, value in values.items()})


def absent(family: str, kind: str) -> str | None:
    """Return why Linux has no such algorithm; None where it has."""
    return _entry(family, kind)["linux"].get("absent")


def is_program(kind: str) -> bool:
    """Tell whether a control is a program of its own rather than part of the kernel."""
    return _entry("controls", kind)["linux"].get("is") == "program"


def _entry(family: str, kind: str) -> Entry:
    known: Mapping[str, Any] = catalogue()
    found: Entry = next(entry for entry in known[family] if entry["name"] == kind)
    return found


def _express(entry: Entry, table: Mapping[str, Any], key: str, link: LinkFacts) -> Expressed | list[Refusal]:
    linux = entry["linux"]
    if "absent" in linux:
        return [Refusal(f"{key}.kind", entry["name"], f"what it has: {linux['absent']}")]
    has_preset = any(preset["name"] == "linux" for preset in entry["presets"])
    tried = [_form(form, table, key, link, has_preset) for form in linux["forms"]]
    said = next((one for one in tried if isinstance(one, Expressed)), None)
    refusals = [one for one in tried if isinstance(one, list)]
    return said or min(refusals, key=len)


def _form(
    form: Mapping[str, Any], table: Mapping[str, Any], key: str, link: LinkFacts, has_preset: bool
) -> Expressed | list[Refusal]:
    refusals = [
        Refusal(
            f"{key}.{name}",
            shown(table[name]),
            shown(value),
            hint=f"{key}.preset=linux" if has_preset else f"{key}.{name}={shown(value)}",
        )
        for name, value in form["fixed"].items()
        if name in table and table[name] != value
    ]
    words = list(form["words"].split())
    for setting in form["settings"]:
        name = setting["parameter"]
        try:
            words += _setting(setting, table[name], table, link)
        except CannotSayError as allowed:
            refusals.append(Refusal(f"{key}.{name}", shown(table[name]), str(allowed)))
    return refusals or Expressed(form["name"], tuple(words), form["module"], tuple(form["remarks"]))


def _setting(setting: Mapping[str, Any], value: Any, table: Mapping[str, Any], link: LinkFacts) -> list[str]:
    """Return what is written for a parameter; raises CannotSayError."""
    if "yes" in setting:
        return str(setting["yes"] if value else setting["no"]).split()
    if "words" in setting:
        if (word := shown(value)) not in setting["words"]:
            raise CannotSayError(", ".join(setting["words"]))
        return str(setting["words"][word]).split()
    if value == "auto":
        return _automatic(setting, link)
    return [setting["word"], written(value, setting["unit"], table, link)]


def _automatic(setting: Mapping[str, Any], link: LinkFacts) -> list[str]:
    match setting["auto"]:
        case None:
            raise CannotSayError(f"a value: {setting['word']} has no rule for auto")
        case "":
            return []
        case "link rate":
            return [setting["word"], _bits(link.rate_bps)]
        case "full packet":
            return [setting["word"], str(link.packet_bytes)]
        case word:
            return [word]


def written(value: Any, unit: str, table: Mapping[str, Any], link: LinkFacts) -> str:
    """Write a value in a unit; raises CannotSayError."""
    match unit:
        case "us" | "ms" | "s":
            return _time(value, unit)
        case "rate":
            return _bits(_quantity(value)[0])
        case "number":
            return f"{value:.12g}"
        case "percent":
            return _whole(value * 100, "whole hundredths")
        case "sixteenths":
            return _whole(value * 16, "whole sixteenths")
        case _:
            return _amount(value, unit, table, link)


def _time(value: str, unit: str) -> str:
    per_second = {"us": 1e6, "ms": 1e3, "s": 1.0}[unit]
    words = {"us": "us", "ms": "", "s": ""}
    name = {"us": "whole microseconds", "ms": "whole milliseconds", "s": "whole seconds"}[unit]
    return _whole(_quantity(value)[0] * per_second, name) + words[unit]


def _amount(value: str, unit: str, table: Mapping[str, Any], link: LinkFacts) -> str:
    number, dimension = _quantity(value)
    mean = table.get("mean_packet", "auto")
    per_packet = link.packet_bytes if mean == "auto" or unit != "bytes of mean packets" else mean
    in_bytes = {"B": number, "s": number * link.rate_bps / 8, "packets": number * per_packet}[dimension]
    if unit == "packets" and dimension == "packets":
        return _whole(number, "whole packets")
    if unit == "full packets":
        return str(int(number if dimension == "packets" else in_bytes / link.packet_bytes))
    if unit.startswith("bytes of") or (unit == "bytes" and dimension != "packets"):
        return str(round(in_bytes))
    raise CannotSayError("packets" if unit == "packets" else "bytes")


def _whole(number: float, what: str) -> str:
    if abs(number - round(number)) > 1e-6 * max(1.0, abs(number)):
        raise CannotSayError(what)
    return str(round(number))


def _bits(bits_per_second: float) -> str:
    return f"{round(bits_per_second)}bit"


def _quantity(text: str) -> tuple[float, str]:
    found = _native.quantity(text)
    if found is None:
        raise TypeError(f"a resolved scenario holds {text!r} where a quantity belongs")
    return found


def shown(value: Any) -> str:
    """Write a value as a scenario file does, without quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value)
