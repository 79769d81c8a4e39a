"""Commands whose `--help` ends with examples."""

import inspect
from typing import Any

import click


class _WithExamples(click.Command):
    def __init__(self, *arguments: Any, examples: str, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.examples = inspect.cleandoc(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples below the options."""
        with formatter.section("Examples"):
            for line in self.examples.splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class ExampleCommand(_WithExamples):
    """A command with examples."""


class ExampleGroup(_WithExamples, click.Group):
    """A group of commands with examples."""
