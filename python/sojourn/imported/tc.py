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

from sojourn.imported import classes
from sojourn.imported.classes import Class, Filter
from sojourn.imported.line import DOWN, UP, Estimate, Imported, Way
from sojourn.imported.registry import Kind, Source
from sojourn.imported.units import NUMBER, RATES_BPS, SIZES_B, TIMES_S, quantity
from sojourn.reading import input_error, shown
from sojourn.registry import Entry, catalogue

_LINE = re.compile(r"^\s*(?:qdisc\s+\w|(?:sudo\s+)?tc\s+qdisc\s+\w)", re.MULTILINE)
_VERBS = ("add", "replace", "change", "link")
_PLACE = ("parent", "handle", "refcnt", "dev", "index")
_ALONE = ("root", "clsact", "ingress", "offloaded")
_SHAPERS = ("tbf", "htb")
_DETAILED = "ver"
"""What `tc -d` shows of an htb; without -d nothing shows what it counts."""
_COUNTED = ("overhead", "mpu", "linklayer", "mtu", "tsize")
# Of pfifo_fast, whose limit is the device's queue length.
_TXQUEUELEN = 1000
_MAX_DIGITS = 9
_OVERHEAD_B = 14
"""Of Ethernet, which a shaper counts that is told nothing (tc-stab(8))."""


@dataclass(frozen=True)
class _Qdisc:
    """A discipline on a device, and its words."""

    device: str
    name: str
    words: tuple[str, ...]
    line: int
    handle: str = ""
    """As in "10:"; a class below it is "10:1"."""
    parent: str = ""
    """The class below which it lies; empty for the root."""
    is_shown: bool = False
    """Whether it is a discipline that is there, not a command: what is off has no word then."""
    counting: tuple[str, ...] | None = None
    """What it counts of a packet, as `stab` is told; None where nothing says."""


def _lines(source: Source) -> Iterator[tuple[int, list[str], bool]]:
    """Yield the number and the words of each line, and whether it belongs to the one above."""
    for number, line in enumerate(source.text.replace("\\\n", " ").splitlines(), 1):
        yield number, _words(line), line.startswith(" ")


def _qdiscs(source: Source) -> Iterator[_Qdisc]:
    last: _Qdisc | None = None
    for number, words, is_more in _lines(source):
        found: _Qdisc | None = None
        if words[:2] == ["tc", "qdisc"] and words[2:3] and words[2] in _VERBS:
            found = _qdisc(None, words[3:], number)
        elif words[:1] == ["qdisc"] and len(words) > 2:  # noqa: PLR2004 (its name and its handle follow)
            found = _qdisc(words[1], ["handle", *words[2:]], number)
        elif last is not None and words[:1] and words[0] in ("linklayer", "overhead", "mpu") and is_more:
            # `tc -d` shows in a line of its own what is counted.
            last = dataclasses.replace(last, counting=tuple(words))
        if found is not None or (last is not None and not is_more):
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
    placed, rest, is_shown = {"dev": "", "handle": "", "parent": ""}, list(words), name is not None
    counting: list[str] | None = None
    while rest and (rest[0] in _PLACE or rest[0] in _ALONE or rest[0] == "stab"):
        word = rest.pop(0)
        if word == "stab":
            counting = []
            while rest and rest[0] in _COUNTED:
                counting += [rest.pop(0), *([rest.pop(0)] if rest else [])]
        elif word in _PLACE and rest:
            placed[word] = rest.pop(0)
    if name is None and rest:
        name = rest.pop(0)
    if counting is None and (not is_shown or _DETAILED in rest):
        counting = []
    told = tuple(counting) if counting is not None else None
    if name is None:
        return None
    return _Qdisc(placed["dev"], name, tuple(rest), line, placed["handle"], placed["parent"], is_shown, told)


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
            made[valued[word]["parameter"]] = quantity(text, valued[word]["unit"], f"{where}: {word}")
        elif word in flags:
            parameter, chosen = flags[word]
            made[parameter] = chosen
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
    match = NUMBER.fullmatch(text)
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
    return _way_of(made, name, where, rate_bps, direction, framing), unread


