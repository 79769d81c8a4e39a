"""Writes docs/validation/answers.md from the numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.answers.case import Answer, Topic
from benchmarks.common import paragraph, table


def document(answers: Mapping[str, Sequence[Answer]]) -> dict[str, Any]:
    """Return the numbers by topic, as they are saved."""
    return {
        title: [
            {
                "case": one.case.name,
                "unit": one.case.unit,
                "right": one.right,
                "sojourn": one.found,
                "difference": one.difference,
                "tolerance": one.case.tolerance,
                "absolute": one.case.absolute,
                "holds": one.holds,
            }
            for one in several
        ]
        for title, several in answers.items()
    }


def render(topics: Sequence[Topic], found: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the page."""
    every = [row for rows in found.values() for row in rows]
    held = sum(row["holds"] for row in every)
    parts = [
        "# Validation: answers computed apart from the engine",
        "<!-- Written by `make answers`. Do not edit by hand. -->",
        paragraph(f"""{held} of {len(every)} numbers agree with an answer that was computed without the engine: by a
            formula, by a simulation of some tens of lines in Python, by an integration, or by a kernel. Each tolerance
            stands in the code beside its case (`benchmarks/answers`) and was set before Sojourn's number was known.
            Every case is a test as well."""),
        _overview(topics, found),
    ]
    for topic in topics:
        parts += [f"## {topic.title}", topic.how, _table(found[topic.title])]
    return "\n\n".join(parts)


def _overview(topics: Sequence[Topic], found: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    rows = [
        [
            f"[{topic.title}](#{_anchor(topic.title)})",
            f"{sum(row['holds'] for row in found[topic.title])} of {len(found[topic.title])}",
        ]
        for topic in topics
    ]
    return table(["What", "Cases that hold>"], rows)


def _anchor(title: str) -> str:
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return kept.replace(" ", "-")


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    heads = ["Case", "Computed apart>", "Sojourn>", "Difference>", "Tolerance>", "Holds"]
    return table(
        heads,
        [
            [
                row["case"],
                _number(row["right"], row["unit"]),
                _number(row["sojourn"], row["unit"]),
                _apart(row["difference"], row, signed=True),
                _apart(row["tolerance"], row, signed=False),
                "yes" if row["holds"] else "**no**",
            ]
            for row in rows
        ],
    )


def _number(value: float, unit: str) -> str:
    return f"{value:.6g} {unit}".rstrip()


def _apart(value: float, row: Mapping[str, Any], *, signed: bool) -> str:
    if abs(value) < 1e-9:  # noqa: PLR2004
        value = 0.0
    if not row["absolute"]:
        return f"{value:+.2%}" if signed else f"{value:.2g}".replace(f"{value:.2g}", f"{100 * value:.3g}%")
    return (f"{value:+.3g}" if signed else f"{value:.3g}") + (f" {row['unit']}" if row["unit"] else "")
