"""The variants of a scenario that a comparison runs: queues, controls, and changes of one's own."""

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn import purposes
from sojourn.api import Scenario
from sojourn.api import scenario as made
from sojourn.grade import PING, pings
from sojourn.reading import input_error
from sojourn.registry import entries
from sojourn.spelling import spelled


def variants(
    scenario: Scenario,
    *,
    queues: Sequence[str] = (),
    controls: Sequence[str] = (),
    own: Sequence[str] = (),
    preset: str | None = None,
) -> dict[str, Scenario]:
    """Return variants of a scenario by name: each queue with each control, then those of one's own.

    `queues` replace the bottleneck's discipline. The new kind keeps the limit that the scenario gives for the buffer,
    and has its defaults else; or it has its `preset`, where there is one of that name. The scenario's own kind keeps
    its parameters. `controls` do the same for the one group that has a control. A variant of one's own is a text
    "NAME:KEY=VALUE,KEY=VALUE". Raises InputError for a name that occurs twice, and what the scenario does not allow.
    """
    tables = scenario.to_dict()
    queue_changes = [
        _replaced("bottleneck.queue", kind, tables["bottleneck"]["queue"]["kind"], _preset("queue", kind, preset))
        for kind in queues
    ]
    named = list(zip(queues, queue_changes, strict=True)) or [("", {})]
    if controls:
        group, present = _controlled(tables)
        changes = [
            (kind, _replaced(f"group.{group}.control", kind, present, _preset("control", kind, preset)))
            for kind in controls
        ]
        named = [(", ".join(filter(None, (a, b))), {**one, **two}) for a, one in named for b, two in changes]
    found = [(name, scenario.with_(change)) for name, change in named if name]
    found += [(name, scenario.with_(dict(pair(change) for change in changes))) for name, changes in map(_parsed, own)]
    names = [name for name, _ in found]
    for name in names:
        if names.count(name) > 1:
            raise input_error(f"two variants are called {name!r}", found=name, allowed="a name for each variant")
    return dict(found)


def with_pings(scenario: Scenario) -> Scenario:
    """Return the scenario with a group of pings, unless it has one; they have the base RTT of its first group."""
    tables = scenario.to_dict()
    if pings(tables):
        return scenario
    like = {
        key: value
        for key, value in tables["group"][0].items()
        if key in ("rtt", "stations", "from", "to", "path", "back")
    }
    return made({**tables, "group": [*tables["group"], {**like, "name": PING, "traffic": PING}]})


def _replaced(key: str, kind: str, present: str, chosen: Mapping[str, str]) -> dict[str, Any]:
    return {} if kind == present else {key: {"kind": kind, **chosen} if chosen else kind}


def _preset(family: str, kind: str, wanted: str | None) -> dict[str, str]:
    """Return the choice of a preset, where a kind has it."""
    found = [entry for of, entry in entries() if of == family and entry["name"] == kind]
    has = any(preset["name"] == wanted for entry in found for preset in entry["presets"])
    return {"preset": wanted} if wanted is not None and has else {}


def _controlled(tables: Mapping[str, Any]) -> tuple[str, str]:
    """Return the one group that has a control of the simulation's, and the name of the control."""
    found = [
        (group["name"], group["control"]["kind"])
        for group in tables["group"]
        if "control" in group and "stack" not in group and not purposes.is_of_line(group["name"])
    ]
    if len(found) != 1:
        names = ", ".join(name for name, _ in found) or "none"
        message = (
            f"{spelled('control', python='controls')} groups with a control: {names}; allowed: exactly one; "
            f"for others use {spelled('variant', 'NAME:group.GROUP.control=KIND', python='own')}"
        )
        raise input_error(message, key="controls", found=names)
    return found[0]


def pair(change: str, option: str = "variant") -> tuple[str, str]:
    """Return key and value of a text KEY=VALUE; raises InputError that names the option."""
    key, equals, value = change.partition("=")
    if not equals:
        raise input_error(
            f"{spelled(option, python='own')} found {change!r}; allowed: KEY=VALUE", key="own", found=change
        )
    return key, value


def _parsed(text: str) -> tuple[str, list[str]]:
    """Split "NAME:KEY=VALUE,KEY=VALUE" at the commas that are in no bracket.

    >>> _parsed('le:group.low.dscp=le,bottleneck.queue={kind="cake",ecn=true}')
    ('le', ['group.low.dscp=le', 'bottleneck.queue={kind="cake",ecn=true}'])
    """
    name, colon, rest = text.partition(":")
    if not (name and colon):
        raise input_error(
            f"{spelled('variant', text, python='own')}: allowed: NAME:KEY=VALUE,KEY=VALUE", key="own", found=text
        )
    parts, depth = [""], 0
    for letter in rest:
        depth += (letter in "{[") - (letter in "}]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return name, [part.strip() for part in parts if part.strip()]
