"""What `list` and `show` know besides algorithms: traffic and metrics, an overview, and other spellings of names."""

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from sojourn import _native, ready, worlds
from sojourn.data import metrics
from sojourn.registry import Line, catalogue, entries

Row = dict[str, str]

ALIASES = {"reno": "newreno", "tail_drop": "droptail", "fifo": "droptail", "pfifo": "droptail", "ledbat++": "ledbatpp"}
"""Other names that people use; those that differ only in case, hyphens and blanks need none."""
LINE_HELP = (
    "Put an access line (`list lines`) in place of the links: its way up is the bottleneck; NAME:down, its way down."
)
_OVERVIEW = ("queues", "controls", "shapers", "transports", "media", "access")


def traffic() -> Sequence[Mapping[str, Any]]:
    """Return the kinds of traffic as the scenario's schema describes them, and where those from outside come from."""
    origins = {kind["name"]: kind["origin"] for kind in catalogue()["traffic"]}
    return [{**kind, "origin": origins[kind["name"]]} for kind in _described(json.dumps(origins))]


@functools.lru_cache(maxsize=1)
def _described(_kinds: str) -> Sequence[Mapping[str, Any]]:
    """Return the kinds as the schema has them, which takes a while to make: once for every list of kinds."""
    schema = json.loads(_native.schema())
    given = schema["properties"]["group"]["items"]["properties"]["traffic"]["anyOf"]
    return [
        {
            "is": "traffic",
            "name": one["properties"]["kind"]["const"],
            "summary": one["description"],
            "keys": {
                name: {"default": key.get("default"), "description": key.get("description", "")}
                for name, key in one["properties"].items()
                if name != "kind"
            },
        }
        for one in given
        if "properties" in one
    ]


def traffic_rows() -> list[Row]:
    """Return a row for each kind of traffic."""
    return [{"name": one["name"], "summary": one["summary"]} for one in traffic()]


def metric_rows() -> list[Row]:
    """Return a row for each metric: of groups, of links (with the link's name in front), of runs."""
    named = [*((one.name, one) for one in metrics.GROUP), *((f"bottleneck_{one.name}", one) for one in metrics.LINK)]
    return [
        {"name": name, "unit": "%" if one.percent else one.unit, "summary": one.meaning}
        for name, one in (*named, *((one.name, one) for one in metrics.RUN))
    ]


def scenario_rows() -> list[Row]:
    """Return a row for each ready scenario, group by group."""
    return [
        {"group": title, "name": one["name"], "summary": one["summary"]}
        for title, members in ready.grouped().items()
        for one in members
    ]


def stack_rows() -> list[Row]:
    """Return a row for each stack of the sources: what it is, its controls, and whether it is built."""
    from sojourn.worlds.stacks import in_sources

    return [stack.row for stack in in_sources()]


def overview() -> dict[str, list[str]]:
    """Return the names of everything, in groups; `list GROUP` says more of each."""
    known: Mapping[str, Any] = catalogue()
    found = {what: [one["name"] for one in known[what]] for what in _OVERVIEW}
    from sojourn.study.find import named

    return {
        **found,
        "traffic": [one["name"] for one in traffic()],
        "worlds": list(worlds.names()),
        "studies": list(named()),
        "scenarios": [row["name"] for row in scenario_rows()],
    }


def known() -> list[str]:
    """Return every name that `show` takes."""
    return [
        *(entry["name"] for _, entry in entries()),
        *(profile["name"] for profile in catalogue()["access"]),
        *(line["name"] for line in catalogue()["lines"]),
        *(kind["name"] for kind in traffic()),
        *(scenario["name"] for scenario in catalogue()["scenarios"]),
        *worlds.OWN,
    ]


def line_rows() -> list[Row]:
    """Return a row for each line of the population."""
    return [
        {"name": line["name"], "weight": f"{100 * line['weight']:.2f} %", "summary": line["summary"]}
        for line in catalogue()["lines"]
    ]


def on_line(name: str | None) -> list[str]:
    """Return the overrides that `--line` stands for.

    >>> on_line("cable-100-10-film:down")
    ['access.line=cable-100-10-film', 'access.bottleneck=down']
    """
    if name is None:
        return []
    line, colon, side = name.partition(":")
    return [f"access.line={line}", *([f"access.bottleneck={side}"] if colon else [])]


def line_document(line: Line) -> dict[str, Any]:
    """Return a line of the population with the tables that it makes of a scenario."""
    group = {"name": "any", "control": "cubic", "rtt": "20 ms"}
    text = json.dumps({"duration": "60 s", "access": {"line": line["name"]}, "group": [group]})
    tables = json.loads(_native.load_json(text).to_json())
    others = [one for one in tables["group"] if one["name"] != group["name"]]
    links = {key: tables[key] for key in ("bottleneck", "reverse", "hop", "change") if tables.get(key)}
    return {"is": "line", **line, **links, **({"group": others} if others else {})}


def spelled_as_known(name: str, known: Sequence[str]) -> str:
    """Return the known name that is meant: as it is, under another name, or written with other hyphens and letters.

    >>> spelled_as_known("FQ-CoDel", ["fq_codel"]), spelled_as_known("reno", ["newreno"]), spelled_as_known("x", ["y"])
    ('fq_codel', 'newreno', 'x')
    """
    if name in known:
        return name
    plain = _plain(name)
    meant = ALIASES.get(plain, plain)
    return next((one for one in known if _plain(one) == meant), name)


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")
