"""What a scenario became: quantities, the presets whose values its algorithms have, its groups' titles.

A control without a preset takes the transport's, so that `nice` under the transport `linux` is another algorithm than
`nice` alone. This says so, from the resolved values themselves.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sojourn import _native
from sojourn.registry import Entry, catalogue


def resolved_presets(scenario: Mapping[str, Any]) -> dict[str, str]:
    """Return, by key, each control, transport and queue of a resolved scenario that has the values of a preset.

    >>> resolved_presets({"group": [{"name": "a", "control": {"kind": "nice", "fraction": 0.3}}]})
    {}
    """
    return {key: name for key, table, entry in _algorithms(scenario) if (name := _preset(table, entry)) is not None}


def amount(text: str, unit: str) -> float:
    """Return a quantity of a resolved scenario, in `s`, `bit/s` or `B`.

    >>> amount("4 Mbit/s", "bit/s"), amount("20 ms", "s")
    (4000000.0, 0.02)
    """
    found = _native.quantity(text)
    if found is None or found[1] != unit:
        raise TypeError(f"a resolved scenario holds {text!r} where a quantity in {unit} belongs")
    return found[0]


def titles(scenario: Mapping[str, Any]) -> dict[str, str]:
    """Return what tables and figures call each group of a resolved scenario, by the group's name.

    >>> titles({"group": [{"name": "nas", "title": "Backups"}, {"name": "tcp"}]})
    {'nas': 'Backups', 'tcp': 'tcp'}
    """
    return {group["name"]: group.get("title", group["name"]) for group in scenario["group"]}


def sentences(presets: Mapping[str, str], scenario: Mapping[str, Any]) -> list[str]:
    """Say which controls have a preset's values: nobody sees that from the file where the transport decides."""
    kinds = {f"group.{group['name']}.control": group["control"]["kind"] for group in _with(scenario, "control")}
    return [
        f"{key}: {kinds[key]} with the values of its preset {name!r}" for key, name in presets.items() if key in kinds
    ]


def _algorithms(scenario: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], Entry]]:
    known = catalogue()
    queues, controls = ({entry["name"]: entry for entry in known[what]} for what in ("queues", "controls"))
    links = {key: scenario[key] for key in ("bottleneck", "reverse") if key in scenario}
    links |= {f"hop.{hop['name']}": hop for hop in scenario.get("hop", [])}
    for key, link in links.items():
        if (queue := link.get("queue")) is not None and queue["kind"] in queues:
            yield f"{key}.queue", queue, queues[queue["kind"]]
    for group in _with(scenario, "control"):
        if group["control"]["kind"] in controls:
            yield f"group.{group['name']}.control", group["control"], controls[group["control"]["kind"]]
    for group in _with(scenario, "transport"):
        yield f"group.{group['name']}.transport", group["transport"], known["transports"][0]


def _with(scenario: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return the groups with a key; those of other people's stacks have controls and transports of their own."""
    return [group for group in scenario.get("group", []) if key in group and "stack" not in group]


def _preset(table: Mapping[str, Any], entry: Entry) -> str | None:
    """Return the preset whose values are all there and not all defaults anyway; of several the one with the most."""
    defaults = {one["name"]: one["default"] for one in entry["parameters"]}
    found = [
        preset
        for preset in entry["presets"]
        if all(key in table and _same(table[key], value) for key, value in preset["values"].items())
        and any(not _same(defaults[key], value) for key, value in preset["values"].items())
    ]
    return max(found, key=lambda preset: len(preset["values"]))["name"] if found else None


def _same(value: Any, text: str) -> bool:
    """Tell whether a value is the one that a preset writes as text."""
    written = value if isinstance(value, str) else json.dumps(value)
    try:
        return written == text or float(written) == float(text)
    except ValueError:
        return False
