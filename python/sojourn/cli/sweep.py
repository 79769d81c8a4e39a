"""The command `sweep`."""

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from sojourn.cli import render
from sojourn.cli.examples import ExampleCommand, json_option
from sojourn.cli.plugins import plugin_options
from sojourn.cli.stats import print_alike
from sojourn.processors import usable_processors
from sojourn.progress import progress
from sojourn.reading import ROOT_HELP, input_error

if TYPE_CHECKING:
    from sojourn.sweeps import Dataset, Plan

# Above this a sweep asks first.
_MAX_RUNS = 100_000
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


@dataclass(frozen=True)
class How:
    """What the options of a command that runs a sweep file say."""

    out: str
    jobs: int | None
    cluster: str | None
    root: str | None
    keep_old: bool
    yes: bool


cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Dask scheduler to use instead, or local:N to start N processes. tls:// takes keys from Dask's settings; who "
    "answers at tcp:// is trusted with running code here.",
)


def sweep_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command that runs a sweep file, which is given them as `how`."""

    @functools.wraps(command)
    def function(**given: Any) -> Any:
        how = How(**{one.name: given.pop(one.name) for one in fields(How)})
        return command(how=how, **given)

    options = (
        click.option("--out", type=click.Path(), metavar="DIR", required=True, help="Folder of the dataset."),
        click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processors to use.  [default: all]"),
        cluster_option,
        click.option("--root", type=click.Path(), metavar="DIR", help=ROOT_HELP),
        click.option("--keep-old", is_flag=True, help="Keep results of another engine, base scenario or trace."),
        click.option("--yes", is_flag=True, help=f"Do not ask before more than {_MAX_RUNS:,} runs."),
    )
    for option in reversed(options):
        option(function)
    return function


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn sweep capacity-and-buffer.toml --out results/capacity-and-buffer
    sojourn sweep capacity-and-buffer.toml --out results/capacity-and-buffer --jobs 1
    sojourn sweep capacity-and-buffer.toml --out results/capacity-and-buffer --cluster tls://head-node:8786
    """,
)
@click.argument("file", type=click.Path())
@plugin_options
@sweep_options
@json_option
def sweep(file: str, how: How, *, as_json: bool) -> None:
    """Run a scenario over the points of a sweep file, and keep the results as a dataset.

    A sweep that was interrupted goes on where it was when the same command is given again.
    """
    from sojourn.sweeps import Plan

    plan, out = Plan.load(file, root=how.root), how.out
    dataset = run_plan(plan, file, how)
    failed = dataset.failures()
    if as_json:
        render.print_json({"folder": out, "points": plan.points, "runs": plan.runs, "failed": failed})
    else:
        click.echo(f"{plan.runs} runs at {plan.points} points: {out}; `sojourn open {out}` shows them")
    if failed:
        click.echo(f"{failed} of them failed: see the column `error`", err=True)
    print_alike(dataset)


def run_plan(plan: "Plan", file: str, how: How) -> "Dataset":
    """Run what a dataset lacks of a plan, with progress, and return it."""
    from sojourn.sweeps import Dataset
    from sojourn.sweeps.local import Status, batch_size, estimate_s, run_local

    used = how.jobs or usable_processors()
    if plan.runs > _MAX_RUNS and not how.yes:
        needed = duration_text(estimate_s(plan) / used)
        message = f"{plan.runs:,} runs, about {needed} on {used} processor(s); --yes starts them"
        raise input_error(message, file=file, found=f"{plan.runs:,} runs", allowed="--yes")
    dataset = Dataset.create(how.out, plan, *batch_size(plan), keep_old=how.keep_old)
    if dataset.remark:
        render.print_note(dataset.remark)
    with progress(plan.name) as update:
        begun = time.monotonic()

        def report(status: Status) -> None:
            done = status.done - status.saved
            rate = done / max(time.monotonic() - begun, 1e-3)
            left = f", {duration_text((status.runs - status.done) / rate)} left" if rate > 0 else ""
            update(status.done / status.runs, f"{status.done:.0f} of {status.runs} runs, {rate:.0f} runs/s{left}")

        if how.cluster is None:
            run_local(plan, dataset, used, report)
        else:
            from sojourn.sweeps.cluster import run_cluster

            run_cluster(plan, dataset, how.cluster, report)
    return dataset


def duration_text(seconds: float) -> str:
    """Return a length of time for a person.

    >>> duration_text(5), duration_text(4000), duration_text(1e6)
    ('5 s', '1.1 h', '12 days')
    """
    for size, unit in ((_DAY_S, "days"), (_HOUR_S, "h"), (_MINUTE_S, "min")):
        if seconds >= size:
            number = seconds / size
            return f"{number:.1f} {unit}" if number < 10 else f"{number:.0f} {unit}"  # noqa: PLR2004
    return f"{math.ceil(seconds)} s"
