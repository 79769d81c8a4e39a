"""The command `fit`."""

from typing import TYPE_CHECKING, Any

import click

from sojourn.cli import render
from sojourn.cli.examples import ExampleCommand, json_option
from sojourn.cli.plugins import plugin_options
from sojourn.cli.sweep import How, run_plan, sweep_options
from sojourn.study.fit import MODEL_PERCENT

if TYPE_CHECKING:
    from sojourn.study.fit import Fit

_MAX_ROWS = 10


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn fit unprinted.toml printed.csv --out results/fit
    sojourn fit unprinted.toml printed.csv --out results/fit --model 5
    sojourn fit unprinted.toml printed.csv --out results/fit --json
    """,
)
@click.argument("file", type=click.Path())
@click.argument("numbers", type=click.Path())
@click.option(
    "--model",
    type=click.FloatRange(min=0, max=100),
    default=MODEL_PERCENT,
    show_default=True,
    metavar="PERCENT",
    help="How far from a number another implementation of the same may lie.",
)
@plugin_options
@sweep_options
@json_option
def fit(file: str, numbers: str, model: float, how: How, *, as_json: bool) -> None:
    """Find the settings that explain printed numbers.

    FILE is a sweep file. NUMBERS is a table (CSV) of printed numbers with the columns quantity, value and error, and a
    column for each axis of the sweep that is known. The axes without a column are what is sought: each of their
    settings is judged by all numbers together. A sweep that was interrupted goes on when the command is given again.
    """
    from sojourn.study.fit import numbers_for, of_dataset
    from sojourn.sweeps import Plan

    plan = Plan.load(file, root=how.root)
    read = numbers_for(plan, numbers)
    dataset = run_plan(plan, file, how)
    found = of_dataset(plan, dataset, read, model)
    if as_json:
        render.print_json(document(found))
    else:
        show(found)


def document(found: "Fit") -> dict[str, Any]:
    """Return a fit as JSON has it."""
    return {
        "numbers": [{"name": one.name, "value": one.value, "error": one.error} for one in found.printed],
        "bound": found.bound,
        "settings": [
            {
                "at": one.at,
                "weight": one.weight,
                "misfit": one.misfit,
                "numbers": [number.mean for number in one.numbers],
                "z": list(one.z),
            }
            for one in found.settings
        ],
        "alike": len(found.alike),
        "excluded": found.excluded,
        "sentences": found.sentences(),
    }


def show(found: "Fit") -> None:
    """Print a fit: the best settings, what the numbers determine, and each number under the best setting."""
    axes = list(found.best.at)
    rows = [
        [*one.at.values(), f"{100 * one.weight:.1f} %", f"{one.misfit:.2f}", len(found.missed(one)) or ""]
        for one in found.settings[:_MAX_ROWS]
    ]
    render.print_table(rows, [*axes, "weight", "misfit", "not explained"])
    if len(found.settings) > _MAX_ROWS:
        click.echo(f"{len(found.settings) - _MAX_ROWS} further settings are in --json.")
    parts = [
        [axis, ", ".join(f"{value} {100 * part:.0f} %" for value, part in sorted(of.items(), key=lambda one: -one[1]))]
        for axis, of in found.weights().items()
        if len(of) > 1
    ]
    if parts:
        click.echo()
        render.print_table(parts, ["axis", "weight of its values"])
    click.echo()
    compared = [
        [
            printed.name,
            f"{printed.value:g} ± {printed.error:g}",
            f"{number.mean:.4g} ± {number.sd:.2g}",
            f"{z:+.1f}",
            "no" if abs(z) > found.bound else "yes",
        ]
        for printed, number, z in zip(found.printed, found.best.numbers, found.best.z, strict=True)
    ]
    render.print_table(compared, ["number", "printed", "best setting", "off by", "explained"])
    click.echo()
    for sentence in found.sentences():
        click.echo(sentence)
