"""The command `compare`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn import purposes
from sojourn.api import Scenario
from sojourn.cli import completion as completing
from sojourn.cli import render
from sojourn.cli.examples import json_option, output
from sojourn.cli.lookup import LINE_HELP, metric_rows, on_line
from sojourn.cli.pictures import look_options, save_picture
from sojourn.cli.plugins import plugin_options
from sojourn.cli.targets import check_picture, command_line, page_option, split, write_page
from sojourn.cli.worlds import WorldCommand
from sojourn.progress import progress
from sojourn.reading import ROOT_HELP, input_error, unknown_name
from sojourn.worlds import choose
from sojourn.worlds.registry import SIM
from sojourn.worlds.shell.ends import NAME as SHELL

if TYPE_CHECKING:
    from sojourn.comparison import Comparison

_FORMS = ("table", "markdown", "csv", "json")


@click.command(
    cls=WorldCommand,
    examples="""
    sojourn compare backups-beside-calls --for calls --queue droptail,codel,fq_codel,cake
    sojourn compare voip-under-load --queue fq_codel --control cubic,ledbat --runs 20
    sojourn compare cake-lower-effort --variant le:group.background.dscp=le --variant be:group.background.dscp=default
    sojourn compare my-link.toml --queue droptail,codel --metric voip_mos,share --format markdown > table.md
    sojourn compare my-link.toml --queue droptail,codel --page queues.html
    sojourn compare my-link.toml --queue droptail,codel --kernel
    sojourn compare my-link.toml --queue droptail,codel --line cable-100-10-film
    sojourn compare gateway-and-modem --queue cake,fq_codel --lines home
    sojourn compare rrul --queue droptail,fq_codel,cake --grade
    sojourn compare my-link.toml --queue droptail,cake --world shell --server "iperf3 -s" -- iperf3 -c 10.77.0.1
    """,
)
@click.argument("source", metavar="FILE|READY-NAME|-", shell_complete=completing.scenarios)
@plugin_options
@click.option("--queue", "queues", metavar="KIND,...", help="Queue disciplines of the bottleneck, with their defaults.")
@click.option("--control", "controls", metavar="KIND,...", help="Congestion controls of the group that has one.")
@click.option("--variant", "own", multiple=True, metavar="NAME:KEY=VALUE,...", help="A variant of your own.")
@click.option("--for", "purpose", type=click.Choice(list(purposes.PURPOSES)), help="Sort by what matters for this.")
@click.option(
    "--metric",
    "metrics",
    metavar="NAMES",
    shell_complete=completing.metrics,
    help="Show these metrics.  [default: by what the scenario has]",
)
@click.option(
    "--grade", is_flag=True, help="Grade each variant under load, by pings; they are added where there are none."
)
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key in all variants.")
@click.option("--line", metavar="NAME", help=LINE_HELP)
@click.option(
    "--lines",
    metavar="WHICH",
    help="Run on many access lines: home (30 that stand for all), home:100, cable, all, or names.",
)
@click.option("--runs", type=click.IntRange(min=1), metavar="N", help="Runs of each.  [default: 10; 1 with --lines]")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads to use.  [default: all processors]")
@click.option("--root", type=click.Path(), metavar="DIR", help=ROOT_HELP)
@click.option(
    "--kernel",
    is_flag=True,
    help="Run each variant on a real Linux kernel too, in a row of its own; KIND then takes its preset linux.",
)
@click.option(
    "--kernel-runs", type=click.IntRange(min=1), default=3, show_default=True, metavar="N", help="Runs on the kernel."
)
@page_option
@output("--plot", type=click.Path(), metavar="FILE", help="Draw the first metrics as PNG, PDF or SVG.")
@look_options
@output("--out", type=click.Path(), metavar="DIR", help="Write page, figure and all numbers to DIR.")
@output("--force", is_flag=True, help="Let --out replace an old comparison.")
@output("--format", "form", type=click.Choice(_FORMS), default="table", show_default=True, help="How to print.")
@json_option
def compare(  # noqa: PLR0913 (one for each option)
    source: str,
    queues: str | None,
    controls: str | None,
    own: tuple[str, ...],
    purpose: str | None,
    metrics: str | None,
    grade: bool,
    overrides: tuple[str, ...],
    line: str | None,
    lines: str | None,
    runs: int | None,
    jobs: int | None,
    root: str | None,
    kernel: bool,
    kernel_runs: int,
    page: Path | None,
    plot: str | None,
    out: str | None,
    force: bool,
    form: str,
    as_json: bool,
    world: str,
    **options: Any,
) -> None:
    """Compare variants of a scenario, run with the same seeds: one row for each variant.

    The first variant is the reference. The columns follow from what the scenario contains. A queue or control that
    the scenario has keeps its parameters there; any other one has its defaults.
    """
    from sojourn import comparison
    from sojourn.variants import variants, with_pings

    if grade:
        _check_beside("--grade", {"--kernel": kernel, "--page": page, "--plot": plot, "--out": out})
    _check_targets(plot, out, force=force)
    choose(world, options)
    changes = [*on_line(line), *overrides]
    if world == SHELL:
        from sojourn.worlds.shell.path import end

        options["at"] = options["at"] or end(changes)
    scenario = _scenario(source, changes, root, world, options)
    made = variants(
        scenario, queues=split(queues), controls=split(controls), own=own, preset="linux" if kernel else None
    )
    if grade:
        made = {name: with_pings(one) for name, one in made.items()}
    _check_metrics(split(metrics), [group for group, _ in scenario.groups.items()])
    if lines is not None:
        others = {"--kernel": kernel, "--plot": plot, "--out": out, "--grade": grade, "--world": world != SIM}
        _check_beside("--lines", others)
        on = {"runs": runs or 1, "purpose": purpose, "jobs": jobs, "metrics": split(metrics)}
        _compare_on_lines(made or {scenario.name: scenario}, lines, on, page, "json" if as_json else form)
        return
    with progress(scenario.name) as update:
        found = comparison.compare(
            made,
            runs=runs or 10,
            purpose=purpose,
            kernel_runs=kernel_runs * kernel,
            progress=update,
            jobs=jobs,
            world=world,
            **options,
        )
    _write(found, page, plot, out, force=force)
    _print(found, split(metrics) or None, "json" if as_json else form, graded=grade)


def _scenario(source: str, changes: list[str], root: str | None, world: str, options: Mapping[str, Any]) -> Scenario:
    """Return what is compared: in the world of programs with groups for the program's packets, as long as it lasts."""
    if world != SHELL:
        return Scenario.load(source, changes, root=root)
    from sojourn.worlds.shell.path import behind

    path = behind(source, changes, at=options["at"], root=root)
    return Scenario(path.resolve(), path)


