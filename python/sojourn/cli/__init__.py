"""The command line. Results go to stdout, all else to stderr.

Exit codes: 0 done, 1 the run failed, 2 the input is wrong, 130 interrupted.
"""

import importlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from sojourn import InputError, Interrupted, __version__
from sojourn.cli.examples import ExampleGroup, be_quiet
from sojourn.reading import printable, unknown_name
from sojourn.spelling import TERMINAL, speaking

FAILED = 1
INPUT_WRONG = 2
INTERRUPTED = 130
_OWN = (".control", ".queue", ".traffic", ".child")
"""Keys whose kinds plug-ins may bring."""


# In which module each command is. A module is imported when its command is called, or listed by `--help`.
_COMMANDS = {
    "agent": "agent:agent",
    "check": "inspect:check",
    "compare": "compare:compare",
    "compare-log": "compare_log:compare_log",
    "completion": "completion:completion",
    "detect": "detect:detect",
    "draw": "draw:draw",
    "export": "export:export",
    "fit": "fit:fit",
    "help": "helping:help_",
    "import": "line:import_",
    "lab": "lab:lab",
    "list": "inspect:list_",
    "new": "own:new",
    "open": "open:open_",
    "pad": "pad:pad",
    "paper": "study:paper",
    "plot": "plot:plot",
    "run": "run:run",
    "schema": "inspect:schema",
    "shaper": "shaper:shaper",
    "shell": "shell:shell",
    "show": "inspect:show",
    "stacks": "stacks:stacks",
    "stats": "stats:stats",
    "study": "study:study",
    "sweep": "sweep:sweep",
    "testbed": "testbed:testbed",
    "try": "own:try_",
    "tune": "tune:tune",
    "whatif": "line:whatif",
}


class _Commands(ExampleGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None where there is none of this name."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(f"sojourn.cli.{module}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments begin with; one that is not there gets the nearest name."""
        if args and not args[0].startswith("-") and args[0] not in _COMMANDS:
            raise unknown_name("no command is called", args[0], list(_COMMANDS))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with the whole first sentence of its help."""
        rows = [(name, _first_sentence(self.get_command(ctx, name))) for name in _COMMANDS]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _first_sentence(command: click.Command | None) -> str:
    """Return the first sentence of a command's help, however long it is."""
    text = " ".join(((command and command.help) or "").partition("\n\n")[0].split())
    return text if ". " not in text else f"{text.partition('. ')[0]}."


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    examples="""
    sojourn run motivating-red
    sojourn compare voip-under-load --queue droptail,codel,fq_codel,cake
    sojourn run my-link.toml --runs 10 --out results/my-link
    sojourn list queues
    sojourn show red
    """,
)
@click.version_option(__version__, "-V", "--version", prog_name="sojourn")
@click.option(
    "--quiet",
    "-q",
    is_flag=True,
    expose_value=False,
    callback=be_quiet,
    help="Print no progress, notes and warnings; before or after the command.",
)
def cli() -> None:
    """Sojourn, a packet-level laboratory for bufferbloat: queue disciplines x congestion controls."""


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        with speaking(TERMINAL):
            code = cli.main(list(arguments), prog_name="sojourn", standalone_mode=False, obj=list(arguments))
        sys.stdout.flush()
    except InputError as error:
        return _complain(f"{error}{_hint(str(error), arguments)}{_own_hint(error, arguments)}", INPUT_WRONG)
    except click.ClickException as error:
        return _complain(_worded(error), INPUT_WRONG)
    except (KeyboardInterrupt, click.Abort, Interrupted):
        return _complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        _silence_stdout()
        return FAILED
    except (OSError, MemoryError, RuntimeError) as error:
        _silence_stdout()
        return _complain(f"the run failed: {_located(str(error)) or type(error).__name__}", FAILED)
    return code if isinstance(code, int) else 0


def _complain(message: str, code: int) -> int:
    # A message may quote what others wrote, down to the name of a file.
    click.echo(click.style("error:", fg="red", bold=True) + " " + printable(message), err=True)
    return code


def _worded(error: click.ClickException) -> str:
    """Return what is wrong with a command line, and the command that helps."""
    message = error.format_message()
    context = error.ctx if isinstance(error, click.UsageError) else None
    return message if context is None else f"{message}\n`{context.command_path} --help` says what is allowed"


def _hint(message: str, arguments: Sequence[str]) -> str:
    """Return what to type instead where a new kind got the parameters of the old one."""
    if "does not have" not in message and "do not have" not in message:
        return ""
    kinds = [found for word in arguments if (found := re.fullmatch(r"(?:--set=)?(\S+)\.kind=(\w+)", word))]
    return "".join(
        f"\n--set {found[1]}={found[2]} replaces the whole table, with the defaults of {found[2]}" for found in kinds
    )


def _own_hint(error: InputError, arguments: Sequence[str]) -> str:
    """Return what is missing where a kind may be that of somebody's own plug-in."""
    told = error.diagnostics
    if any(word.startswith("--plugin") for word in arguments) or not all(_may_be_own(one) for one in told):
        return ""
    return "\none of your own comes with --plugin FILE"


def _may_be_own(told: Mapping[str, Any]) -> bool:
    key = str(told["key"])
    return (
        key.endswith(tuple(f"{one}.kind" for one in _OWN))
        and told["nearest"] is None
        and "; allowed" in told["message"]
    )


def _located(message: str) -> str:
    """Return what a plug-in's exception says, with its place in front; what called what follows where that is more."""
    said, cut, trace = message.partition("\nTraceback (most recent call last):")
    places = re.findall(r'File "(.+?)", line (\d+)', trace)
    if not places:
        return message
    file, line = places[-1]
    return f"{file}:{line}: {said}{cut + trace if len(places) > 1 else ''}"


def _silence_stdout() -> None:
    """Keep the interpreter from writing once more to an output that no longer takes anything."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
