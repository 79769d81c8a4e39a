"""Braud's tables on the kernel: what needs no kernel, and that the study goes on without one."""

from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Command

from sojourn.papers import two_worlds
from sojourn.papers.braud import BRAUD, kernel, table3
from sojourn.papers.braud.table2 import ELSEWHERE
from sojourn.papers.braud.world import UP_MS, UPLOAD
from sojourn.papers.measures import Results, label
from sojourn.study.lab import Effort, Lab
from sojourn.study.model import Findings, Item, Study
from sojourn.sweep import Plan
from sojourn.testbed.errors import Missing, NotInstalledError

ALL = tuple(kernel.CONTROLS)


def test_every_case_is_one_that_linux_can_have() -> None:
    for scenario, cases in (
        (kernel.table2_base(), kernel.table2_cases(ALL)),
        (kernel.table3_base(), kernel.table3_cases(ALL)),
    ):
        named = {label(key): changes for key, changes in cases.items()}
        assert Plan.of({"base": scenario, "backend": "linux", "cases": named}).points == len(cases)


def test_the_ways_on_the_kernel_are_those_of_the_simulated_table() -> None:
    cases = kernel.table3_cases(ALL)
    assert len(cases) == 2 * 4 * 3
    groups = cases["800 kbit/s", table3.BURSTS, "Vegas"]["group"]
    assert [group["name"] for group in groups] == ["upload", "download", "padding"]
    assert groups[2]["traffic"] == {"kind": "padding", "rate": "250 packets/s", "burst": 100, "every": "1 s"}
    assert {group["control"]["kind"] for group in groups[:2]} == {"vegas"}


class Given(Results):
    """Measured values as they are given: round-trip time in ms and goodput in Mbit/s for every case."""

    def __init__(self, rtt_ms: tuple[float, float], mbps: tuple[float, float]) -> None:
        self.by_metric = {kernel.RTT: rtt_ms, kernel.GOODPUT: mbps}

    def values(self, key: Any, metric: str, group: str = UPLOAD) -> list[float]:
        return [self.by_metric.get(metric, (0.5, 0.5))[key[-1]]]


@pytest.mark.parametrize(
    ("rtt_ms", "mbps", "agree"),
    [
        ((280.0, 113.7), (0.770, 0.657), [True, True, True, True]),
        ((308.1, 125.0), (0.70, 0.59), [False, True, True, False]),
    ],
)
def test_the_kernels_newreno_is_held_to_ten_percent_of_table_2(
    rtt_ms: tuple[float, float], mbps: tuple[float, float], agree: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(two_worlds, "measure", lambda *_args, **_named: Given(rtt_ms, mbps))
    found = kernel.table2(Lab(Path(), 1))
    own = [one for one in found.checks if f"{ELSEWHERE} packets, {UP_MS:g} ms" in one.claim]
    assert [one.agrees for one in own] == agree


def test_a_simulation_apart_from_the_kernel_is_named() -> None:
    real, simulated = Given((280.0, 100.0), (0.7, 0.7)), Given((280.0, 120.0), (0.7, 0.7))
    both = two_worlds.Both({two_worlds.KERNEL: real, two_worlds.SIM: simulated})
    cases = {("x", padded): {} for padded in (False, True)}
    found = kernel._alike(both, cases, kernel.RTT, "round-trip times")
    assert found.agrees is False
    assert "in 1 of 2 cases" in found.measured
    assert found.note.endswith("What is more is open. Simulated against the kernel: x, True: +20%.")


@pytest.mark.parametrize(
    ("effort", "controls"), [(Effort.USUAL, {"NewReno"}), (Effort.LONG, {"NewReno", "Vegas", "CUBIC"})]
)
def test_only_the_long_study_has_all_controls_and_each_case_has_a_spread(
    effort: Effort, controls: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds: list[int] = []

    def given(_lab: Lab, _name: str, _scenario: Any, cases: Any, **kept: Any) -> Results:
        assert {key[2] for key in cases} == controls
        seeds.append(kept["seeds"])
        return Given((280.0, 113.7), (0.770, 0.657))

    monkeypatch.setattr("sojourn.papers.two_worlds.measure", given)
    kernel.table2(Lab(Path(), 1, effort=effort))
    assert min(seeds) > 1


@pytest.mark.parametrize(("asked", "effort"), [([], Effort.USUAL), (["--long"], Effort.LONG)])
def test_the_long_study_is_asked_for(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str], effort: Effort
) -> None:
    seen: list[Effort] = []

    def find(lab: Lab) -> Findings:
        seen.append(lab.effort)
        return Findings(verdict="Found.")

    study = Study("small", "Small", "Nobody", [Item("one", "One", "none", find)])
    monkeypatch.setattr("sojourn.papers.studies.STUDIES", (study,))
    assert command("paper", "small", *asked, "--out", tmp_path / "out").code == 0
    assert seen == [effort]


@pytest.fixture
def kernelless(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_name: str) -> Any:
        raise NotInstalledError("the kernel uml", [Missing("linux.uml (user-mode Linux)", "user-mode-linux")])

    monkeypatch.setattr("sojourn.testbed.world.choose", refuse)
    monkeypatch.setattr("sojourn.testbed.world._check_programs", lambda _planned: None)


@pytest.mark.usefixtures("kernelless")
def test_without_a_kernel_all_other_items_are_done(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Item("one", "One", "none", lambda _lab: Findings(verdict="Found."))
    study = Study("braud", BRAUD.title, BRAUD.source, [*kernel.ITEMS, one], summary=BRAUD.summary)
    monkeypatch.setattr("sojourn.papers.studies.STUDIES", (study,))
    done = command("paper", "braud", "--out", tmp_path / "out")
    assert done.code == 0
    assert "braud table2-linux: skipped: the kernel uml needs linux.uml (user-mode Linux)" in done.err
    assert "braud table3-linux: skipped: " in done.err
    assert "Found." in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("kernelless")
def test_asked_for_alone_an_item_that_needs_a_kernel_says_so(command: Command, tmp_path: Path) -> None:
    done = command("paper", "braud", "table2-linux", "--out", tmp_path / "out")
    assert done.code == 1
    assert "the kernel uml needs linux.uml" in done.err
