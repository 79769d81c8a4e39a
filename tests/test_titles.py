"""A group's title: what people see. Its name decides the random streams, and so the numbers."""

import json

import pytest

import sojourn
from conftest import Command
from sojourn.figures import timeline, utilization
from sojourn.figures.style import literal
from sojourn.study.find import find_folder

TITLE = "Backups | $5_6$"
TITLED = {"duration": "3 s", "group.background.title": TITLE}


def test_a_title_changes_no_number(command: Command) -> None:
    words = ("run", "motivating-droptail", "--runs", 2, "--json", "--set", "duration=3 s")
    plain, titled, renamed = (
        json.loads(command(*words, *more).out)["summary"]
        for more in ((), ("--set", f"group.background.title={TITLE}"), ("--set", "group.background.name=other"))
    )
    assert titled == plain
    assert renamed["bottleneck_queue_ms_mean"] != plain["bottleneck_queue_ms_mean"]


def test_tables_and_figures_show_it(command: Command) -> None:
    result = sojourn.Scenario.load("motivating-droptail", TITLED).run(runs=1)
    assert TITLE in result._repr_html_()
    for figure, axes in ((timeline(result), 1), (utilization([result]), None)):
        legend = figure.legends[0] if axes is None else figure.axes[axes].get_legend()
        assert any(literal(TITLE) in text.get_text() for text in legend.get_texts())
    words = ("compare", "motivating-droptail", "--queue", "droptail,codel", "--runs", 2, "--set", "duration=3 s")
    outcome = command(*words, "--set", f"group.background.title={TITLE}", "--metric", "share", "--format", "markdown")
    header, *_, row = [line for line in outcome.out.splitlines() if line.startswith("|")]
    assert "Backups \\| $5_6$: share [%]" in header
    assert header.replace("\\|", "").count("|") == row.count("|")


def test_it_is_one_line_of_text(command: Command) -> None:
    outcome = command("run", "motivating-red", "--set", 'group.background.title="a\\nb"')
    assert outcome.code == 2
    assert "group.background.title" in outcome.err


@pytest.mark.parametrize("queue", ["DropTail", "RED"])
def test_the_motivating_example_has_the_numbers_of_the_study(queue: str) -> None:
    plan = find_folder("gong").checked("motivating")
    point = next(
        point
        for point in map(plan.point, range(plan.points))
        if point.coordinates["queue"] == queue and point.coordinates["reading"] == "starts within 0.1 s"
    )
    own = sojourn.Scenario.load(f"motivating-{queue.lower()}", {"duration": "10 s"})
    studied = sojourn.Scenario(plan.resolve({**point.changes, "duration": "10 s"}))
    assert studied.run(runs=3, series=False).summary == own.run(runs=3, series=False).summary
