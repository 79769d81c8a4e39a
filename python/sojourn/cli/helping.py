"""The command `help`."""

import click

from sojourn.cli.examples import ExampleCommand


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn help
    sojourn help compare
    sojourn help study run
    """,
)
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def help_(context: click.Context, words: tuple[str, ...]) -> None:
    """Explain a command, as its `--help` does; without a name list all of them."""
    found = context.find_root()
    for place, word in enumerate(words):
        command = found.command.get_command(found, word) if isinstance(found.command, click.Group) else None
        if command is None:
            text = f"there is no command {' '.join(words[: place + 1])!r}; `sojourn help` lists those that there are"
            raise click.UsageError(f"{text}, and `sojourn show {word}` explains queues, controls and other names")
        found = click.Context(command, found, info_name=word)
    click.echo(found.get_help())
