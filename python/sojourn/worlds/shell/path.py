"""The scenario of a path that a program is behind: a scenario's or an access line's, with groups for its packets."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sojourn import _native
from sojourn.reading import Source, find, input_error
from sojourn.worlds.shell.ends import PROGRAM, RECEIVER, SENDER, carried

SENT, RECEIVED = "sent", "received"
"""The groups of what the program sends and gets, where the scenario has none of its own for programs."""
RTT = "20 ms"
"""Base RTT where nothing says one."""
_LENGTHS = ("24 h", "1 h")
_WAY = {SENDER: {SENT: "forward", RECEIVED: "reverse"}, RECEIVER: {SENT: "reverse", RECEIVED: "forward"}}


def behind(
    source: str | None,
    overrides: Sequence[str],
    *,
    at: str | None = None,
    rtt: str | None = None,
    alone: bool = False,
    duration: str | None = None,
    root: str | None = None,
) -> Source:
    """Return the scenario whose path a program at one end is behind; raises InputError.

    Overrides change the scenario before the program's groups are added. Without a source they name an access line.
    """
    at = at or end(overrides)
    if source is None:
        if not any(override.startswith(("access.", "bottleneck.")) for override in overrides):
            raise input_error("no path is named; give a scenario's file or name, or --line NAME", key="--line")
        # Of a length that lets a line's flows send at any rate; the one below takes its place.
        text = json.dumps({"name": "shell", "duration": "60 s", "group": _own(at, rtt or RTT)})
        found = Source("shell", text, str(Path.cwd()), is_json=True, root=root)
    else:
        found = find(source, root)
    tables: dict[str, Any] = json.loads(found.changed(overrides).resolve().to_json())
    groups = carried(tables["group"])
    if source is not None and groups and rtt:
        message = f"--rtt: the scenario has {', '.join(group['name'] for group in groups)} for programs, with their own"
        raise input_error(message, key="--rtt", found=rtt)
    if not groups:
        groups = _own(at, rtt or _first_rtt(tables["group"]))
    simulated = [] if alone else [group for group in tables["group"] if group not in groups]
    tables["group"] = [*groups, *simulated]
    # Measured is from the first packet on, and phases are those of a scenario's own time.
    tables = {**tables, "warmup": "0 s", "phase": []}
    lengths = [duration] if duration else [*_LENGTHS, tables["duration"]]
    return _first_valid([replace(found, text=json.dumps({**tables, "duration": one}), is_json=True) for one in lengths])


def end(overrides: Sequence[str]) -> str:
    """Return the end at which a program is at home, where nothing says which: way up or way down of an access line.

    >>> end(["access.line=cable-100-10-film", "access.bottleneck=down"])
    'receiver'
    """
    return RECEIVER if "access.bottleneck=down" in overrides else SENDER


def ended(source: Source, duration_s: float) -> Source:
    """Return the scenario with the time that a run of it took, without what would have begun later."""
    tables = json.loads(source.resolve().to_json())
    # A change after the end is none, and neither is a flow that had not begun; programs begin when they like.
    changes = [one for one in tables.get("change", []) if _native.seconds("at", one["at"]) < duration_s]
    now = {**tables, "duration": f"{duration_s:.9f} s", "change": changes}

    def of(groups: Sequence[Mapping[str, Any]], tables: Mapping[str, Any] = now) -> Source:
        return replace(source, text=json.dumps({**tables, "group": groups}), is_json=True, changes=())

    # A shaper's controller needs the pings beside a group that is looked at alone.
    alone = {key: value for key, value in now.items() if key != "shaper"}

    programs = [{**group, "start": "0 s"} for group in carried(tables["group"])]
    others = [group for group in tables["group"] if group["traffic"]["kind"] != PROGRAM]
    return of([*programs, *(group for group in others if _holds(of([group], alone)))])


def _first_valid(sources: Sequence[Source]) -> Source:
    """Return the first source that can be resolved, or the last: simulated flows may not send for ever."""
    return next(filter(_holds, sources[:-1]), sources[-1])


def _holds(source: Source) -> bool:
    """Whether a scenario can be resolved."""
    try:
        source.resolve()
    except _native.InputError:
        return False
    return True


def _own(at: str, rtt: str) -> list[Mapping[str, Any]]:
    """Return the groups of a program at one end of the path."""
    return [
        {"name": name, "direction": direction, "traffic": PROGRAM, "rtt": rtt} for name, direction in _WAY[at].items()
    ]


def _first_rtt(groups: Sequence[Mapping[str, Any]]) -> str:
    rtt = groups[0]["rtt"]
    return str(rtt[0] if isinstance(rtt, list) else rtt)
