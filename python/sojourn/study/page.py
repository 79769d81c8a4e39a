"""Writes what a study found: one page that collects all items, and a summary."""

import base64
import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn import _native
from sojourn.store import whole_file
from sojourn.study.model import Check, Findings, Item, Study, Table

PAGE = "index.html"
SHORT = "summary.md"
_WORDS = {True: "yes", False: "no", None: "-"}
_STYLE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --line: #ccc; --yes: #00694c; --no: #a83f00; }
@media (prefers-color-scheme: dark) { :root { --ink: #ddd; --paper: #181818; --line: #555; --yes: #4cc9a0;
  --no: #ff9d5c; } }
body { color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif; margin: 0 auto;
  max-width: 62rem; padding: 1rem; }
h1, h2 { line-height: 1.2; } h2 { border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: 1rem; }
img { background: #fff; display: block; height: auto; min-width: 36rem; width: 100%; }
figure { margin: 1rem 0; overflow-x: auto; } figcaption, .setting { font-size: .9rem; opacity: .85; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .88rem; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.yes { color: var(--yes); font-weight: 600; } .no { color: var(--no); font-weight: 600; }
details { margin: .8rem 0; } summary { cursor: pointer; }
"""


def write_page(folder: Path, study: Study, findings: Mapping[str, Findings]) -> Path:
    """Write the page that collects items that the folder keeps: one file, which needs no network and fits a phone."""
    items = [item for item in study.items if item.name in findings]
    body = [
        f"<h1>{_text(study.title)}</h1>",
        f"<p>{_text(study.source)}. Repeated with Sojourn {_native.__version__}.</p>",
        _summary(study, findings),
        *(_item(folder, item, findings[item.name]) for item in items),
        f"<h2>Repeat it</h2><pre>sojourn paper {_text(study.name)} --out DIR</pre>",
    ]
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(study.title)}</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )
    target = folder / PAGE
    with whole_file(target) as path:
        path.write_text(text, encoding="utf-8")
    return target


def counts(checks: Sequence[Check]) -> str:
    """Return how many of the checks agree.

    >>> counts([Check("a", "1", "1", True), Check("b", "1", "2", False, "Open."), Check("c", "1", "2", None)])
    '1 of 2 agree, 1 only shown'
    """
    judged = [check for check in checks if check.agrees is not None]
    shown = len(checks) - len(judged)
    text = f"{sum(bool(check.agrees) for check in judged)} of {len(judged)} agree"
    return f"{text}, {shown} only shown" if shown else text


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


def _summary(study: Study, findings: Mapping[str, Findings]) -> str:
    lines = []
    for item in study.items:
        if item.name in findings:
            checks = findings[item.name].checks
            link = f'<a href="#{item.name}">{_text(item.title)}</a>'
            lines.append((link, _text(counts(checks) if checks else "-"), _text(findings[item.name].verdict)))
    everything = [check for found in findings.values() for check in found.checks]
    rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in line)}</tr>" for line in lines)
    words = "" if study.summary is None else _paragraphs(study.summary(dict(findings)))
    return (
        f"{words}<p><strong>{_text(sentence(everything))}</strong></p>"
        f'<div class="wide"><table><tr><th>Item</th><th>Checks</th><th>Found</th></tr>{rows}</table></div>'
    )


def _item(folder: Path, item: Item, found: Findings) -> str:
    parts = [f'<h2 id="{item.name}">{_text(item.title)}</h2><p class="setting">{_text(item.setting)}</p>']
    parts += [_figure(folder / item.name / f"{name}.png", caption) for name, caption in found.captions.items()]
    parts.append(_paragraphs(f"{found.verdict}\n\n{found.text}"))
    if found.checks:
        parts.append(_checks(found.checks))
    parts += [_data(table) for table in found.tables]
    return "\n".join(parts)


def _figure(image: Path, caption: str) -> str:
    data = base64.b64encode(image.read_bytes()).decode()
    tag = f'<img alt="{_text(caption)}" src="data:image/png;base64,{data}">'
    return f"<figure>{tag}<figcaption>{_text(caption)}</figcaption></figure>"


def _checks(checks: Sequence[Check]) -> str:
    rows = "".join(
        f"<tr><td>{_text(check.claim)}</td><td>{_text(check.paper)}</td><td>{_text(check.measured)}</td>"
        f"<td>{_text(check.tolerance)}</td>"
        f'<td class="{_WORDS[check.agrees]}">{_WORDS[check.agrees]}</td><td>{_text(check.note)}</td></tr>'
        for check in checks
    )
    head = "<tr><th>Claim</th><th>Paper</th><th>Measured</th><th>Tolerance</th><th>Agrees?</th><th></th></tr>"
    return f'<div class="wide"><table>{head}{rows}</table></div>'


def _data(table: Table) -> str:
    head = "".join(f"<th>{_text(column)}</th>" for column in table.columns)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    return (
        f"<details><summary>{_text(table.caption)}</summary>"
        f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div></details>'
    )


def _cell(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"<td>{_text('-' if value is None else str(value))}</td>"
    text = str(value) if isinstance(value, int) else f"{value:.4g}"
    return f'<td class="number">{text}</td>'


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{_text(paragraph)}</p>" for paragraph in text.split("\n\n") if paragraph.strip())


def _text(text: str) -> str:
    return html.escape(text)


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


def markdown_checks(checks: Sequence[Check]) -> str:
    """Return checks as a Markdown table.

    >>> print(markdown_checks([Check("a", "1", "2", False, "why")]))
    | Claim | Paper | Measured | Tolerance | Agrees | |
    |---|---|---|---|---|---|
    | a | 1 | 2 | | no | why |
    """
    rows = (
        (check.claim, check.paper, check.measured, check.tolerance, _WORDS[check.agrees], check.note)
        for check in checks
    )
    lines = [f"| {' | '.join(map(_escaped, row))} |".replace("|  |", "| |") for row in rows]
    return "\n".join(("| Claim | Paper | Measured | Tolerance | Agrees | |", "|---|---|---|---|---|---|", *lines))


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
