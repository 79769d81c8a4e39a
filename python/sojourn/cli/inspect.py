"""Commands that look and run nothing: list, show, check, schema."""

import json
from typing import TYPE_CHECKING, Any

import click

from sojourn import _native, worlds
from sojourn.catalogue import catalogue, entries
from sojourn.cli import render
from sojourn.cli.examples import ExampleCommand
from sojourn.cli.plugins import plugin_options
from sojourn.reading import ROOT_HELP, read, unknown_name
from sojourn.resolved import resolved_presets, sentences

if TYPE_CHECKING:
    from collections.abc import Mapping

LISTED = ["worlds", "queues", "controls", "media", "noises", "protections", "access", "presets", "scenarios"]
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command(
    "list",
    cls=ExampleCommand,
    examples="""
    sojourn list queues
    sojourn list access
    sojourn list scenarios --json
    """,
)
@click.argument("what", type=click.Choice(LISTED))
@json_option
@plugin_options
def list_(what: str, as_json: bool) -> None:
    """List the worlds, or what a scenario can name: queues, controls, parts of links, presets, ready scenarios."""
    rows = {"presets": _presets, "worlds": _worlds}.get(what, lambda: _named(what))()
    if as_json:
        render.print_json(rows)
    else:
        render.print_rows(rows)


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
    sojourn show red
    sojourn show ledbat --json
    sojourn show adsl2+
    sojourn show motivating-red > my-scenario.toml
    """,
)
@click.argument("name")
@json_option
@plugin_options
def show(name: str, as_json: bool) -> None:
    """Show what NAME is: an algorithm, an access line, or a ready scenario with every default written out.

    For a queue discipline, a congestion control, a transport or a part of a link: what it does, its source, its
    parameters with their units and defaults, and its presets. For an access line: what it sets in both directions.
    For a world: what it keeps, and its options.
    """
    found = [(kind, entry) for kind, entry in entries() if entry["name"] == name]
    named = [worlds.find(name)] if name in worlds.OWN else []
    lines = [profile for profile in catalogue()["access"] if profile["name"] == name]
    if found or lines or named:
        if as_json:
            listed = [*found, *(("access", line) for line in lines)]
            render.print_json([*map(_world_document, named), *({"is": kind, **entry} for kind, entry in listed)])
        else:
            for kind, entry in found:
                render.print_entry(kind, entry)
            for line in lines:
                render.print_profile(line)
            for world in named:
                render.print_world(_world_document(world))
    elif any(scenario["name"] == name for scenario in catalogue()["scenarios"]):
        ready = _native.load_ready(name)
        if not as_json:
            document = json.loads(ready.to_json())
            for sentence in sentences(resolved_presets(document), document):
                click.echo(f"# {sentence}")
        click.echo(ready.to_json() if as_json else ready.to_toml(), nl=as_json)
    else:
        known = [entry["name"] for _, entry in entries()]
        known += [profile["name"] for profile in catalogue()["access"]]
        known += [scenario["name"] for scenario in catalogue()["scenarios"]]
        known += worlds.OWN
        raise unknown_name("nothing is called", name, known)


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn check my-link.toml
    sojourn check my-link.toml --backend linux
    """,
)
@click.argument("file", metavar="FILE|READY-NAME")
@click.option("--backend", default="sim", show_default=True, metavar="WORLD", help="The world that is to run it.")
@click.option("--root", type=click.Path(), metavar="DIR", help=ROOT_HELP)
@plugin_options
def check(file: str, backend: str, root: str | None) -> None:
    """Check a scenario without running it: whether it is right, and whether a world can have it."""
    chosen = worlds.choose(backend)
    scenario = read(file, root=root)
    render.print_warnings(scenario.warnings)
    for remark in chosen.fit(scenario):
        click.echo(f"note: {remark}", err=True)
    flows = sum(count for _, count in scenario.groups)
    click.echo(
        f"{file}: ok: {scenario.name}, {flows} flow(s) in {len(scenario.groups)} group(s), "
        f"{scenario.duration_s:g} s, {scenario.runs} run(s)"
    )
    document = json.loads(scenario.to_json())
    for sentence in sentences(resolved_presets(document), document):
        click.echo(f"  {sentence}")


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
