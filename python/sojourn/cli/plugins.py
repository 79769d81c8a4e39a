"""The options by which every command takes algorithms of one's own: `--plugin` and `--allow-plugins`."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any] | click.Command)


_GIVEN = "sojourn.plugins"


def plugin_options(command: _Decorated) -> _Decorated:
    """Give a command the options; plug-ins are loaded before its arguments are looked at."""
    allowed = click.option(
        "--allow-plugins",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_allow,
        help="Run the Python files that a scenario names under `plugins`.",
    )
    given = click.option(
        "--plugin",
        metavar="FILE|MODULE",
        multiple=True,
        is_eager=True,
        expose_value=False,
        callback=_load,
        help="Load controls, disciplines and traffic of your own. It is code, and runs.",
    )
    return given(allowed(command))


def given_plugins() -> tuple[str, ...]:
    """Return what `--plugin` named in this command."""
    return tuple(click.get_current_context().meta.get(_GIVEN, ()))


def _load(context: click.Context, _option: click.Parameter, targets: tuple[str, ...]) -> None:
    context.meta[_GIVEN] = targets
    if targets:
        from sojourn import plugins

        for target in targets:
            plugins.load(target)


def _allow(_context: click.Context, _option: click.Parameter, given: bool) -> None:
    if given:
        from sojourn import plugins

        plugins.allow()
