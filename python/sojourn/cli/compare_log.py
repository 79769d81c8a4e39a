"""The command `compare-log`."""

import click

from sojourn.cli import render
from sojourn.cli.examples import ExampleCommand, json_option
from sojourn.qlog import EXACT, KINDS, OF_REDUCTION, REDUCTION, TOLERANCE, WITHIN_MS

DIFFERENT = 1


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn run my-link.toml --qlog before
    sojourn compare-log before/tcp-0-1.sqlog after/tcp-0-1.sqlog
    sojourn compare-log sojourn.sqlog quinn.sqlog --of reduction   # two implementations: what is left of a window
    """,
)
@click.argument("ours", metavar="A", type=click.Path())
@click.argument("theirs", metavar="B", type=click.Path())
@click.option(
    "--of",
    "kinds",
    multiple=True,
    type=click.Choice(KINDS),
    metavar="KIND",
    help=f"Which decisions count: {', '.join(KINDS)}.  [default: {', '.join(EXACT)}]",
)
@click.option(
    "--within",
    "within_ms",
    type=click.FloatRange(min=0),
    metavar="MS",
    help=f"How far apart in time they may be.  [default: {WITHIN_MS:g}; with --of {REDUCTION} no bound]",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0, max=1),
    metavar="PART",
    help=f"By what part two values may differ.  [default: {TOLERANCE:g}; with --of {REDUCTION} {OF_REDUCTION:g}]",
)
@json_option
def compare_log(
    ours: str, theirs: str, kinds: tuple[str, ...], within_ms: float | None, tolerance: float | None, *, as_json: bool
) -> None:
    """Find the first decision in which two qlog files differ.

    A and B are logs of one connection each, of Sojourn (`run --qlog`) or of a QUIC stack. The exit code is 1 where they
    differ.
    """
    from sojourn.qlog import compare, read

    found = compare(read(ours), read(theirs), kinds or EXACT, within_ms, tolerance)
    if as_json:
        render.print_json(found.document())
    else:
        click.echo(found.sentence)
        if found.difference is not None:
            lines = [*found.difference.before, (found.difference.ours, found.difference.theirs)]
            for number, pair in enumerate(lines, start=found.alike - len(found.difference.before) + 1):
                for name, one in zip(found.names, pair, strict=True):
                    said = "nothing more" if one is None else f"{one.time_ms:12.6f} ms  {one.text}"
                    click.echo(f"{number:>8}  {name}  {said}")
    if found.difference is not None:
        raise click.exceptions.Exit(DIFFERENT)
