"""Writes a study's summary as Markdown, for the pages of docs/papers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sojourn.store import whole_file
from sojourn.study.claims import OPEN
from sojourn.study.counts import Counts
from sojourn.study.model import Check, Findings, Item, Study

SHORT = "summary.md"
"""What a reader wants: what was found, its pictures, how many claims hold and why others do not."""
CLAIMS = "claims.md"
"""Every claim, item by item."""
_MAX_REASONS = 5


def write_short(folder: Path, study: Study, findings: Mapping[str, Findings]) -> Path:
    """Write the summary and the page of all claims as Markdown, for the pages of docs/papers; return the summary."""
    there = [item for item in study.items if item.name in findings]
    usual = [item for item in study.items if not item.by_name]
    command = study.command(() if all(item in there for item in usual) else [item.name for item in there])
    with whole_file(folder / CLAIMS) as path:
        path.write_text(_joined(_claims(study, command, there, findings)), encoding="utf-8")
    target = folder / SHORT
    with whole_file(target) as path:
        path.write_text(_joined(_summary(study, command, there, findings)), encoding="utf-8")
    return target


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _written_by(study: Study, command: str) -> str:
    published = f"python -m sojourn.papers {study.name} DIR docs/papers"
    return f"<!-- Written by `{command}` and `{published}`. Do not edit. -->"


def _summary(study: Study, command: str, items: Sequence[Item], findings: Mapping[str, Findings]) -> list[str]:
    checks = [check for item in items for check in findings[item.name].checks]
    parts = [
        f"# {study.title}",
        _written_by(study, command),
        f"{study.source}. Repeated with `{command}`, whose page has all figures and data.",
    ]
    if study.summary is not None:
        parts.append(study.summary(dict(findings)))
    counted = Counts.of(checks)
    parts.append(f"**{counted.sentence()}** [All claims, item by item]({CLAIMS}).")
    beyond = []
    for item in items:
        found = findings[item.name]
        names = [name for place, name in study.pictures if place == item.name and name in found.captions]
        images = [f"![{found.captions[name]}]({item.name}/{name}.png)" for name in names]
        if found.verdict and not images and counted.claims and not Counts.of(found.checks).claims:
            beyond.append(f"- {found.verdict}")
        elif found.verdict or images:
            parts += [f"## {item.title}", found.verdict, *images]
    if beyond:
        parts += ["## Beyond the source", "\n".join(beyond)]
    if reasons := _reasons(checks):
        parts += ["## What does not hold, and why", "\n".join(f"- {one}" for one in reasons)]
    return parts


def _reasons(checks: Sequence[Check]) -> list[str]:
    """Return why claims do not hold, the reason of most claims first.

    >>> _reasons([Check("a", "", "", False, "It is."), Check("b", "", "", False, "It is."), Check("c", "", "", True)])
    ['It is. (2 checks)']
    """
    found: dict[str, int] = {}
    for check in checks:
        if check.agrees is False:
            found[check.note] = found.get(check.note, 0) + 1
    ordered = sorted(found.items(), key=lambda one: -one[1])
    said = [
        f"{'The reason is open.' if note == OPEN else note} ({_checks(number)})"
        for note, number in ordered[:_MAX_REASONS]
    ]
    if rest := ordered[_MAX_REASONS:]:
        number = sum(number for _, number in rest)
        said.append(f"{len(rest)} further reasons, of {_checks(number)}, stand beside [the claims]({CLAIMS}).")
    return said


def _checks(number: int) -> str:
    return "1 check" if number == 1 else f"{number} checks"


def _claims(study: Study, command: str, items: Sequence[Item], findings: Mapping[str, Findings]) -> list[str]:
    checks = [check for item in items for check in findings[item.name].checks]
    parts = [
        f"# All claims: {study.title}",
        _written_by(study, command),
        f"{Counts.of(checks).sentence()} Numbers are means over runs and their standard deviation.",
        f"[What was found]({SHORT}). As a dataset: `verdicts.parquet` beside the study's own `study.toml`.",
    ]
    for item in items:
        found = findings[item.name]
        table = markdown_checks(found.checks) if found.checks else ""
        setting = f"*{item.setting}.*" if item.setting else ""
        parts += [f"## {item.title}", setting, found.text, f"{Counts.of(found.checks).sentence()}", table]
    return parts


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
