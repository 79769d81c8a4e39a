"""What both programs share: paths, progress, results as JSON, tables of Markdown."""

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SCENARIO = HERE / "scenarios" / "peers.toml"
RESULTS = HERE / "results"
DOCS = ROOT / "docs"

Document = Mapping[str, Any]


def say(text: str) -> None:
    """Tell the person who waits what happens now."""
    print(f"  {text}", file=sys.stderr, flush=True)


def save(name: str, document: Document) -> None:
    """Write raw numbers to results/NAME.json, one line for each innermost list or table."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(_rounded(document), indent=1, ensure_ascii=False)
    innermost = re.compile(r"([\[{])\s+([^\[\]{}]*?)\s+([\]}])")
    text = innermost.sub(lambda found: found[1] + re.sub(r"\s*\n\s*", " ", found[2]) + found[3], text)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def load(name: str) -> dict[str, Any]:
    """Read the raw numbers of an earlier run."""
    document: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return document


def write_page(name: str, text: str) -> None:
    """Write docs/NAME.md."""
    path = DOCS / f"{name}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text.rstrip() + "\n", encoding="utf-8")
    say(f"wrote {path.relative_to(ROOT)}")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; columns after the first whose heads end in ">" are right-aligned."""
    rule = ["---:" if head.endswith(">") else "---" for head in heads]
    lines = [[head.removesuffix(">") for head in heads], rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def listed(groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Return one list of texts with what each applies to: before it where that is one thing, else below it."""
    lines = []
    for why, where in groups.items():
        lines += [f"- {where[0]}: {why}"] if len(where) == 1 else [f"- {why}", *(f"  - {one}" for one in where)]
    return ["\n".join(lines)]


def paragraph(text: str) -> str:
    """Return a text that was written over several lines as one paragraph."""
    return " ".join(text.split())


def yes(holds: bool) -> str:
    """Return "yes", or "**no**" so that it is seen."""
    return "yes" if holds else "**no**"


def _rounded(value: Any) -> Any:
    """Keep six significant digits: the rest is noise, and makes every difference of a file unreadable."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {str(key): _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value
