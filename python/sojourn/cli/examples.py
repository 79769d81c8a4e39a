"""Commands whose `--help` ends with examples, with options of one kind in a group of their own."""

import contextlib
import functools
import inspect
import io
from collections.abc import Mapping
from typing import Any

import click

_OPTIONS = "Options"


class GroupedOption(click.Option):
    """An option that `--help` lists under a heading of its own."""

    def __init__(self, *arguments: Any, group: str, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.group = group


output = functools.partial(click.option, cls=GroupedOption, group="Output")
"""An option on what is printed or written."""
json_option = output("--json", "as_json", is_flag=True, help="Print one JSON document.")


class _WithExamples(click.Command):
    def __init__(self, *arguments: Any, examples: str, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.examples = inspect.cleandoc(examples)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, first those without a group; then the commands where there are some."""
        groups: dict[str, list[tuple[str, str]]] = {_OPTIONS: []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                groups.setdefault(getattr(param, "group", _OPTIONS), []).append(record)
        for name, records in groups.items():
            with formatter.section(name):
                formatter.write_dl(records)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples below the options."""
        with formatter.section("Examples"):
            for line in self.examples.splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def be_quiet(context: click.Context, _option: click.Parameter, is_quiet: bool) -> None:
    """Keep the command's notes to itself; errors are printed when it is over."""
    if is_quiet:
        context.with_resource(contextlib.redirect_stderr(io.StringIO()))


class ExampleCommand(_WithExamples):
    """A command with examples. It takes `--quiet` as `sojourn` itself does, whose help names it.

    `renamed` are words of the command line that have another name now; the old one is still read.
    """

    def __init__(self, *arguments: Any, renamed: Mapping[str, str] | None = None, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.renamed = dict(renamed or {})
        quiet = click.Option(["-q", "--quiet"], is_flag=True, hidden=True, expose_value=False, callback=be_quiet)
        self.params.append(quiet)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words with today's names."""
        return super().parse_args(ctx, [self._today(word) for word in args])

    def _today(self, word: str) -> str:
        name, equals, value = word.partition("=")
        return f"{self.renamed[name]}{equals}{value}" if name in self.renamed else word


class ExampleGroup(_WithExamples, click.Group):
    """A group of commands with examples."""
