"""The commands for algorithms of one's own: `new` and `try`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn.cli import render
from sojourn.cli.examples import ExampleCommand
from sojourn.reading import input_error

if TYPE_CHECKING:
    from sojourn.trial import Law, Row

TEMPLATES = Path(__file__).parent.parent / "templates"
KEYS = {"control": "group.tcp.control", "discipline": "bottleneck.queue"}
BROKEN = 1


@click.command(
    cls=ExampleCommand,
    examples="""
    sojourn new control mine
    sojourn new discipline mine-too
    """,
)
@click.argument("kind", type=click.Choice(list(KEYS)))
@click.argument("name")
def new(kind: str, name: str) -> None:
    """Make NAME.py, a commented control or discipline that runs at once, and a test beside it."""
    if not name.replace("-", "_").isidentifier():
        raise input_error(f"{name!r} is no name", key="NAME", found=name, allowed="letters, digits, - and _")
    file = Path(f"{name.replace('-', '_')}.py")
    test = Path(f"test_{file.name}")
    for path in (file, test):
        if path.exists():
            raise input_error("it exists", file=str(path), allowed="another name, or another folder")
    words = {"NAME": name, "FILE": file.name, "KEY": KEYS[kind]}
    file.write_text(_filled(f"{kind}.template", words), encoding="utf-8")
    test.write_text(_filled("test_plugin.template", words), encoding="utf-8")
    click.echo(f"{file} and {test}. Next: sojourn try {file}")


def _filled(template: str, words: dict[str, str]) -> str:
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    for word, value in words.items():
        text = text.replace(word, value)
    return text


@click.command(
    "try",
    cls=ExampleCommand,
    examples="""
    sojourn try mine.py
    sojourn try mine.py --json
    sojourn try cubic
    """,
)
@click.argument("what", metavar="FILE|NAME")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def try_(what: str, *, as_json: bool) -> None:
    """Check the laws that an algorithm has to keep, and compare it with others: one page, in seconds.

    FILE is a Python file with controls or disciplines; NAME is any that `sojourn list` knows. The exit code is 1 where
    a law is broken.
    """
    from sojourn import trial

    reports: list[dict[str, Any]] = []
    for name in _names(what):
        kept = trial.laws(name)
        rows = [] if _has_failed(kept) else list(trial.compare(name))
        reports.append({"name": name, "kind": trial.kind_of(name), "laws": kept, "rows": rows})
    if as_json:
        render.print_json([_document(report) for report in reports])
    else:
        for report in reports:
            _print(report)
    if any(not law.holds for report in reports for law in report["laws"]):
        raise click.exceptions.Exit(BROKEN)


def _names(what: str) -> list[str]:
    from sojourn import plugins

    if not (what.endswith(".py") or Path(what).exists()):
        return [what]
    before = {name for names in plugins.added().values() for name in names}
    plugins.load(what)
    names = [name for names in plugins.added().values() for name in names if name not in before]
    if not names:
        message = "it adds no control and no discipline"
        raise input_error(
            message, file=what, allowed='a class under @sojourn.control("name") or @sojourn.discipline("name")'
        )
    return names


def _has_failed(kept: "list[Law]") -> bool:
    """Tell whether the plug-in itself failed, so that a comparison would only repeat it."""
    return any(law.found.startswith("plug-in ") for law in kept)


def _document(report: dict[str, Any]) -> dict[str, Any]:
    from dataclasses import asdict

    return report | {"laws": [asdict(law) for law in report["laws"]], "rows": [asdict(row) for row in report["rows"]]}


def _print(report: dict[str, Any]) -> None:
    kept: list[Law] = report["laws"]
    broken = [law for law in kept if not law.holds]
    click.echo(f"{report['name']} ({report['kind']}): {_verdict(report, len(broken))}\n")
    for law in kept:
        click.echo(f"  {'holds ' if law.holds else 'BROKEN'}  {law.name}: {law.found}")
    if report["rows"]:
        from tabulate import tabulate

        click.echo()
        click.echo(tabulate([_shown(row) for row in report["rows"]], headers="keys", disable_numparse=True))


def _verdict(report: dict[str, Any], broken: int) -> str:
    laws = len(report["laws"])
    if broken:
        return f"{broken} of {laws} laws broken; mend these first."
    rows: list[Row] = report["rows"]
    shares = {row.beside: row.share for row in rows if row.share is not None}
    if not shares:
        return f"all {laws} laws hold; its queue beside those of others:"
    high = max(shares, key=lambda beside: shares[beside])
    low = min(shares, key=lambda beside: shares[beside])
    return (
        f"all {laws} laws hold. Of the goodput of 2 + 2 flows it takes {100 * shares[low]:.0f} % ({low}) to "
        f"{100 * shares[high]:.0f} % ({high})."
    )


def _shown(row: "Row") -> dict[str, str]:
    def number(value: float | None, factor: float = 1.0, digits: int = 1) -> str:
        return "" if value is None else f"{factor * value:.{digits}f}"

    shown = {"of": row.subject, "beside": row.beside, "share [%]": number(row.share, 100)}
    if row.share is None:
        del shown["share [%]"]
    return shown | {
        "queue [ms]": number(row.queue_ms_mean),
        "queue p99 [ms]": number(row.queue_ms_p99),
        "utilization [%]": number(row.utilization, 100),
        "Jain": number(row.jain, digits=3),
    }
