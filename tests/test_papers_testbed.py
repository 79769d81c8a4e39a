"""The testbed's study: what needs no kernel, and that it says so where there is none."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Command

import sojourn
from sojourn.papers.measures import label
from sojourn.papers.testbed import GONG_TESTBED, scan, tables, today
from sojourn.papers.testbed.reasons import CHANCE, KNOWN, OPEN, reason
from sojourn.papers.testbed.world import (
    CONTROLS,
    FIFO,
    FIVE,
    KERNEL,
    LEDBAT,
    ONE,
    QUEUES,
    RUNS,
    SIM,
    Cell,
    as_on_the_kernel,
    base,
    case,
    simulate,
)
from sojourn.study.lab import Lab
from sojourn.study.model import Findings, Item, Study
from sojourn.study.numbers import Number
from sojourn.sweep import Plan
from sojourn.testbed.errors import Missing, NotInstalledError


def number(mean: float, sd: float = 0.0, runs: int = 3) -> Number:
    return Number(mean, sd, runs)


def test_every_case_is_one_that_linux_can_have() -> None:
    cases: dict[str, Any] = {name: case(queue, CONTROLS[LEDBAT], 1) for name, queue in QUEUES.items()}
    cases |= {label(key): changes for key, changes in today.cases().items()}
    plan = Plan.of({"base": base(KERNEL), "backend": "linux", "cases": cases})
    assert plan.points == len(QUEUES) + len(today.cases())


def test_dctcp_is_only_where_a_queue_marks() -> None:
    cases = today.cases()
    low = {name for name, _ in cases}
    assert low == set(today.LOW)
    assert {name for control, name in cases if control == today.DCTCP} == set(today.NAMES) - {FIFO, "DRR"}
    for (control, name), changes in cases.items():
        asked = control == today.DCTCP and name in {"CoDel", "PIE", "CHOKe"}
        assert ("ecn" in changes["bottleneck.queue"]) == asked
        assert ("group.background.transport" in changes) == (control == today.DCTCP)


def test_what_the_kernel_has_of_itself_is_simulated() -> None:
    def told(control: Any, queue: Mapping[str, Any] = QUEUES[FIFO]) -> tuple[Any, dict[str, Any]]:
        changes = as_on_the_kernel(case(queue, control, 5))
        return changes.get("group.background.transport"), changes["bottleneck.queue"]

    # Programs bring their timers; TCP's are in the base.
    assert told(CONTROLS[LEDBAT]) == ("libutp", QUEUES[FIFO])
    assert told("ledbat")[0] == "linux"
    assert told({"kind": "vegas", "preset": "linux"})[0] is None
    assert [group["transport"] for group in base(SIM)["group"][:2]] == [{"preset": "linux", "timer_tick": "10 ms"}] * 2
    assert [group["transport"] for group in base(KERNEL)["group"]] == ["linux"] * 2
    dctcp = as_on_the_kernel(today.cases()[today.DCTCP, "CAKE"])["group.background.transport"]
    assert (dctcp["timer_tick"], dctcp["ecn"]) == ("10 ms", True)
    # Two ticks of 10 ms and one more; two frames with their headers.
    pie = told("ledbat", today.DISCIPLINES["PIE"])[1]
    assert (pie["update"], pie["mean_packet"]) == ("30 ms", 1514)
    # A limit for each of ten flows.
    drr = told("ledbat", today.DISCIPLINES["DRR"])[1]
    assert (drr["kind"], drr["depth"], drr["limit"]) == ("sfq", 127, "1270 packets")


def test_the_cells_are_those_of_the_paper() -> None:
    assert len(tables.TABLE_3) == 12
    assert len(tables.TABLE_4) == 2
    assert tables.TABLE_3["LEDBAT", "RED", ONE] == (1.7, 9.5)
    assert tables.TABLE_3["TCP-LP", "FIFO", FIVE] == (50.8, 7870.6)
    assert set(scan.STARVED.values()) == {0.017, 0.975}


def test_a_simulated_ping_is_a_flow_that_has_no_part_in_the_share(tmp_path: Path) -> None:
    lab = Lab(tmp_path, 1, overrides={"seeds": 1, "set": {"duration": "5 s"}})
    (found,) = simulate(lab, "one", {("x",): case(QUEUES[FIFO], CONTROLS[LEDBAT], 1)}).values()
    assert 0 < found.share.mean < 1
    assert found.ping_ms.mean > 0
    assert len(found.shares) == RUNS
    assert len(base(SIM)["group"]) == len(base(KERNEL)["group"]) + 1


def test_only_reds_that_tc_takes_are_scanned() -> None:
    reds = scan.reds()
    # tc asks for burst + 1 - min / avpkt of at least 1.
    assert not [words for words in reds if " burst 1 " in words]
    assert len(reds) == 5 * 5 * 4 * 2 * 4
    for queue in list(reds.values())[::97]:
        assert sojourn.scenario(base(SIM, bottleneck={"rate": "500 kbit/s", "queue": queue}))


def test_the_nearest_are_different_ones() -> None:
    def found(beside_ledbat: float) -> dict[str, Cell]:
        none = number(1.0)
        shares = {"LEDBAT": beside_ledbat, "TCP-LP": 0.5}
        return {low: Cell(number(share), none, none, none, (share,)) for low, share in shares.items()}

    chosen = scan.nearest(
        {"far": found(0.9), "near": found(0.1), "twin": found(0.1), "next": found(0.2), "last": found(0.8)}
    )
    assert chosen == ["near", "next", "last"]


def test_delays_are_alike_within_a_quarter_or_5_ms() -> None:
    assert tables.near(6.9, 2.0)
    assert not tables.near(7.1, 2.0)
    assert tables.near(75.0, 100.0)
    assert not tables.near(126.0, 100.0)


def test_a_difference_is_chance_known_or_open() -> None:
    wide, narrow = number(0.47, 0.07), number(0.47, 0.001)
    other = number(0.56, 0.001)
    assert reason(("today", "TCP-LP", "CoDel"), [(other, wide)])[0] == CHANCE
    assert reason(("today", "TCP-LP", "CoDel"), [(other, narrow)]) == (OPEN, "Open.")
    # One of two metrics is enough.
    assert reason(("today", "TCP-LP", "CoDel"), [(other, wide), (other, narrow)])[0] == OPEN
    assert reason(("today", "DCTCP", "CAKE"), [(other, narrow)])[0] == KNOWN
    # The kernel's own spread counts, however narrow the simulation's is.
    assert reason(("today", "CDG", "CAKE"), [(number(0.56, 0.08), number(0.47, 0.001, 30))])[0] == CHANCE


@pytest.fixture
def kernelless(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_name: str) -> Any:
        raise NotInstalledError("the kernel uml", [Missing("linux.uml (user-mode Linux)", "user-mode-linux")])

    monkeypatch.setattr("sojourn.testbed.world.choose", refuse)
    monkeypatch.setattr("sojourn.testbed.world._check_programs", lambda _planned: None)


@pytest.mark.usefixtures("kernelless")
def test_without_a_kernel_the_study_says_what_is_missing(command: Command, tmp_path: Path) -> None:
    done = command("paper", "gong-testbed", "table4", "--out", tmp_path / "out")
    assert done.code == 1
    assert "the kernel uml needs linux.uml (user-mode Linux)" in done.err
    assert "apt-get install user-mode-linux" in done.err


@pytest.mark.usefixtures("kernelless")
def test_all_papers_leave_out_the_study_without_a_kernel(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Study("other", "Other", "Nobody", [Item("one", "One", "none", lambda _lab: Findings(verdict="Found."))])
    monkeypatch.setattr("sojourn.papers.studies.STUDIES", (GONG_TESTBED, other))
    done = command("paper", "all", "--out", tmp_path)
    assert done.code == 0
    assert "gong-testbed: skipped: the kernel uml needs" in done.err
    assert (tmp_path / "other" / "index.html").is_file()
