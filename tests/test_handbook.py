"""The pages on algorithms: each algorithm on one of them, with tables and figures as the registry has it now."""

import re

import pytest
from handbook.pages import PAGES, Page, renewed

from sojourn.registry import catalogue


def page_name(page: Page) -> str:
    return f"{page.kind}s/{page.name}"


def test_every_algorithm_is_on_one_page() -> None:
    known = catalogue()
    for kind, listed in (("queue", known["queues"]), ("control", known["controls"])):
        members = [name for page in PAGES if page.kind == kind for name in page.members]
        assert sorted(members) == sorted(entry["name"] for entry in listed)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_tables_are_those_of_the_registry(page: Page) -> None:
    text = page.path.read_text(encoding="utf-8")
    assert re.findall(r"<!-- parameters of (\S+) -->", text) == list(page.members)
    assert renewed(text) == text, "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_figures_are_shown(page: Page) -> None:
    text = page.path.read_text(encoding="utf-8")
    names = [page.name] if page.kind == "queue" else page.members
    assert [name for name in names if f"../images/{page.kind}s/{name}.png" not in text] == []
