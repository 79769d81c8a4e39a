"""Writes a study's summary as Markdown, for the pages of docs/papers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sojourn.store import whole_file
from sojourn.study.model import Check, Findings, Item, Study

SHORT = "summary.md"


def sentence(checks: Sequence[Check]) -> str:
    """Return the same as a sentence.

    >>> sentence([Check("a", "1", "1", True), Check("b", "1", "2", False, "Open."), Check("c", "1", "2", None)])
    '1 of 2 checks agree. 1 further value is shown without a verdict.'
    """
    judged = [check for check in checks if check.agrees is not None]
    shown = len(checks) - len(judged)
    text = f"{sum(bool(check.agrees) for check in judged)} of {len(judged)} checks agree."
    if not shown:
        return text
    return f"{text} {shown} further {'value is' if shown == 1 else 'values are'} shown without a verdict."


def write_short(folder: Path, study: Study, findings: Mapping[str, Findings]) -> Path:
    """Write the summary, some pictures and the checks as Markdown, for the pages of docs/papers."""
    command = f"sojourn paper {study.name} --out DIR"
    parts = [
        f"# {study.title}",
        f"<!-- Written by `{command}` and `python -m sojourn.papers {study.name} DIR docs/papers`. Do not edit. -->",
        f"{study.source}. Repeated with `{command}`, whose page has all figures and data.",
    ]
    if study.summary is not None:
        parts.append(study.summary(dict(findings)))
    everything = [check for found in findings.values() for check in found.checks]
    parts.append(f"**{sentence(everything)}** Numbers are means over runs and their standard deviation.")
    for item in study.items:
        if item.name in findings:
            parts += _short_item(
                item, findings[item.name], [name for place, name in study.pictures if place == item.name]
            )
    target = folder / SHORT
    with whole_file(target) as path:
        path.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return target


def _short_item(item: Item, found: Findings, pictures: Sequence[str]) -> list[str]:
    images = [f"![{found.captions[name]}]({item.name}/{name}.png)" for name in pictures if name in found.captions]
    table = [markdown_checks(found.checks)] if found.checks else []
    return [f"## {item.title}", f"*{item.setting}.*", found.verdict, *images, found.text, *table]


def verdict(check: Check) -> str:
    """Return whether a check holds, in words.

    >>> verdict(Check("a", "", "", False, "Open.", held=421, points=430)), verdict(Check("b", "1", "2", None))
    ('at 421 of 430 points', 'only shown')
    """
    if check.agrees is None:
        return "only shown"
    if check.agrees:
        return "yes"
    return f"at {check.held} of {check.points} points" if check.points > 1 else "no"


def markdown_checks(checks: Sequence[Check]) -> str:
    """Return checks as a Markdown table.

    >>> print(markdown_checks([Check("a", "1", "2", False, "why")]))
    | Claim | Paper | Measured | Tolerance | Agrees | Why not, or what is open |
    |---|---|---|---|---|---|
    | a | 1 | 2 | | no | why |
    """
    rows = ((check.claim, check.paper, check.measured, check.tolerance, verdict(check), check.note) for check in checks)
    lines = [f"| {' | '.join(map(_escaped, row))} |".replace("|  |", "| |") for row in rows]
    return "\n".join(
        (
            "| Claim | Paper | Measured | Tolerance | Agrees | Why not, or what is open |",
            "|---|---|---|---|---|---|",
            *lines,
        )
    )


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
