"""The command `paper`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn.api import usable_processors
from sojourn.cli.examples import ExampleCommand
from sojourn.cli.progress import progress
from sojourn.reading import unknown_name

if TYPE_CHECKING:
    from sojourn.papers.lab import Effort
    from sojourn.papers.study import Findings, Item, Study


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn paper                               # what there is
    sojourn paper gong --out results/gong       # all of it
    sojourn paper gong fig3 --out results/gong  # one figure
    sojourn paper all --out results/papers
    """,
)
@click.argument("name", required=False, metavar="[NAME|all]")
@click.argument("items", nargs=-1, metavar="[ITEM]...")
@click.option("--out", type=click.Path(), metavar="DIR", help="Folder for figures, data and the page.")
@click.option("--long", is_flag=True, help="More runs and controls on the kernel, in braud: some 10 minutes more.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processors to use.  [default: all]")
def paper(name: str | None, items: tuple[str, ...], out: str | None, long: bool, jobs: int | None) -> None:
    """Repeat a paper: its figures, their data, and a table of what agrees.

    Runs that the folder holds already are not repeated, and the page keeps what the folder holds of other items.
    gong-testbed and some items of braud need a Linux kernel
    (`sojourn testbed doctor`); without one `all` leaves out the former, and braud the latter.
    On the kernel braud has the paper's NewReno, and with --long Vegas and CUBIC too.
    """
    from sojourn.papers.lab import Effort
    from sojourn.papers.studies import STUDIES
    from sojourn.testbed.errors import NotInstalledError

    if name is None:
        for study in STUDIES:
            click.echo(f"{study.name}: {study.source}")
            for item in study.items:
                click.echo(f"  {item.name:<16} {item.title}")
        return
    names = [study.name for study in STUDIES]
    if name != "all" and name not in names:
        raise unknown_name("no paper is called", name, [*names, "all"])
    if out is None:
        raise click.UsageError("--out DIR says where figures, data and the page go.")
    effort = Effort.LONG if long else Effort.USUAL
    for study in STUDIES:
        if name in {study.name, "all"}:
            folder = Path(out) / study.name if name == "all" else Path(out)
            try:
                _repeat(study, _chosen(study, items), folder, jobs or usable_processors(), effort)
            except NotInstalledError as error:
                if name != "all":
                    raise
                click.echo(f"{study.name}: skipped: {error}", err=True)


def _chosen(study: "Study", names: tuple[str, ...]) -> "list[Item]":
    known = {item.name: item for item in study.items}
    for name in names:
        if name not in known:
            raise unknown_name(f"{study.name} has no item", name, list(known))
    return [known[name] for name in names] if names else list(study.items)


def _repeat(study: "Study", items: "list[Item]", folder: Path, jobs: int, effort: "Effort") -> None:
    from sojourn.papers.files import counts, write_page, write_short
    from sojourn.papers.kept import read_items, write_item
    from sojourn.papers.lab import Lab
    from sojourn.store import check_writable
    from sojourn.testbed.errors import NotInstalledError

    check_writable(folder.parent if not folder.exists() else folder, str(folder))
    findings: dict[str, Findings] = {}
    skipped: dict[str, NotInstalledError] = {}
    goes_on = not all(item.needs_kernel for item in items)
    with progress(study.name) as update:
        most = 0.0

        def report(_what: str, part: float) -> None:
            # An item may need several sweeps; what is shown never falls back.
            nonlocal most
            most = max(most, (len(findings) + len(skipped) + part) / len(items))
            update(most)

        lab = Lab(folder, jobs, report, effort=effort)
        for item in items:
            try:
                findings[item.name] = item.find(lab)
            except NotInstalledError as error:
                if not (item.needs_kernel and goes_on):
                    raise
                skipped[item.name] = error
                continue
            write_item(folder, study, item, findings[item.name])
            report(item.name, 0)
    everything = read_items(folder, study)
    page = write_page(folder, study, everything)
    write_short(folder, study, everything)
    for name, reason in skipped.items():
        click.echo(f"{study.name} {name}: skipped: {reason}", err=True)
    for item in items:
        if item.name in skipped:
            continue
        checks = findings[item.name].checks
        click.echo(f"{item.name:<16} {item.title}: {counts(checks) if checks else 'no checks'}")
    click.echo(str(page))
