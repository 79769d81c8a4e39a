"""Commands that run something in a world: `--world`, and the options of the worlds, as the registry has them."""

import shlex
from pathlib import Path
from typing import Any

import click

from sojourn.cli.examples import ExampleCommand, GroupedOption
from sojourn.worlds import Option, registry
from sojourn.worlds.shell.ends import NAME as SHELL

_WORLD = "--world"
_COMMAND = "--"
RENAMED = {"--backend": _WORLD}


class WorldCommand(ExampleCommand):
    """A command with `--world`, the options of Sojourn's own worlds, and those of the world that is named."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, renamed=RENAMED, **settings)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters of the command, its worlds' among them."""
        params = super().get_params(ctx)
        at = next(place for place, one in enumerate(params) if isinstance(one, click.Option))
        # A command may have an option of its own with the name of a world's.
        own = {param.name for param in params}
        added = [one for one in _options(ctx.meta.get(_WORLD, registry.SIM)) if one.name not in own]
        return [*params[:at], _world(), *added, *params[at:]]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Look which world is named first: another package's has options of its own."""
        ctx.meta[_WORLD] = _named([self._today(word) for word in args])
        return super().parse_args(ctx, with_command(args) if ctx.meta[_WORLD] == SHELL else args)


def with_command(args: list[str]) -> list[str]:
    """Return the words of a command line with what stands behind `--` as the option `--command`.

    >>> with_command(["--line", "x", "--", "curl", "-s", "a b"])
    ['--line', 'x', '--command', "curl -s 'a b'"]
    """
    if _COMMAND not in args:
        return args
    at = args.index(_COMMAND)
    return [*args[:at], "--command", shlex.join(args[at + 1 :])]


def _named(args: list[str]) -> str:
    for place, word in enumerate(args):
        if word == _WORLD and place + 1 < len(args):
            return args[place + 1]
        if word.startswith(f"{_WORLD}="):
            return word.partition("=")[2]
    return registry.SIM


def _world() -> click.Option:
    known = ", ".join(registry.OWN)
    return click.Option(
        [_WORLD], default=registry.SIM, show_default=True, metavar="WORLD", help=f"The world to run in: {known}."
    )


def _options(named: str) -> list[click.Option]:
    """Return an option for each one of the worlds; two that share a name are one option for both."""
    whose: dict[str, list[tuple[str, Option]]] = {}
    for world in dict.fromkeys((*registry.OWN, named)):
        for option in registry.options_of(world):
            whose.setdefault(option.name, []).append((world, option))
    return [_click_option([world for world, _ in found], found[-1][1]) for found in whose.values()]


def _click_option(worlds: list[str], option: Option) -> click.Option:
    flag = f"--{option.name.replace('_', '-')}"
    text = f"{option.summary[0].upper()}{option.summary[1:]}."
    group = f"Options with {_WORLD} {' or '.join(worlds)}"
    if option.kind is bool:
        return GroupedOption([flag], is_flag=True, default=None, help=text, group=group)
    if option.default is not None:
        text += f"  [default: {option.default}]"
    if option.choices:
        return GroupedOption([flag], type=click.Choice(option.choices), help=text, group=group)
    kind = click.Path(path_type=Path) if option.kind is Path else option.kind
    return GroupedOption([flag], type=kind, metavar=option.metavar or None, help=text, group=group)
