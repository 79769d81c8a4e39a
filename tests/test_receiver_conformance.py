"""Sojourn's receiver beside what a real kernel's TCP acknowledged, from the stored recordings."""

import pytest
from benchmarks.common import DOCS, load
from benchmarks.receivers import compare, pages, recording
from benchmarks.receivers.__main__ import RESULTS
from benchmarks.receivers.cases import CASES

from sojourn import _native


@pytest.mark.parametrize("name", CASES)
def test_no_share_is_lower_than_the_page_says(name: str) -> None:
    result = compare.compare(name, recording.load()[1][name])
    saved = load(RESULTS)["cases"][name]
    for share in pages.SHARES:
        assert result[share] >= saved[share] - 1e-3, share


def test_the_comparison_sees_another_policy() -> None:
    connection = recording.load()[1]["bulk"]
    assert compare.compare("bulk", connection, "count")["same_moments"] < 0.8


def test_every_difference_has_a_reason() -> None:
    document = load(RESULTS)
    assert set(document["cases"]) == set(CASES)
    assert set(pages.differing(document)) <= set(pages.REASONS)


def test_the_page_is_that_of_the_saved_numbers() -> None:
    text = "\n\n".join(pages.render(load(RESULTS))).rstrip() + "\n"
    assert (DOCS / "validation" / "receiver-conformance.md").read_text(encoding="utf-8") == text


def test_arrivals_that_go_back_are_refused() -> None:
    scenario = compare.scenario_of({"preset": "linux"})
    with pytest.raises(ValueError, match="times must not go back"):
        _native.replay_receiver(scenario, [(2, 0, False, False, 0), (1, 1, False, False, 0)], [], 3)
