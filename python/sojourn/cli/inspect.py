"""Commands that look and run nothing: list, show, check, schema."""

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from sojourn import InputError, _native, plugins, worlds
from sojourn.cli import lookup, render
from sojourn.cli.completion import everything, scenarios
from sojourn.cli.examples import ExampleCommand, json_option
from sojourn.cli.plugins import plugin_options
from sojourn.cli.worlds import RENAMED
from sojourn.faults import input_error
from sojourn.reading import ROOT_HELP, read, unknown_name
from sojourn.registry import catalogue, entries
from sojourn.resolved import resolved_presets, sentences

if TYPE_CHECKING:
    from collections.abc import Mapping

LISTED = [
    *("worlds", "queues", "controls", "shapers", "traffic", "media", "noises", "protections", "access", "lines"),
    *("presets", "metrics", "scenarios", "stacks"),
]


@click.command(
    "list",
    cls=ExampleCommand,
    examples="""
    sojourn list
    sojourn list queues
    sojourn list metrics
    sojourn list scenarios --json
    sojourn list lines cable household
    """,
)
@click.argument("what", type=click.Choice(LISTED), required=False)
@click.argument("words", nargs=-1)
@json_option
@plugin_options
def list_(what: str | None, words: tuple[str, ...], as_json: bool) -> None:
    """List what there is: an overview, or all of a kind with what each one is.

    With WORDS: what has each of them in its name or beside it.
    """
    plugins.load_announced()
    if what is None:
        found = lookup.overview()
        if as_json:
            render.print_json(found)
        else:
            render.print_overview(found)
        return
    special = {
        "lines": lookup.line_rows,
        "presets": _presets,
        "worlds": _worlds,
        "traffic": lookup.traffic_rows,
        "metrics": lookup.metric_rows,
        "scenarios": lookup.scenario_rows,
        "stacks": lookup.stack_rows,
    }
    rows = _with_words(special.get(what, lambda: _named(what))(), what, words)
    if as_json:
        render.print_json(rows)
    elif what == "scenarios":
        render.print_groups(rows)
    else:
        render.print_rows(rows)


def _with_words(rows: list[dict[str, Any]], what: str, words: tuple[str, ...]) -> list[dict[str, Any]]:
    found = [row for row in rows if all(word.lower() in " ".join(map(str, row.values())).lower() for word in words)]
    if not found:
        raise input_error(f"of {len(rows)} {what} none has {' and '.join(map(repr, words))} in its name or beside it")
    return found


def _named(what: str) -> list[dict[str, str]]:
    known: Mapping[str, Any] = catalogue()
    return [{"name": item["name"], "summary": item["summary"]} for item in known[what]]


def _worlds() -> list[dict[str, str]]:
    return [{"name": name, "summary": worlds.find(name).summary} for name in worlds.names()]


def _world_document(world: worlds.AnyWorld) -> dict[str, Any]:
    options = [
        {"name": one.name, "default": one.default, "allowed": one.allowed, "description": one.summary}
        for one in worlds.stated(world.options)
    ]
    return {
        "is": "world",
        "name": world.name,
        "summary": world.summary,
        "keeps": sorted(world.keeps),
        "options": options,
    }


