"""The commands of `stacks`."""

import click

from sojourn.cli.examples import ExampleCommand, ExampleGroup
from sojourn.reading import unknown_name


@click.group(
    cls=ExampleGroup,
    examples="""
    sojourn list stacks            # what there is, with controls, and what is built
    sojourn stacks build quinn     # once, for scenarios with stack = "quinn"
    """,
)
def stacks() -> None:
    """Other people's transport stacks, for groups with `stack`: build those of Sojourn's sources."""


@stacks.command(
    cls=ExampleCommand,
    examples="""
    sojourn stacks build quinn
    sojourn stacks build smoltcp sctp
    """,
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
def build(names: tuple[str, ...]) -> None:
    """Build stacks with cargo, in the folder `target` of the sources. `sojourn list stacks` has their names."""
    from sojourn.worlds.stacks import in_sources

    known = {stack.name: stack for stack in in_sources()}
    for name in names:
        if name not in known:
            raise unknown_name("no stack is called", name, list(known))
    for name in names:
        known[name].build()
        click.echo(f'{name} is built: a group may say stack = "{name}"')
