"""The commands `paper` and `study`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn.cli import render
from sojourn.cli.examples import ExampleCommand, ExampleGroup, json_option
from sojourn.cli.pictures import asked_look, look_options
from sojourn.cli.plugins import given_plugins, plugin_options
from sojourn.cli.sweep import duration_text
from sojourn.processors import usable_processors
from sojourn.progress import progress
from sojourn.reading import input_error, unknown_name

if TYPE_CHECKING:
    from sojourn.study.model import Study
    from sojourn.study.repeat import Repeated

FAILED = 1
_ITEMS = click.argument("items", nargs=-1, metavar="[ITEM]...")
_JOBS = click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processors to use.  [default: all]")
_SET = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key of every scenario of the study."
)
_YES = click.option("--yes", is_flag=True, help="Do not ask before runs on a kernel that take minutes of real time.")
_MAX_REAL_TIME_S = 120
"""Above this a study asks first."""
_HELP_OUT = "Folder for figures, data and the page."


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn paper                               # the studies that there are
    sojourn paper gong                          # the items of one
    sojourn paper gong --out results/gong       # all of it
    sojourn paper gong fig3 --out results/gong  # one figure
    sojourn paper gong --kept --out page        # its page from the means that it keeps, in seconds
    sojourn paper gong fig2 --out mine --plot-width 3.5   # figures for a column of a two-column paper
    sojourn paper ./mine --out results/mine     # a study of your own: sojourn study new
    sojourn paper gong fig2 --plugin mine.py --set group.background.control=mine --out results/mine
    sojourn paper rfc7928 --queue pie --out results/pie                      # one discipline beside the best known
    sojourn paper rfc7928 --queue mine --plugin mine.py --out results/mine   # the same of your own
    sojourn paper all --out results/papers
    """,
)
@click.argument("name", required=False, metavar="[NAME|PATH|all]")
@_ITEMS
@click.option("--out", type=click.Path(), metavar="DIR", help=_HELP_OUT)
@click.option(
    "--kept",
    is_flag=True,
    help="Run nothing: take the means that come with the study. Items that are named have PNG and PDF.",
)
@click.option("--queue", metavar="NAME", help="Of rfc7928: only this queue discipline, beside droptail and fq_codel.")
@_SET
@_YES
@_JOBS
@look_options
@json_option
@plugin_options
def paper(  # noqa: PLR0913 (one for each option)
    name: str | None,
    items: tuple[str, ...],
    out: str | None,
    jobs: int | None,
    *,
    kept: bool,
    queue: str | None,
    yes: bool,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    """Repeat a paper, or a study of your own: its figures, their data, and a table of what agrees.

    Runs that the folder holds already are not repeated, and the page keeps what the folder holds of other items.
    gong-testbed and some items of braud and updates need a Linux kernel (`sojourn testbed doctor`);
    without one `all` leaves out the former, and braud and updates the latter.
    """
    from sojourn.study.find import find, named, studies

    if name is None or (out is None and not items and name in named()):
        _list(name, as_json=as_json)
        return
    from sojourn.study.repeat import chosen_items

    if name != "all":
        chosen_items(find(name), items)
    if (queue is not None or overrides) and (kept or name == "all"):
        option, other = "--set" if overrides else "--queue", "--kept" if kept else "all"
        raise click.UsageError(f"{option} needs runs of one study of its own; it does not go with {other}.")
    from sojourn.look import looking

    with looking(asked_look()):
        if kept:
            _show_kept(name, items, _folder(out), jobs, as_json=as_json)
            return
        chosen = list(studies()) if name == "all" else [_changed(name, queue, overrides)]
        _ask_for_real_time(chosen, items, yes=yes)
        documents = list(_repeated(chosen, name, items, out, jobs, as_json=as_json))
    if as_json:
        render.print_json(documents)


def _repeated(
    chosen: "Sequence[Study]", name: str, items: tuple[str, ...], out: str | None, jobs: int | None, *, as_json: bool
) -> Iterator[dict[str, Any]]:
    """Repeat studies, one after the other."""
    from sojourn.worlds.linux.errors import NotInstalledError

    for study in chosen:
        try:
            folder = _folder(out)
            done = _repeat(study, items, folder / study.name if name == "all" else folder, jobs, quiet=as_json)
            yield _document(study, done)
        except NotInstalledError as error:
            if name != "all":
                raise
            click.echo(f"{study.name}: skipped: {error}", err=True)


@click.group(
    cls=ExampleGroup,
    examples="""
    sojourn study new mine
    sojourn study new mine --from gong
    sojourn study run mine --out results/mine
    sojourn study run mine --out results/mine --keep
    sojourn study check mine --mutate
    """,
)
def study() -> None:
    """Ask a question of your own: sweeps, figures and claims as tables in a folder."""


@study.command(
    cls=ExampleCommand,
    examples="""
    sojourn study new mine
    sojourn study new mine --from gong
    """,
)
@click.argument("directory", type=click.Path(), metavar="DIR")
@click.option("--from", "origin", metavar="NAME|PATH", help="Copy this study, without the means that it keeps.")
def new(directory: str, origin: str | None) -> None:
    """Make the folder of a study that runs as it is, to be changed."""
    from sojourn.study.find import find_folder
    from sojourn.study.template import make

    made = make(Path(directory), None if origin is None else find_folder(origin).folder)
    click.echo(f"{made}: run it with `sojourn study run {directory} --out DIR`")


@study.command(
    cls=ExampleCommand,
    examples="""
    sojourn study run mine --out results/mine
    sojourn study run mine --out results/mine --keep   # its means and verdicts beside study.toml
    """,
)
@click.argument("path", metavar="PATH|NAME")
@_ITEMS
@click.option("--out", type=click.Path(), metavar="DIR", help=_HELP_OUT)
@_SET
@click.option("--keep", is_flag=True, help="Keep means and verdicts in the study's folder, for `study check`.")
@_YES
@_JOBS
@json_option
@plugin_options
def run(
    path: str,
    items: tuple[str, ...],
    out: str | None,
    overrides: tuple[str, ...],
    jobs: int | None,
    *,
    keep: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Run a study: its sweeps, figures and claims. The same as `sojourn paper`."""
    from sojourn.study import replay
    from sojourn.study.find import find_folder

    if keep and overrides:
        raise click.UsageError("--keep keeps what the study says; it does not go with --set.")
    folder = _folder(out)
    study = _changed(path, None, overrides)
    _ask_for_real_time([study], items, yes=yes)
    done = _repeat(study, items, folder, jobs, quiet=as_json)
    kept = str(replay.keep(find_folder(path), folder)) if keep else None
    if as_json:
        render.print_json([_document(study, done)])
    elif kept is not None:
        click.echo(kept)


@study.command(
    cls=ExampleCommand,
    examples="""
    sojourn study check mine
    sojourn study check gong --mutate
    """,
)
@click.argument("path", metavar="PATH|NAME")
@click.option("--mutate", is_flag=True, help="Change the claims one at a time, and say which changes are noticed.")
@json_option
def check(path: str, *, mutate: bool, as_json: bool) -> int:
    """Check a study's tables, and replay the means that it keeps into verdicts: exit code 1 where these differ."""
    from dataclasses import asdict

    from sojourn.study import mutate as mutation
    from sojourn.study import replay
    from sojourn.study.find import find_folder

    found = find_folder(path)
    runs = {name: plan.runs for name, plan in found.plans().items()}
    left_out = replay.left_out(found, found.replayed())
    wrong = replay.differences(found)
    noticed = (mutation.score(found), mutation.wrong_by_ten(found)) if mutate else None
    if as_json:
        document = {"name": found.name, "runs": runs, "left_out": left_out, "differences": wrong}
        render.print_json(
            document
            if noticed is None
            else {**document, "mutations": asdict(noticed[0]), "wrong_by_ten": asdict(noticed[1])}
        )
        return FAILED if wrong else 0
    click.echo(f"{found.name}: {len(runs)} sweeps of {sum(runs.values())} runs")
    for name in left_out:
        click.echo(
            f"{name}: no means are kept; they need a kernel or take long: sojourn study run {path} --out DIR --keep",
            err=True,
        )
    for one in wrong:
        click.echo(one, err=True)
    if not wrong:
        click.echo("the kept means give the kept verdicts")
    if noticed is not None:
        click.echo(mutation.as_text(noticed[0]))
        click.echo(mutation.ten_as_text(noticed[1]))
    return FAILED if wrong else 0


def _list(name: str | None = None, *, as_json: bool) -> None:
    """Print the studies that there are, a line for each; or the items of one, a line for each."""
    from sojourn.study.find import named, titles

    found = [(one, source, items) for one, source, items in titles() if name is None or one == name]
    if not found:
        raise unknown_name("no study is called", str(name), list(named()))
    if as_json:
        render.print_json([{"name": one, "source": source, "items": items} for one, source, items in found])
    elif name is None:
        render.print_rows([{"name": one, "items": str(len(items)), "source": source} for one, source, items in found])
        click.echo("\nsojourn paper NAME lists the items of one; sojourn paper NAME --out DIR repeats it.")
    else:
        (_, source, items), *_ = found
        click.echo(f"{name}: {source}\n")
        render.print_rows([{"item": item, "title": title} for item, title in items.items()])
        click.echo(f"\nsojourn paper {name} [ITEM]... --out DIR repeats them.")


def _show_kept(name: str, items: tuple[str, ...], folder: Path, jobs: int | None, *, as_json: bool) -> None:
    """Write the page of a study from the means that it keeps."""
    from sojourn.lab import write_beside
    from sojourn.processors import usable_processors
    from sojourn.study.find import find_folder
    from sojourn.study.repeat import from_kept

    page = from_kept(find_folder(name), items, folder, jobs or usable_processors())
    write_beside(page)
    if as_json:
        render.print_json({"name": name, "page": str(page)})
    else:
        click.echo(str(page))


def _changed(name: str, queue: str | None, overrides: Sequence[str]) -> "Study":
    """Return a study: of one queue discipline beside those that everybody knows, with some keys changed."""
    from dataclasses import replace

    from sojourn.study.beside import beside
    from sojourn.study.changed import changed
    from sojourn.study.find import find, find_folder
    from sojourn.variants import pair

    if queue is None and not overrides:
        return find(name)
    found = find_folder(name)
    if queue is not None:
        found = beside(found, queue)
    if overrides:
        found = changed(found, dict(pair(one, "set") for one in overrides))
    files = "".join(f" --plugin {Path(target).name}" for target in given_plugins())
    return replace(found, tables={**found.tables, "name": f"{found.tables['name']}{files}"}).study()


def _folder(out: str | None) -> Path:
    if out is None:
        raise click.UsageError("--out DIR says where figures, data and the page go.")
    return Path(out)


def _document(study: "Study", done: "Repeated") -> dict[str, Any]:
    """Return what became of a study: its page, and the checks of each item."""
    from dataclasses import asdict

    items = {name: [asdict(check) for check in found.checks] for name, found in done.findings.items()}
    return {"name": study.name, "page": str(done.page), "items": items, "skipped": list(done.skipped)}


def _ask_for_real_time(studies: "Sequence[Study]", items: tuple[str, ...], *, yes: bool) -> None:
    """Raise InputError where runs on a kernel take long by the clock and nobody said yes."""
    from sojourn.study.repeat import chosen_items

    clock_s = 0.0
    for study in studies:
        chosen = chosen_items(study, items)
        clock_s += sum({sweep: needed for item in chosen for sweep, needed in item.real_time_s().items()}.values())
    if clock_s > _MAX_REAL_TIME_S and not yes:
        names = ", ".join(study.name for study in studies)
        message = (
            f"{names}: runs on a kernel take {duration_text(clock_s)} of real time; "
            "--yes starts them, and `sojourn testbed build-kernel` makes a kernel that need not wait"
        )
        raise input_error(message, found=duration_text(clock_s), allowed="--yes")


def _repeat(
    study: "Study", names: tuple[str, ...], folder: Path, jobs: int | None, *, quiet: bool = False
) -> "Repeated":
    from sojourn.lab import write_beside
    from sojourn.study.counts import Counts
    from sojourn.study.repeat import chosen_items, repeat

    items = chosen_items(study, names)
    for item in () if names else study.items:
        if item.by_name:
            render.print_note(f"{item.name} takes long and is left out: name it to repeat it")
    with progress(study.name) as update:
        done = repeat(study, items, folder, jobs or usable_processors(), update, render.print_note)
    write_beside(done.page)
    for name, reason in done.skipped.items():
        click.echo(f"{study.name} {name}: skipped: {reason}", err=True)
    for item in () if quiet else items:
        if item.name in done.findings:
            checks = done.findings[item.name].checks
            click.echo(f"{item.name:<16} {item.title}: {Counts.of(checks).sentence() if checks else 'no checks'}")
    if not quiet:
        click.echo(str(done.page))
    return done
