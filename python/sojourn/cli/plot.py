"""The command `plot`."""

from pathlib import Path

import click

from sojourn.cli.examples import ExampleCommand
from sojourn.cli.pictures import look_options, save_picture
from sojourn.cli.targets import check_picture, conditions

KINDS = ("line", "bars", "box", "cdf", "heatmap", "scatter", "parallel", "kiviat")


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn plot results/buffers --x bottleneck.rate_mbps --y share --by case --where group=tcp --out share.pdf
    sojourn plot results/buffers --kind bars --x case --y bottleneck_queue_ms_mean --out delay.png
    sojourn plot results/buffers --kind cdf --y bottleneck_queue_ms_p99 --by case --out tail.svg
    sojourn plot results/buffers --kind heatmap --x bottleneck.rate --by case --y share --where group=tcp --out map.png
    """,
)
@click.argument("directory", type=click.Path(), metavar="DIR")
@click.option("--kind", type=click.Choice(KINDS), default="line", show_default=True, help="What to draw.")
@click.option("--x", metavar="COLUMN", help="Column along the x axis.")
@click.option("--y", "y_columns", metavar="COLUMNS", required=True, help="Column, or columns, to draw.")
@click.option("--by", metavar="COLUMN", help="Column whose values get a colour, or a row, each.")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Draw only rows with this value.")
@click.option("--out", type=click.Path(), metavar="FILE", required=True, help="PNG, PDF or SVG.")
@look_options
def plot(
    directory: str, kind: str, x: str | None, y_columns: str, by: str | None, where: tuple[str, ...], out: str
) -> None:
    """Draw the dataset of a sweep: means with 95 % intervals, distributions, or every run."""
    from sojourn.figures.campaign import draw, view
    from sojourn.sweeps import Dataset

    path = Path(out)
    check_picture("--out", path)
    columns = [name.strip() for name in y_columns.split(",")]
    seen = view(Dataset.open(directory), x, columns, by, conditions(where))
    save_picture(lambda: draw(kind, seen), path)
