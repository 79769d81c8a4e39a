"""Which algorithm is on which page, and the parts of the pages that are derived from the registry."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sojourn.registry import Entry, Parameter, entries

DOCS = Path(__file__).parent.parent / "docs"
_PART = re.compile(r"(<!-- parameters of (\S+) -->\n).*?(<!-- end of parameters -->)", flags=re.S)


@dataclass(frozen=True)
class Page:
    """A page about a family of algorithms."""

    kind: Literal["queue", "control"]
    name: str
    members: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The page's file."""
        return DOCS / f"{self.kind}s" / f"{self.name}.md"

    @property
    def images(self) -> Path:
        """The folder of its figures."""
        return DOCS / "images" / f"{self.kind}s"


PAGES = (
    Page("queue", "fifo", ("droptail",)),
    Page("queue", "red", ("red", "ared", "choke", "wred", "blue")),
    Page("queue", "codel", ("codel", "cobalt")),
    Page("queue", "pie", ("pie", "pi2", "dualpi2")),
    Page("queue", "fair-queueing", ("sfq", "drr", "sqf", "fq_codel", "fq_pie", "fq_yield")),
    Page("queue", "unresponsive", ("sfb", "hhf")),
    Page("queue", "cake", ("cake",)),
    Page("queue", "classes", ("prio", "wrr", "dwrr", "wfq", "htb", "early")),
    Page("control", "loss", ("newreno", "cubic", "westwood", "veno", "illinois", "htcp", "compound")),
    Page("control", "delay", ("vegas", "nice", "cdg", "nimbus")),
    Page("control", "ledbat", ("ledbat", "libutp", "fledbat", "ledbatpp")),
    Page("control", "tcp-lp", ("tcp_lp",)),
    Page("control", "proteus", ("proteus_s",)),
    Page("control", "scout", ("scout",)),
    Page("control", "ecn", ("dctcp", "prague", "scream")),
    Page("control", "bbr", ("bbr", "bbr3")),
)


def renewed(text: str) -> str:
    """Return a page's text with every derived part as the registry has it now."""
    known = {entry["name"]: entry for _, entry in entries()}
    return _PART.sub(lambda part: part[1] + reference(known[part[2]]) + part[3], text)


def reference(entry: Entry) -> str:
    """Return what an algorithm is and a table of its parameters, with one column for each preset."""
    presets = entry["presets"]
    head = ["Parameter", "Default", *(f"`{preset['name']}`" for preset in presets), "Meaning [allowed]"]
    rows = [
        [
            f"`{parameter['name']}`",
            _shown(parameter),
            *(preset["values"].get(parameter["name"], "") for preset in presets),
            f"{parameter['description']} [{parameter['allowed']}]",
        ]
        for parameter in entry["parameters"]
    ]
    lines = [f"`{entry['name']}`: {entry['summary']}.", ""]
    lines += [f"- Preset `{preset['name']}`: {preset['summary']}." for preset in presets]
    lines += [""] if presets else []
    if rows:
        lines += _table(head, rows)
        lines += ["", "An empty cell under a preset: as the default." if presets else "", ""]
    else:
        lines += ["It has no parameters.", ""]
    if entry["class_parameters"]:
        rows = [
            [f"`{parameter['name']}`", _shown(parameter), f"{parameter['description']} [{parameter['allowed']}]"]
            for parameter in entry["class_parameters"]
        ]
        lines += [*_table(["Parameter of each class", "Default", "Meaning [allowed]"], rows), ""]
    lines += ["Sources: " + "; ".join(entry["sources"]) + ".", ""]
    return "\n".join(line for line in _without_double_blanks(lines)) + "\n"


def _shown(parameter: Parameter) -> str:
    default = parameter["default"]
    return str(default).lower() if isinstance(default, bool) else str(default)


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    cells = [[cell.replace("|", "\\|") for cell in row] for row in [head, ["---"] * len(head), *rows]]
    return ["| " + " | ".join(row) + " |" for row in cells]


def _without_double_blanks(lines: list[str]) -> list[str]:
    return [line for index, line in enumerate(lines) if line or (index > 0 and lines[index - 1])]
