"""Answers that were computed apart from the engine: every case of the page, and that a wrong number would be seen."""

import dataclasses

import pytest
from benchmarks.answers import links, network, page, twins
from benchmarks.answers.__main__ import TOPICS
from benchmarks.answers.case import Answer, Case, ask
from benchmarks.answers.network import Link, Source
from benchmarks.common import DOCS, load

CASES = [case for topic in TOPICS for case in topic.cases]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_engine_gives_the_answer_that_was_computed_apart(case: Case) -> None:
    answer = ask(case)
    assert answer.holds, (answer.found, answer.right, case.tolerance)


def test_a_number_beyond_its_tolerance_is_seen() -> None:
    case = Case("a", lambda: 10.0, lambda: 10.6, tolerance=0.05)
    assert ask(case).difference == pytest.approx(0.06)
    assert not ask(case).holds
    assert ask(dataclasses.replace(case, absolute=True, tolerance=0.7)).holds
    assert not Answer(case, 10.0, 9.4).holds


def test_the_tandem_sees_one_place_less_in_one_queue() -> None:
    chain, sources = links._tandem(1)
    chain[0].limit -= 1
    network.run(chain, sources, links._END_NS)
    here = [sum(link.drops.values()) for link in chain]
    assert here != [sum(link.drops.values()) for link in links._both(1)[0]]


def test_the_event_loop_on_a_sum_that_a_person_can_do() -> None:
    # A packet each 1.6 ms from 1 ms on; each takes 3 ms. From 5.8 ms on every second one finds the only place taken.
    link = Link(4_000_000, 1)
    network.run([link], [Source(7_500_000, 1500, 1_000_000)], 13_500_000)
    assert link.waits_ns == [0, 1_400_000, 2_800_000, 2_600_000, 2_400_000]
    assert (link.sent[0], link.drops[0]) == (5, 3)


@pytest.mark.parametrize(
    ("twin", "key", "value"),
    [
        ("py-codel", "target", "6 ms"),
        ("py-on-off", "on", "701 ms"),
    ],
)
def test_a_changed_rule_in_a_plug_in_sends_other_packets(twin: str, key: str, value: str) -> None:
    (right,) = [one for one in twins.TWINS if one.mine["kind"] == twin]
    assert twins.differing(dataclasses.replace(right, mine={**right.mine, key: value})) > 0


def test_the_page_shows_every_case_as_it_was_measured_last() -> None:
    found = load("answers")
    shown = {(title, row["case"]) for title, rows in found.items() for row in rows}
    assert shown == {(topic.title, case.name) for topic in TOPICS for case in topic.cases}, "run make answers"
    assert (DOCS / "validation" / "answers.md").read_text(encoding="utf-8").strip() == page.render(
        TOPICS, found
    ).strip()
    assert all(row["holds"] for rows in found.values() for row in rows)