def _check_beside(what: str, beside: Mapping[str, object]) -> None:
    """Refuse options that another one does not go with."""
    for option, value in beside.items():
        if value:
            raise input_error(f"{option} does not go with {what}", key=option, allowed="one of the two")


def _compare_on_lines(
    made: Mapping[str, Scenario], which: str, options: Mapping[str, Any], page: Path | None, form: str
) -> None:
    from sojourn import lines

    with progress("lines") as update:
        found = lines.on_lines(made, lines.chosen(which), progress=update, **options)
    write_page(found.page, page)
    if form == "json":
        render.print_json(found.rows())
    elif form == "csv":
        rows = found.rows()
        render.print_csv(list(rows[0]), [list(row.values()) for row in rows])
    else:
        render.print_finding(found.answer, found.grid(), found.notes(), markdown=form == "markdown")


def _print(found: "Comparison", metrics: list[str] | None, form: str, *, graded: bool) -> None:
    from sojourn import grade
    from sojourn.compared import tabulated

    if graded and form in ("json", "csv"):
        rows = [{"variant": name, **one.row()} for name, one in found.grades.items()]
        if form == "json":
            render.print_json(rows)
        else:
            names = ["variant", "grade", *(column.metric for column in grade.COLUMNS)]
            render.print_csv(names, [list(row.values()) for row in rows])
        return
    if graded:
        (render.print_markdown if form == "markdown" else render.print_grid)(found.grade_grid())
        click.echo(f"\n{grade.note()}")
        if metrics is None:
            return
        click.echo()

    table = tabulated(found, metrics)
    shown = [column.shown.metric for column in (found.columns if metrics is None else table.columns)]
    if form == "json":
        render.print_json(found.rows(shown))
    elif form == "csv":
        click.echo(found.csv(shown), nl=False)
    else:
        render.print_finding(found.answer, table.grid, table.notes(found), markdown=form == "markdown")


def _check_metrics(names: list[str], groups: list[str]) -> None:
    """Refuse what no run measures before any time is spent; raises InputError with the nearest name."""
    from sojourn.data.metrics import find

    known = [row["name"] for row in metric_rows()]
    for name in names:
        metric, dot, group = name.partition(".")
        if find(name if dot else f"{name}.{groups[0]}") is None and find(metric) is None:
            raise unknown_name("no metric is called", name, known)
        if dot and group not in groups:
            raise unknown_name(f"{metric} of a group that is not there:", group, groups)


def _check_targets(plot: str | None, out: str | None, *, force: bool) -> None:
    """Refuse what cannot be written before any time is spent."""
    if plot is not None:
        check_picture("--plot", Path(plot))
    if out is not None:
        from sojourn.comparison import MARKS
        from sojourn.store import check_directory

        check_directory(out, force=force, marks=MARKS)


def _write(found: "Comparison", page: Path | None, plot: str | None, out: str | None, *, force: bool) -> None:
    write_page(found.page, page)
    if plot is not None:
        save_picture(found.plot, Path(plot))
    if out is not None:
        from sojourn.lab import write_beside

        write_beside(found.save(out, force=force, command=command_line()))