def _way_of(
    made: Mapping[str, Any],
    name: str,
    where: str,
    rate_bps: float | None,
    direction: str,
    framing: Mapping[str, Any] | None,
) -> Way:
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
    )


def _framing(counting: Sequence[str], where: str) -> dict[str, Any] | None:
    """Return the framing of a link whose shaper counts so; None where it counts IP packets. Raises InputError."""
    told = dict(zip(counting[::2], counting[1::2], strict=False))
    for word in ("overhead", "mpu"):
        found = told.get(word, "0")
        if not found.removeprefix("-").isdecimal() or len(found) > _MAX_DIGITS:
            message = f"{where}: {word} of stab: found {shown(found)}; allowed: a whole number of bytes"
            raise input_error(message, key=word, found=found, allowed="a whole number of bytes")
    made = {
        "overhead": int(told.get("overhead", "0")) + _OVERHEAD_B,
        "mpu": int(told.get("mpu", "0")),
        "cells": "atm" if told.get("linklayer") == "atm" else "none",
    }
    return made if any(made[key] for key in ("overhead", "mpu")) or made["cells"] != "none" else None


def _read(source: Source) -> Imported:
    found = list(_qdiscs(source))
    lines = [(number, words) for number, words, _ in _lines(source)]
    members, sent = classes.classes(lines), classes.filters(lines)
    ways: dict[str, Way] = {}
    remarks: list[str] = []
    for device in dict.fromkeys(one.device for one in found):
        own = [one for one in found if one.device == device and one.name not in ("ingress", "clsact", "noqueue", "mq")]
        # `tc class show` and `tc filter show` do not say of which device.
        inside = [one for one in members if one.device in ("", device)]
        leading = [one for one in sent if one.device in ("", device)]
        direction = DOWN if device.startswith("ifb") else UP
        read = _device(own, inside, leading, direction)
        if read is None or direction in ways:
            remarks += [f"{device}: its queue was left out."] if read is not None else []
            continue
        ways[direction], said = read
        remarks += [f"{device}: {one}" for one in said]
    if not ways:
        allowed = "cake with a bandwidth, tbf, or htb with a class that has a rate"
        raise input_error(f"shapes nothing, so that no rate is known; allowed: {allowed}", file=source.name)
    remarks += _policed(ways, sent, sum("police" in words for _, words in lines))
    remarks.append("How fast the line behind these shapers is, and who uses it, is not in such a file.")
    return Imported("tc", source.name, ways, remarks=tuple(remarks))


def _device(
    own: Sequence[_Qdisc], inside: Sequence[Class], sent: Sequence[Filter], direction: str
) -> tuple[Way, list[str]] | None:
    """Return the queue of a device and what was left out; None where it shapes nothing. Raises InputError."""
    rate = next(
        (rate for one in inside if one.kind == "htb" for rate in _rates(("rate", one.words.get("rate", "")))), None
    )
    rate = next((rate for one in own if one.name in _SHAPERS for rate in _rates(one.words)), rate)
    counting = next((one.counting for one in own if one.name in _SHAPERS), None)
    leaves = [one for one in own if one.name not in _SHAPERS]
    shaped = [one for one in leaves if one.name == "cake" and "bandwidth" in one.words and "unlimited" not in one.words]
    chosen = next(iter(shaped or (leaves if rate else [])), None)
    top = None if shaped else _with_classes(own, inside)
    if chosen is None and rate is not None and own:
        # Alone, tbf has a FIFO as long as its limit or latency says, htb one of the device's length.
        limit = _limit(own[0].words)
        chosen = _Qdisc(own[0].device, "bfifo" if limit else "pfifo", limit, own[0].line)
    if top is not None:
        chosen = top
    if chosen is None:
        return None
    where = f"line {chosen.line}"
    framing = None if counting is None else _framing(counting, where)
    remarks = []
    if counting is None and rate is not None:
        remarks.append("`tc -d qdisc show` tells what its shaper counts beside IP packets.")
    if top is not None:
        made, more = _classful(top, own, inside, sent)
        return _way_of(made, top.name, where, rate, direction, framing), [*remarks, *more]
    found, unread = way(chosen.name, chosen.words, where, rate, direction, is_shown=chosen.is_shown, framing=framing)
    if len(leaves) > 1 and not shaped:
        remarks.append(f"{len(leaves) - 1} more queues were left out, to which no class leads.")
    if unread:
        remarks.append(f"{' '.join(unread)} of {chosen.name} has no meaning here.")
    return found, remarks


