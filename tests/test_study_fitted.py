"""A study under the settings that a fit found."""

import dataclasses
from typing import Any

import pytest

from sojourn import InputError
from sojourn.study.find import find_folder
from sojourn.study.fitted import change, first_of, under_fit, with_fitted
from sojourn.study.means import Means, Reduced
from sojourn.study.model import Check
from sojourn.study.numbers import Number

TABLES: dict[str, Any] = {
    "sweep": {"few": {"axes": ["queue"], "set": {"seed": 1, "warmup": "0 s"}}, "few-fit": {"axes": {"cycle_s": [1.0]}}},
    "fit": {"items": ["one"], "sweeps": {"few": "few-fit"}, "set": {"warmup": "10 s"}},
}


def test_a_sweep_is_repeated_with_the_settings_found_and_what_is_said_for_it() -> None:
    made = with_fitted(TABLES)["sweep"]
    assert made["few"] == TABLES["sweep"]["few"], "the first sweep stays as it was printed"
    assert made["few-fit"] == {"axes": {"queue": True, "cycle_s": [1.0]}, "set": {"seed": 1, "warmup": "10 s"}}
    assert (first_of("few-fit", TABLES), first_of("few", TABLES)) == ("few", "few")


def test_a_sweep_that_is_not_there_is_named() -> None:
    wrong = {**TABLES, "fit": {"sweeps": {"fwe": "fwe-fit"}}}
    with pytest.raises(InputError, match=r"fit.sweeps: the study has no sweep.*fwe.*few"):
        with_fitted(wrong)


def test_means_under_the_fit_are_those_of_the_second_sweep() -> None:
    reduced = {name: Reduced(("queue",)) for name in ("few", "few-fit")}
    for value, one in enumerate(reduced.values()):
        one.add({"queue": "RED"}, "tcp", "share", Number(value, 0.0, 1))
    means = Means(reduced)
    found = under_fit(means, "one", TABLES)
    assert found is not None
    assert (
        found.number("few", "share", "tcp").mean == 100 * means.sweeps["few-fit"].cells["share", "tcp"][0].number.mean
    )
    assert under_fit(means, "two", TABLES) is None, "an item that the fit does not name"
    assert under_fit(Means({"few": reduced["few"]}), "one", TABLES) is None, "the second sweep was not run"


def test_what_a_fit_changes_is_said_by_claims_that_are_in_both() -> None:
    before = [
        Check(name, "", "", held, "Open.") for name, held in (("a", True), ("b", False), ("c", False), ("d", True))
    ]
    after = [dataclasses.replace(one, agrees=held) for one, held in zip(before, (False, True, True), strict=False)]
    short, which = change(before, after)
    assert short == "Fitted, 2 of 3 checks hold; as printed, 1."
    assert which == "With the settings found holds now: b; c. It holds no longer: a."
    assert change([dataclasses.replace(before[0], agrees=None)], after) == ("", "")


def test_the_settings_that_gongs_fit_found_are_those_of_its_second_sweeps() -> None:
    gong = find_folder("gong")
    nice = gong.scenario("controls-fit", control="NICE", queue="RED").to_dict()
    ledbat = gong.scenario("duty-fit", queue="RED", duty_percent=20, rtt_ms=50).to_dict()
    assert nice["group"][1]["control"]["min_window"] == 2.0, "Linux's NICE keeps two segments"
    assert ledbat["group"][1]["control"]["gain"] == 0.5
    assert {group["transport"]["ack_every"] for group in ledbat["group"]} == {2}
    assert (ledbat["group"][0]["traffic"]["on"], ledbat["warmup"]) == ("200 ms", "10 s")
    printed = gong.scenario("controls", control="NICE", queue="RED").to_dict()
    assert printed["group"][1]["control"]["min_window"] < 1
    assert printed["warmup"] == "0 s"
