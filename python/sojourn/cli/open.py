"""The command `open`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn.cli.examples import ExampleCommand
from sojourn.reading import input_error
from sojourn.store import RECORD

if TYPE_CHECKING:
    from sojourn.pages import Page


@click.command(
    "open",
    cls=ExampleCommand,
    examples="""
    sojourn open results/my-link
    sojourn open results/buffers --no-browser
    """,
)
@click.argument("directory", type=click.Path(), metavar="DIR")
@click.option("--no-browser", is_flag=True, help="Only write the page and print where it is.")
def open_(directory: str, *, no_browser: bool) -> None:
    """Show the page of a folder: of a run, a sweep, a comparison or a study.

    Of a run or a sweep the page is made from what the folder holds now.
    """
    from sojourn.lab import write_beside
    from sojourn.pages import PAGE, write
    from sojourn.pages.render import is_ours

    folder = Path(directory)
    target = folder / PAGE
    made = _made(folder)
    if made is not None:
        write_beside(write(made, target))
    elif not target.is_file():
        message = "holds no run, sweep, comparison or study; allowed: what --out DIR wrote"
        raise input_error(message, file=directory)
    elif not is_ours(target):
        message = "is no page of this version of Sojourn, and may hold somebody's program; make it again with --out DIR"
        raise input_error(message, file=str(target))
    else:
        # Its links lead there.
        write_beside(target)
    click.echo(str(target))
    if not no_browser:
        click.launch(target.resolve().as_uri())


def _made(folder: Path) -> "Page | None":
    """Return the page of a run or a sweep; the others write theirs themselves."""
    from sojourn.data.dataset import DESCRIPTION, Dataset
    from sojourn.pages import of_dataset, of_run
    from sojourn.result import Result

    again = f"sojourn open {folder}"
    if (folder / RECORD).is_file():
        return of_run.page(Result.load(folder), again)
    if (folder / DESCRIPTION).is_file():
        return of_dataset.page(Dataset.open(folder), again)
    return None
