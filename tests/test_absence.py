"""What the documentation says is absent must be: the registry is asked."""

import re
from pathlib import Path

import pytest

from sojourn.registry import catalogue

DOCS = Path(__file__).parent.parent / "docs"
PAGES = [
    *sorted(DOCS.glob("*.md")),
    *(
        page
        for folder in ("guide", "controls", "queues", "tutorials")
        for page in sorted((DOCS / folder).rglob("*.md"))
    ),
]
TERMS = {
    "RACK": "loss_detection",
    "TLP": "loss_detection",
    "PRR": "reduction",
    "DSACK": "sack",
    "SACK": "sack",
    "undo": "undo",
    "undoing": "undo",
    "pacing": "pacing",
    "AccECN": "ecn",
}
"""A term, and the parameter of the transport that has it: a sentence on absence may name none that is there."""
ABSENCE = re.compile(
    r"\b(?:there (?:is|are) no|the transport has no|it has no|without undoing)\b([^.;:]{0,60})", re.IGNORECASE
)


def absences(text: str) -> list[str]:
    """Return what a page says is absent."""
    return [found.group(0) for found in ABSENCE.finditer(" ".join(text.split()))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_no_page_says_that_something_is_absent_that_the_transport_has(page: Path) -> None:
    known = {parameter["name"] for parameter in catalogue()["transports"][0]["parameters"]}
    there = [term for term, parameter in TERMS.items() if parameter in known]
    wrong = [
        sentence
        for sentence in absences(page.read_text())
        if any(re.search(rf"\b{term}\b", sentence) for term in there)
    ]
    assert not wrong


def test_no_preset_says_that_something_is_absent_that_the_transport_has() -> None:
    texts = {
        f"{entry['name']} {preset['name']}": preset["summary"]
        for family in ("queues", "controls", "transports")
        for entry in catalogue()[family]
        for preset in entry["presets"]
    }
    assert not {name for name, text in texts.items() for sentence in absences(text) if "undo" in sentence}


def test_a_sentence_on_absence_is_found() -> None:
    assert absences("found by the timer only; there is no RACK,\n  TLP or PRR; the preset") == [
        "there is no RACK, TLP or PRR"
    ]
    assert absences("draft-ietf-ccwg-bbr; without undoing what changed") == ["without undoing what changed"]
