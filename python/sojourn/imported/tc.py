"""Queues as `tc` tells or sets them: what `tc qdisc show` prints, and commands of `tc qdisc`.

Which words a discipline has, and in which units, is declared beside each of them in the engine; it is read here the
other way round (`sojourn.worlds.linux.plan.express` writes it).
"""

import dataclasses
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.imported.line import DOWN, UP, Estimate, Imported, Way
from sojourn.imported.registry import Kind, Source
from sojourn.reading import input_error, shown
from sojourn.registry import Entry, catalogue

_LINE = re.compile(r"^\s*(?:qdisc\s+\w|(?:sudo\s+)?tc\s+qdisc\s+\w)", re.MULTILINE)
_VERBS = ("add", "replace", "change", "link")
_PLACE = ("parent", "handle", "refcnt", "dev", "index")
_ALONE = ("root", "clsact", "ingress", "offloaded")
_NUMBER = re.compile(r"([0-9]{1,15}(?:\.[0-9]{0,15})?(?:e-[0-9]{1,3})?)([A-Za-z%]*)")
_TIMES_S = {"us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0}
_RATES_BPS = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "tbit": 1e12, "bps": 8.0, "kbps": 8e3, "mbps": 8e6}
_SIZES_B = {"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30}
_PARTS = {"percent": 100, "sixteenths": 16}
_SHAPERS = ("tbf", "htb")
_DETAILED = "ver"
"""What `tc -d` shows of an htb; without -d nothing shows what it counts."""
_COUNTED = ("overhead", "mpu", "linklayer", "mtu", "tsize")
# Of pfifo_fast, whose limit is the device's queue length.
_TXQUEUELEN = 1000
_OVERHEAD_B = 14
"""Of Ethernet, which a shaper counts that is told nothing (tc-stab(8))."""


@dataclass(frozen=True)
class _Qdisc:
    """A discipline on a device, and its words."""

    device: str
    name: str
    words: tuple[str, ...]
    line: int
    is_shown: bool = False
    """Whether it is a discipline that is there, not a command: what is off has no word then."""
    counting: tuple[str, ...] | None = None
    """What it counts of a packet, as `stab` is told; None where nothing says."""


def _qdiscs(source: Source) -> Iterator[_Qdisc]:
    last: _Qdisc | None = None
    for number, line in enumerate(source.text.replace("\\\n", " ").splitlines(), 1):
        words = _words(line)
        found: _Qdisc | None = None
        if words[:2] == ["tc", "qdisc"] and words[2:3] and words[2] in _VERBS:
            found = _qdisc(None, words[3:], number)
        elif words[:1] == ["qdisc"] and len(words) > 2:  # noqa: PLR2004 (its name and its handle follow)
            found = _qdisc(words[1], words[3:], number)
        elif last is not None and words[:1] and words[0] in ("linklayer", "overhead", "mpu") and line.startswith(" "):
            # `tc -d` shows in a line of its own what is counted.
            last = dataclasses.replace(last, counting=tuple(words))
        if found is not None or (last is not None and not line.startswith(" ")):
            if last is not None:
                yield last
            last = found
    if last is not None:
        yield last


def _words(line: str) -> list[str]:
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        words = line.split()
    return words[1:] if words[:1] == ["sudo"] else words


def _qdisc(name: str | None, words: Sequence[str], line: int) -> _Qdisc | None:
    device, rest, is_shown = "", list(words), name is not None
    counting: list[str] | None = None
    while rest and (rest[0] in _PLACE or rest[0] in _ALONE or rest[0] == "stab"):
        word = rest.pop(0)
        if word == "stab":
            counting = []
            while rest and rest[0] in _COUNTED:
                counting += [rest.pop(0), *([rest.pop(0)] if rest else [])]
        elif word in _PLACE and rest:
            value = rest.pop(0)
            device = value if word == "dev" else device
    if name is None and rest:
        name = rest.pop(0)
    if counting is None and (not is_shown or _DETAILED in rest):
        counting = []
    told = tuple(counting) if counting is not None else None
    return _Qdisc(device, name, tuple(rest), line, is_shown, told) if name is not None else None


def _form(name: str, words: Sequence[str]) -> tuple[Entry, Mapping[str, Any]] | None:
    """Return the discipline that Linux calls so, and how it is told; of two the one that is told more words."""
    known: Mapping[str, Any] = catalogue()
    fitting = [
        (entry, form)
        for entry in known["queues"]
        for form in entry["linux"].get("forms", [])
        if form["name"] == name and form["settings"] and set(form["words"].split()) <= set(words)
    ]
    return max(fitting, key=lambda one: len(one[1]["words"]), default=None)


def table(name: str, words: Sequence[str], where: str, *, is_shown: bool = False) -> tuple[dict[str, Any], list[str]]:
    """Return the table of a discipline as `tc` tells it, and the words that say nothing here.

    `is_shown` tells that the words are what is there, so that what is not said is off; of a command it is the kernel's
    default. Raises InputError for a discipline that Sojourn does not have, and for a value that has no unit of its
    kind.

    >>> table("fq_codel", ["limit", "10240p", "target", "5ms", "noecn"], "tc.txt")[0]
    {'kind': 'fq_codel', 'preset': 'linux', 'limit': '10240 packets', 'target': '5 ms', 'ecn': False}
    """
    name, words = _fifo(name, words)
    found = _form(name, words)
    if found is None:
        forms = [form for one in catalogue()["queues"] for form in one["linux"].get("forms", [])]
        known = sorted({form["name"] for form in forms if form["settings"]})
        why = ", whose classes are not read" if any(form["name"] == name for form in forms) else ""
        raise input_error(f"{where}: found the discipline {shown(name)}{why}; allowed: {', '.join(known)}", found=name)
    entry, form = found
    made: dict[str, Any] = {"kind": entry["name"], **_always(entry, form)}
    made |= {one["parameter"]: False for one in form["settings"] if is_shown and "yes" in one}
    in_ticks = form["fixed"].get("clock") == "ticks"
    flags = {word: (one["parameter"], value) for one in form["settings"] for word, value in _flags(one)}
    valued = {one["word"]: one for one in form["settings"] if "word" in one}
    rest, unread = [word for word in words if word not in form["words"].split()], []
    while rest:
        word = rest.pop(0)
        if word == "unlimited" or rest[:1] == ["unlimited"]:
            rest = rest[1:] if word != "unlimited" else rest
            made["bandwidth"] = "auto"
        elif word in valued and rest:
            text = _as_set(rest.pop(0)) if is_shown and in_ticks else rest.pop(0)
            made[valued[word]["parameter"]] = _value(text, valued[word]["unit"], f"{where}: {word}")
        elif word in flags:
            parameter, value = flags[word]
            made[parameter] = value
        else:
            unread.append(word)
    if entry["name"] == "cake":
        _count_as_ip(made, words)
    return made, unread


def _count_as_ip(made: dict[str, Any], words: Sequence[str]) -> None:
    """Let a CAKE count what it counts there: raw is with Ethernet's header, an overhead alone without.

    An overhead of 0 that is said last is none of its own: so a kernel shows what has none.
    """
    if tuple(words[-2:]) == ("overhead", "0"):
        made.pop("overhead", None)
    if "raw" in words and made.get("bandwidth", "auto") != "auto":
        made["overhead"] = made.get("overhead", 0) + _OVERHEAD_B


def _as_set(text: str) -> str:
    """Return the time in us after which a kernel shows this one; its ticks of 1024 ns are cut off twice (codel.h)."""
    match = _NUMBER.fullmatch(text)
    if match is None or match[2] != "us":
        return text
    told = int(float(match[1]))
    return f"{next((one for one in (told, told + 1) if one * 1000 // 1024 * 1024 // 1000 == told), told)}us"


def _fifo(name: str, words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return a FIFO as it is told that has the device's length, or is told nothing."""
    is_fast = name == "pfifo_fast"
    name = "pfifo" if is_fast else name
    if is_fast or (name.startswith("pfifo") and "limit" not in words):
        return name, ("limit", f"{_TXQUEUELEN}p")
    return name, words


def _always(entry: Entry, form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the preset that a discipline has in Linux, and what it always has there that the preset does not say."""
    values = next((one["values"] for one in entry["presets"] if one["name"] == "linux"), {})
    told = {one["name"]: one["default"] for one in entry["parameters"]} | values
    always = {key: value for key, value in form["fixed"].items() if key in told and not _is_same(told[key], value)}
    return ({"preset": "linux"} if values else {}) | always


def _is_same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same: the catalogue has those of presets as texts."""
    if isinstance(other, int | float) and not isinstance(other, bool) and str(one).replace(".", "", 1).isdecimal():
        return float(one) == float(other)
    return str(one).lower() == str(other).lower()


def _flags(setting: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the words that stand for a value by themselves."""
    for key, value in (("yes", True), ("no", False)):
        if setting.get(key):
            yield setting[key], value
    for value, word in setting.get("words", {}).items():
        if word:
            yield word, value


def _value(text: str, unit: str, where: str) -> Any:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise input_error(f"{where}: found {shown(text)}; allowed: a number with its unit", found=text)
    number, suffix = float(match[1]), match[2].lower()
    if unit in ("us", "ms", "s"):
        return _time(number * _scaled(_TIMES_S, suffix or unit, f"{where}: found {shown(text)}"))
    if unit in _PARTS:
        return number / _PARTS[unit]
    if unit == "number":
        number *= _SIZES_B.get(suffix, 1)
        return int(number) if number.is_integer() else number
    return _quantity(number, suffix, unit, f"{where}: found {shown(text)}")


def _quantity(number: float, suffix: str, unit: str, where: str) -> str:
    if unit == "rate":
        return f"{number * _scaled(_RATES_BPS, suffix or 'bit', where) / 1e6:.12g} Mbit/s"
    if unit in ("packets", "full packets"):
        return f"{number:.12g} packets"
    return f"{number * _scaled(_SIZES_B, suffix, where):.12g} B"


def _scaled(units: Mapping[str, float], suffix: str, where: str) -> float:
    if suffix not in units:
        raise input_error(f"{where}; allowed: a number with {', '.join(filter(None, units))}", found=suffix)
    return units[suffix]


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.12g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.12g} us"  # noqa: PLR2004


def way(
    name: str,
    words: Sequence[str],
    where: str,
    rate_bps: float | None,
    direction: str,
    *,
    is_shown: bool = False,
    framing: Mapping[str, Any] | None = None,
) -> tuple[Way, list[str]]:
    """Return a direction whose queue is a discipline of `tc`; `rate_bps` is that of a shaper around it.

    `framing` is what that shaper counts; `is_shown` as for `table`.
    """
    made, unread = table(name, words, where, is_shown=is_shown)
    # RED has a bandwidth, too, by which it ages its average.
    own = made.get("bandwidth") if made["kind"] == "cake" else None
    rate_mbps = float(own.split()[0]) if own and own != "auto" else (rate_bps or 0.0) / 1e6
    if rate_mbps <= 0:
        allowed = "cake with a bandwidth, tbf, or an htb class with a rate around it"
        raise input_error(f"{where}: {name} {direction} has no rate; allowed: {allowed}", found=name, allowed=allowed)
    return Way(
        Estimate(rate_mbps, f"the rate of the shaper ({where})"),
        queue=made,
        queue_source=f"{name} ({where})",
        framing=None if own and own != "auto" else framing,
        has_traffic=False,
    ), unread


def _framing(counting: Sequence[str]) -> dict[str, Any] | None:
    """Return the framing of a link whose shaper counts so; None where it counts IP packets."""
    told = dict(zip(counting[::2], counting[1::2], strict=False))
    overhead, least = (
        int(told.get(word, "0")) if _is_whole(told.get(word, "0")) else 0 for word in ("overhead", "mpu")
    )
    made = {
        "overhead": overhead + _OVERHEAD_B,
        "mpu": least,
        "cells": "atm" if told.get("linklayer") == "atm" else "none",
    }
    return made if any(made[key] for key in ("overhead", "mpu")) or made["cells"] != "none" else None


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _read(source: Source) -> Imported:
    found = list(_qdiscs(source))
    classes = _class_rates(source)
    ways: dict[str, Way] = {}
    remarks = []
    for device in dict.fromkeys(one.device for one in found):
        own = [one for one in found if one.device == device and one.name not in ("ingress", "clsact", "noqueue", "mq")]
        # `tc class show` does not say of which device.
        rate = classes.get(device, classes.get(""))
        rate = next((rate for one in own if one.name in _SHAPERS for rate in _rates(one.words)), rate)
        counting = next((one.counting for one in own if one.name in _SHAPERS), None)
        leaves = [one for one in own if one.name not in _SHAPERS]
        shaped = [
            one for one in leaves if one.name == "cake" and "bandwidth" in one.words and "unlimited" not in one.words
        ]
        chosen = next(iter(shaped or (leaves if rate else [])), None)
        if chosen is None and rate is not None and own:
            # Alone, tbf has a FIFO as long as its limit or latency says, htb one of the device's length.
            limit = _limit(own[0].words)
            chosen = _Qdisc(device, "bfifo" if limit else "pfifo", limit, own[0].line)
        direction = DOWN if device.startswith("ifb") else UP
        if chosen is None or direction in ways:
            remarks += [f"{device}: its queue was left out." for one in own[:1] if chosen is not None]
            continue
        told, framing = f"line {chosen.line}", None if counting is None else _framing(counting)
        if counting is None and rate is not None:
            remarks.append(f"{device}: `tc -d qdisc show` tells what its shaper counts beside IP packets.")
        made, unread = way(chosen.name, chosen.words, told, rate, direction, is_shown=chosen.is_shown, framing=framing)
        ways[direction] = made
        if len(leaves) > 1 and not shaped:
            remarks.append(f"{device}: {len(leaves) - 1} more queues, of classes, were left out.")
        if unread:
            remarks.append(f"{device}: {' '.join(unread)} of {chosen.name} has no meaning here.")
    if not ways:
        allowed = "cake with a bandwidth, tbf, or htb with a class that has a rate"
        raise input_error(f"shapes nothing, so that no rate is known; allowed: {allowed}", file=source.name)
    if "action police" in source.text:
        remarks.append("What its policers drop is left out.")
    remarks.append("How fast the line behind these shapers is, and who uses it, is not in such a file.")
    return Imported("tc", source.name, ways, remarks=tuple(remarks))


def _rates(words: Sequence[str]) -> Iterator[float]:
    if "rate" in words[:-1]:
        match = _NUMBER.fullmatch(words[words.index("rate") + 1])
        if match is not None:
            yield float(match[1]) * _RATES_BPS.get(match[2].lower() or "bit", 1.0)


def _limit(words: Sequence[str]) -> tuple[str, ...]:
    if "limit" in words[:-1]:
        match = _NUMBER.fullmatch(words[words.index("limit") + 1])
        if match is not None:
            return ("limit", f"{float(match[1]) * _SIZES_B.get(match[2].lower(), 1):.0f}b")
    if "lat" in words[:-1] or "latency" in words[:-1]:
        word = "lat" if "lat" in words else "latency"
        match = _NUMBER.fullmatch(words[words.index(word) + 1])
        rate = next(_rates(words), None)
        if match is not None and rate is not None:
            seconds = float(match[1]) * _TIMES_S.get(match[2].lower() or "us", 1e-6)
            return ("limit", f"{max(rate / 8 * seconds, 1514):.0f}b")
    return ()


def _class_rates(source: Source) -> dict[str, float]:
    """Return the rate of the first class of an htb on each device, from commands or `tc class show`."""
    found: dict[str, float] = {}
    for line in source.text.replace("\\\n", " ").splitlines():
        words = line.split()
        if "class" in words[:3] and "htb" in words:
            device = words[words.index("dev") + 1] if "dev" in words[:-1] else ""
            for rate in _rates(words):
                found.setdefault(device, rate)
    return found


KIND = Kind(
    "tc",
    "what `tc qdisc show` prints, or commands of tc",
    lambda one: _LINE.search(one.sample) is not None,
    _read,
)
