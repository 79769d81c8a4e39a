"""Reads the subset of packetdrill's language that concerns a sender of data.

Read are packets with their TCP options, the socket calls that scripts begin with, writes, assertions on TCP_INFO and
the shell lines that set sysctls. Nothing of a script is executed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

TOLERANCE_S = 0.004
"""packetdrill's default."""


class ScriptError(ValueError):
    """A script that cannot be read."""


class OutOfScopeError(ValueError):
    """A script that tests what Sojourn's transport does not have."""


@dataclass(frozen=True)
class Packet:
    """A packet of the script."""

    outbound: bool
    flags: str
    start: int
    end: int
    ack: int | None
    window: int | None
    options: str

    @property
    def payload_bytes(self) -> int:
        """Bytes of data."""
        return self.end - self.start

    def option(self, name: str) -> int | None:
        """Return the number behind an option's name, such as mss."""
        found = re.search(rf"\b{name} (\d+)", self.options)
        return None if found is None else int(found[1])

    def has(self, name: str) -> bool:
        """Tell whether it has an option, such as sackOK."""
        return re.search(rf"\b{name}\b", self.options) is not None

    def sack(self) -> list[tuple[int, int]]:
        """Return its SACK blocks."""
        found = re.search(r"\bsack ([\d: ]+)", self.options)
        if found is None:
            return []
        return [(int(start), int(end)) for start, end in re.findall(r"(\d+):(\d+)", found[1])]

    def echo(self) -> int | None:
        """Return the echoed timestamp."""
        found = re.search(r"\becr (\d+)", self.options)
        return None if found is None else int(found[1])


@dataclass(frozen=True)
class Call:
    """A socket call."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Check:
    """Python code of the script."""

    code: str


@dataclass(frozen=True)
class Shell:
    """Lines for the shell."""

    text: str


@dataclass(frozen=True)
class Event:
    """Something that happens between two times in seconds; at a time where they are the same."""

    line: int
    start_s: float
    end_s: float
    what: Packet | Call | Check | Shell


@dataclass
class Script:
    """A script."""

    events: list[Event] = field(default_factory=list)
    setup: list[str] = field(default_factory=list)
    """Shell lines without a time."""
    tolerance_s: float = TOLERANCE_S

    def delay(self, line: int, by_s: float) -> None:
        """Let everything from a line on happen later."""
        self.events = [
            event if event.line < line else replace(event, start_s=event.start_s + by_s, end_s=event.end_s + by_s)
            for event in self.events
        ]


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", flags=re.S)
_SPACE = re.compile(r"\s+")
_OPTION = re.compile(r"--(\w+)=(\S+)")
_SHELL = re.compile(r"`([^`]*)`", flags=re.S)
_CODE = re.compile(r"%\{(.*?)\}%", flags=re.S)
_NUMBER = r"(\+?)(\d*\.?\d+)"
_TIME = re.compile(rf"{_NUMBER}(?:\s*(~|\.\.\.)\s*{_NUMBER})?\s*")
_PACKET = re.compile(
    r"([<>])[ \t]*(?:\[[^\]]*\][ \t]*)?([A-Z.]+)[ \t]+(\d+):(\d+)\((\d+)\)"
    r"(?:[ \t]+ack[ \t]+(\d+))?(?:[ \t]+win[ \t]+(\d+))?[ \t]*(<[^>\n]*>)?"
)
_CALL = re.compile(r"(\w+)[ \t]*\(([^\n]*)\)[ \t]*=[^\n]*")


def parse(text: str) -> Script:
    """Read a script.

    Raises ScriptError with the line where it cannot be read.
    """
    text = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    script, at, now_s = Script(), 0, 0.0
    while at < len(text):
        line = text.count("\n", 0, at) + 1
        if found := _SPACE.match(text, at):
            at = found.end()
        elif found := _OPTION.match(text, at):
            if found[1] == "tolerance_usecs":
                script.tolerance_s = int(found[2]) / 1e6
            at = found.end()
        elif found := _SHELL.match(text, at):
            script.setup += found[1].splitlines()
            at = found.end()
        elif found := _TIME.match(text, at):
            now_s, end_s = _times(found, now_s)
            what, at = _event(text, found.end(), line)
            script.events.append(Event(line, now_s, end_s, what))
        else:
            raise ScriptError(f"line {line}: {text[at:].splitlines()[0]!r} is no event")
    return script


def _times(found: re.Match[str], now_s: float) -> tuple[float, float]:
    start_s = float(found[2]) + (now_s if found[1] else 0)
    if found[3] != "~":
        return start_s, start_s
    return start_s, float(found[5]) + (now_s if found[4] else 0)


def _event(text: str, at: int, line: int) -> tuple[Packet | Call | Check | Shell, int]:
    if found := _PACKET.match(text, at):
        side, flags, start, end, _, ack, window, options = found.groups()
        numbers = (int(start), int(end), _optional(ack), _optional(window))
        return Packet(side == ">", flags, *numbers, options or ""), found.end()
    if found := _CODE.match(text, at):
        return Check(found[1]), found.end()
    if found := _SHELL.match(text, at):
        return Shell(found[1]), found.end()
    if found := _CALL.match(text, at):
        return Call(found[1], found[2]), found.end()
    raise ScriptError(f"line {line}: {text[at:].splitlines()[0]!r} is not of the subset that is read")


def _optional(number: str | None) -> int | None:
    return None if number is None else int(number)


def sysctls(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the sysctls that shell lines set: the last part of the name, and the value."""
    for line in lines:
        yield from re.findall(r"(?:net[./]ipv4[./])(\w+)=\"?(\S+?)\"?(?:\s|$)", line)
