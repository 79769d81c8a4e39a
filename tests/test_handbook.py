"""The pages on algorithms: each algorithm on one of them, with tables and figures as the registry has it now."""

import re

import numpy as np
import pytest
from handbook import changes
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


def test_the_figure_of_changes_is_shown_and_drawn_of_its_scenario() -> None:
    text = changes.PAGE.read_text(encoding="utf-8")
    assert f"../images/{changes.IMAGE.name}" in text
    assert changes.IMAGE.is_file()
    assert changes.SCENARIO in text
    delay, sent = changes.figure().axes
    lines = {line.get_label(): line.get_ydata() for line in delay.get_lines()}
    droptail, fair = (np.asarray(lines[queue]) for queue in changes.QUEUES)
    # 20 of 60 s are a third of the bins: a full buffer takes twice as long at half of the rate.
    full = [np.nanmax(part) for part in (droptail[: changes.BINS // 3], droptail[changes.BINS // 3 + 5 :])]
    assert full[1] == pytest.approx(2 * full[0], rel=0.05)
    assert np.nanmedian(fair) < 0.1 * np.nanmedian(droptail)
    assert sent.get_xlim()[1] == 60


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_figures_are_shown(page: Page) -> None:
    text = page.path.read_text(encoding="utf-8")
    names = [page.name] if page.kind == "queue" else page.members
    assert [name for name in names if f"../images/{page.kind}s/{name}.png" not in text] == []
