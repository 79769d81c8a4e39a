"""The command `completion`, and what completes names."""

from typing import TYPE_CHECKING

import click

from sojourn.cli.examples import ExampleCommand

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_SHELLS = ("bash", "zsh", "fish")


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn completion bash >> ~/.bashrc
    sojourn completion zsh >> ~/.zshrc
    sojourn completion fish > ~/.config/fish/completions/sojourn.fish
    """,
)
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print what makes a shell complete commands, options and names; add it to the shell's start-up file."""
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(made(click.get_current_context().find_root().command, {}, "sojourn", "_SOJOURN_COMPLETE").source())


def scenarios(context: click.Context, parameter: click.Parameter, begun: str) -> "list[CompletionItem]":
    """Complete the names of ready scenarios, and files."""
    del context, parameter
    from click.shell_completion import CompletionItem

    from sojourn.registry import catalogue

    names = [
        CompletionItem(one["name"], help=one["summary"])
        for one in catalogue()["scenarios"]
        if one["name"].startswith(begun)
    ]
    return [*names, CompletionItem(begun, type="file")]


def everything(context: click.Context, parameter: click.Parameter, begun: str) -> "list[CompletionItem]":
    """Complete what `show` takes."""
    del context, parameter
    from click.shell_completion import CompletionItem

    from sojourn.cli import lookup

    return [CompletionItem(name) for name in lookup.known() if name.startswith(begun)]


def metrics(context: click.Context, parameter: click.Parameter, begun: str) -> "list[CompletionItem]":
    """Complete the last of several metrics, separated by commas."""
    del context, parameter
    from click.shell_completion import CompletionItem

    from sojourn.cli import lookup

    done, comma, last = begun.rpartition(",")
    names = [row["name"] for row in lookup.metric_rows() if row["name"].startswith(last)]
    return [CompletionItem(f"{done}{comma}{name}") for name in names]