def _presets() -> list[dict[str, str]]:
    return [
        {"of": f"{kind} {entry['name']}", "name": preset["name"], "summary": preset["summary"]}
        for kind, entry in entries()
        for preset in entry["presets"]
    ]


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn show RED
    sojourn show ledbat --json
    sojourn show voip
    sojourn show metrics
    sojourn show adsl2+
    sojourn show cable-100-10-film
    sojourn show motivating-red > my-scenario.toml
    sojourn show motivating-red --resolved
    sojourn show motivating-red --network
    """,
)
@click.argument("name", shell_complete=everything)
@click.option("--resolved", is_flag=True, help="Print a ready scenario with every default that it has, as --json does.")
@click.option("--network", is_flag=True, help="Print a scenario, ready or a file, with its links between nodes.")
@json_option
@plugin_options
def show(name: str, *, resolved: bool, network: bool, as_json: bool) -> None:
    """Show what NAME is: an algorithm, a kind of traffic, an access line, or a ready scenario.

    For a queue discipline, a congestion control, a transport or a part of a link: what it does, its source, its
    parameters with their units and defaults, and its presets. For an access line: what it sets in both directions.
    For a world: what it keeps, and its options. `metrics` shows all numbers that runs measure. Names may be written as
    papers do: RED, FQ-CoDel, Reno.
    """
    if network:
        _show_network(name, as_json=as_json)
        return
    if name == "metrics":
        rows = lookup.metric_rows()
        if as_json:
            render.print_json(rows)
        else:
            render.print_rows(rows)
        return
    names = lookup.known()
    if lookup.spelled_as_known(name, names) not in names and plugins.load_announced():
        names = lookup.known()
    name = lookup.spelled_as_known(name, names)
    if name not in names:
        raise unknown_name("nothing is called", name, names)
    ready = [scenario["name"] for scenario in catalogue()["scenarios"]]
    parts = _parts(name)
    if not parts and name in ready:
        _show_scenario(name, resolved=resolved, as_json=as_json)
    elif as_json:
        render.print_json([document for document, _ in parts])
    else:
        for _, shown in parts:
            shown()


def _show_network(source: str, *, as_json: bool) -> None:
    """Print a scenario whose links say between which nodes they lie."""
    native = read(source)
    try:
        native = native.as_network()
    except ValueError as error:
        raise input_error(f"{native.name} cannot be written as a network: {error}") from None
    click.echo(native.to_json() if as_json else native.to_toml(), nl=as_json)


def _parts(name: str) -> list[tuple[Any, Callable[[], None]]]:
    """Return everything of a name that is no scenario: its document, and what prints it."""
    found: list[tuple[Any, Callable[[], None]]] = []
    if name in worlds.OWN:
        document = _world_document(worlds.find(name))
        found.append((document, partial(render.print_world, document)))
    for kind, entry in entries():
        if entry["name"] == name:
            found.append(({"is": kind, **entry}, partial(render.print_entry, kind, entry)))
    lines = [line for line in catalogue()["access"] if line["name"] == name]
    found += [({"is": "access", **line}, partial(render.print_profile, line)) for line in lines]
    for line in catalogue()["lines"]:
        if line["name"] == name:
            found.append((lookup.line_document(line), partial(render.print_line, line)))
    if name not in [scenario["name"] for scenario in catalogue()["scenarios"]]:
        found += [(one, partial(render.print_traffic, one)) for one in lookup.traffic() if one["name"] == name]
    return found


def _show_scenario(name: str, *, resolved: bool, as_json: bool) -> None:
    """Print a ready scenario: its file, or what it became."""
    if not (resolved or as_json):
        texts = {scenario["name"]: scenario["text"] for scenario in catalogue()["scenarios"]}
        click.echo(texts[name], nl=False)
        return
    ready = _native.load_ready(name)
    if not as_json:
        document = json.loads(ready.to_json())
        for sentence in sentences(resolved_presets(document), document):
            click.echo(f"# {sentence}")
    click.echo(ready.to_json() if as_json else ready.to_toml(), nl=as_json)


@click.command(
    cls=ExampleCommand,
    renamed=RENAMED,
    examples="""
    sojourn check my-link.toml
    sojourn check my-link.toml --world linux
    sojourn check my-link.toml --json    # for editors: each problem with line, key and what is allowed
    """,
)
@click.argument("file", metavar="FILE|READY-NAME|-", shell_complete=scenarios)
@click.option("--world", default="sim", show_default=True, metavar="WORLD", help="The world that is to run it.")
@click.option("--root", type=click.Path(), metavar="DIR", help=ROOT_HELP)
@plugin_options
@json_option
def check(file: str, world: str, root: str | None, *, as_json: bool) -> None:
    """Check a scenario without running it: whether it is right, and whether a world can have it."""
    chosen = worlds.choose(world)
    try:
        scenario = read(file, root=root)
        _check_unknown(scenario)
        remarks = list(chosen.fit(scenario))
    except InputError as error:
        if as_json:
            render.print_json({"ok": False, "diagnostics": error.diagnostics})
        raise
    document = json.loads(scenario.to_json())
    if as_json:
        told = {"warnings": scenario.warnings, "notes": remarks, "presets": resolved_presets(document)}
        render.print_json({"ok": True, "diagnostics": [], **told, "scenario": document})
        return
    render.print_warnings(scenario.warnings)
    for remark in remarks:
        render.print_note(remark)
    flows = sum(count for _, count in scenario.groups)
    click.echo(
        f"{file}: ok: {scenario.name}, {flows} flow(s) in {len(scenario.groups)} group(s), "
        f"{scenario.duration_s:g} s, {scenario.runs} run(s)"
    )
    for sentence in sentences(resolved_presets(document), document):
        click.echo(f"  {sentence}")


def _check_unknown(scenario: _native.Scenario) -> None:
    """Raise InputError where a range of `unknown` cannot be read, or names a key that there is not."""
    if "unknown" not in json.loads(scenario.to_json()):
        return
    from sojourn.api import Scenario
    from sojourn.imported.twins import twins

    whole = Scenario(scenario)
    for changes in twins(whole, 1):
        whole.with_(changes)


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn schema > scenario.schema.json
    """,
)
@plugin_options
def schema() -> None:
    """Print the JSON Schema of the scenario file; editors use it to complete and check."""
    click.echo(_native.schema().rstrip("\n"))