def _policed(ways: dict[str, Way], sent: Sequence[Filter], count: int) -> list[str]:
    """Give the directions their policers, and return what is to be said of those that were left out, of `count`."""
    for one, policer in classes.policers(sent, lambda one: f"line {one.line}"):
        direction = DOWN if one.parent == "ingress" else UP
        if direction in ways:
            ways[direction] = dataclasses.replace(ways[direction], policer=policer)
    if sum(way.policer is not None for way in ways.values()) == count:
        return []
    allowed = "a policer of all that leaves or enters a device that shapes, with a rate, a burst and drop"
    return [f"A policer was left out: it is read where it is {allowed}."]


def _rates(words: Sequence[str]) -> Iterator[float]:
    if "rate" in words[:-1]:
        match = NUMBER.fullmatch(words[words.index("rate") + 1])
        if match is not None:
            yield float(match[1]) * RATES_BPS.get(match[2].lower() or "bit", 1.0)


def _limit(words: Sequence[str]) -> tuple[str, ...]:
    if "limit" in words[:-1]:
        match = NUMBER.fullmatch(words[words.index("limit") + 1])
        if match is not None:
            return ("limit", f"{float(match[1]) * SIZES_B.get(match[2].lower(), 1):.0f}b")
    if "lat" in words[:-1] or "latency" in words[:-1]:
        word = "lat" if "lat" in words else "latency"
        match = NUMBER.fullmatch(words[words.index(word) + 1])
        rate = next(_rates(words), None)
        if match is not None and rate is not None:
            seconds = float(match[1]) * TIMES_S.get(match[2].lower() or "us", 1e-6)
            return ("limit", f"{max(rate / 8 * seconds, 1514):.0f}b")
    return ()


def _with_classes(own: Sequence[_Qdisc], inside: Sequence[Class]) -> _Qdisc | None:
    """Return the discipline whose classes share the line: the innermost one, but for an htb of one class alone."""
    for one in reversed(own):
        below = [member for member in inside if member.name.startswith(one.handle) and member.kind == one.name]
        if one.name in ("prio", "drr") or (one.name == "htb" and one.handle and len(below) > 1):
            return one
    return None


def _classful(
    top: _Qdisc, own: Sequence[_Qdisc], inside: Sequence[Class], sent: Sequence[Filter]
) -> tuple[dict[str, Any], list[str]]:
    members = [one for one in inside if one.kind == top.name and one.name.startswith(top.handle)]
    where = f"line {top.line}"
    if top.name == "htb":
        links = [one for one in members if not one.parent]
        if len(links) != 1:
            allowed = "one class that has the rate of the link, and the others in it"
            message = f"{where}: found {len(links)} classes of htb at its root; allowed: {allowed}"
            raise input_error(message, found=str(len(links)), allowed=allowed)
        members = [one for one in members if one is not links[0]]

    def below(name: str) -> dict[str, Any] | None:
        one = next((one for one in own if one.parent == name), None)
        return None if one is None else table(one.name, one.words, f"line {one.line}", is_shown=one.is_shown)[0]

    return classes.table(top.name, top.handle, top.words, members, sent, below, where)


KIND = Kind(
    "tc",
    "what `tc qdisc show` prints, or commands of tc",
    lambda one: _LINE.search(one.sample) is not None,
    _read,
)
