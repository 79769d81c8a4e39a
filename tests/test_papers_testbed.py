"""The testbed's study: what needs no kernel, and that it says so where there is none."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import Command, points_of

from sojourn.study.find import find_folder
from sojourn.study.lab import Lab
from sojourn.study.model import Findings, Item, Study
from sojourn.study.numbers import Number
from sojourn.worlds.linux.kernels.uml import Uml

if TYPE_CHECKING:
    from sojourn.data.dataset import Dataset
    from sojourn.sweeps.plan import Plan

STUDY = find_folder("gong-testbed")
CODE: Any = STUDY.module


points = functools.partial(points_of, STUDY)


def test_dctcp_is_only_where_a_queue_marks() -> None:
    kernel, simulated = points("today-dctcp-kernel"), points("today-dctcp-sim")
    assert {one.coordinates["queue"] for one in kernel} == {"CoDel", "FQ-CoDel", "PIE", "CAKE", "CHOKe", "CAKE, marked"}
    for one in kernel:
        asked = one.coordinates["queue"] in {"CoDel", "PIE", "CHOKe"}
        assert (one.changes.get("bottleneck.queue.ecn") is True) == asked
        assert one.changes["group.background.transport"]["ecn"] == "accurate"
    for one in simulated:
        asked = one.coordinates["queue"] in {"CoDel", "PIE", "CHOKe"}
        assert ("ecn" in one.changes["bottleneck.queue"]) == asked


def simulated(sweep: str, **at: str) -> dict[str, Any]:
    return next(one.changes for one in points(sweep) if all(one.coordinates[axis] == at[axis] for axis in at))


def test_what_the_kernel_has_of_itself_is_simulated() -> None:
    def transport(sweep: str, **at: str) -> Any:
        tcp, background, ping = simulated(sweep, **at)["group"]
        assert (tcp["name"], background["name"], ping["name"]) == ("tcp", "background", "ping")
        assert tcp["transport"] == {"preset": "linux", "timer_tick": "10 ms"}
        return background["transport"]

    # Programs bring their timers; TCP's wait for the kernel's ticks.
    assert transport("table3-sim", control="LEDBAT", queue="FIFO") == {"preset": "libutp"}
    assert transport("today-sim", control="LEDBAT, RFC 6817") == {"preset": "linux"}
    assert transport("today-sim", control="Vegas") == {"preset": "linux", "timer_tick": "10 ms"}
    dctcp = transport("today-dctcp-sim", queue="CAKE")
    assert (dctcp["timer_tick"], dctcp["ecn"]) == ("10 ms", "accurate")
    # Two ticks of 10 ms and one more; two frames with their headers.
    pie = simulated("today-sim", queue="PIE")["bottleneck.queue"]
    assert (pie["update"], pie["mean_packet"]) == ("30 ms", 1514)
    # A limit for each of ten flows.
    drr = simulated("today-sim", queue="DRR")["bottleneck.queue"]
    assert (drr["kind"], drr["depth"], drr["limit"]) == ("sfq", 127, "1270 packets")
    assert simulated("today-sim", queue="CAKE, marked")["group"][1]["dscp"] == "le"


def test_offloads_and_windows_are_those_of_tcp_alone() -> None:
    def both(sweep: str, control: str, offload: str) -> list[dict[str, Any]]:
        groups: list[dict[str, Any]] = simulated(sweep, control=control, offload=offload)["group"]
        return groups[:2]

    for sweep in ("fifo-sim", "red-fit-sim"):
        assert not any("host" in group for group in both(sweep, "TCP-LP", "off"))
        assert [group["host"]["burst"] for group in both(sweep, "TCP-LP", "on")] == [45, 45]
        # libutp sends datagrams.
        assert ["host" in group for group in both(sweep, "LEDBAT", "on")] == [True, False]
    window = simulated("fifo-sim", control="TCP-LP", receive_window="64 KiB")["group"]
    assert [group["transport"]["receive_window"] for group in window[:2]] == ["65536 B", "65536 B"]


def test_table_4_over_the_internet_is_shaped_below_the_line() -> None:
    base = STUDY.plan("internet-sim")["base"]
    shaper, line = (next(hop for hop in base["hop"] if hop["name"] == name) for name in ("shaper", "line-up"))
    # 1500 bytes are 32 cells of 53 in PPPoA: what the line leaves to packets slightly exceeds what the sender sends.
    assert shaper["rate"] == "500 kbit/s"
    assert 500 < 640 * 1500 / (32 * 53) < 570
    assert line["rate"] == "640 kbit/s"
    assert {group["rtt"] for group in base["group"]} == {"50 ms"}


def test_a_simulation_has_the_start_times_of_a_run_on_the_kernel() -> None:
    starts = [one.changes["group"][0]["start"] for one in points("table4-sim") if one.coordinates["flows"] == "5+5"]
    assert len(starts) == 3
    assert len({tuple(one) for one in starts}) == 3
    assert all(len(one) == 5 for one in starts)


def test_a_simulated_ping_is_a_flow_that_has_no_part_in_the_share(tmp_path: Path) -> None:
    lab = Lab(tmp_path, 1, overrides={"seeds": 1, "set": {"duration": "5 s"}})
    plan: Plan = lab.plan("table4-sim", STUDY.plan("table4-sim"), STUDY.folder)
    dataset: Dataset = lab.run(plan)
    found = {(at["flows"], metric): number for at, _, metric, number in CODE.cells(plan, dataset)}
    assert 0 < found["1+1", "share"].mean < 1
    assert found["1+1", "ping_ms"].mean > 0
    # Runs with the start times of three runs are runs of one cell.
    assert found["5+5", "share"].runs == 3


def test_all_reds_are_ones_that_tc_takes() -> None:
    plan = STUDY.checked("red-sim")
    assert plan.points == 2 * 5 * 5 * 4 * 2 * 4 * 3
    for index in range(0, plan.points, 97):
        assert plan.scenario(plan.point(index))


def test_delays_are_alike_within_a_quarter_or_5_ms() -> None:
    share = Number(50.0, 0.0, 3)

    def alike(kernel_ms: float, simulated_ms: float) -> bool:
        pair = CODE.Pair("LEDBAT", "5+5", (share, Number(kernel_ms, 0.0, 3)), (share, Number(simulated_ms, 0.0, 3)))
        return bool(pair.agrees)

    assert alike(2.0, 6.9)
    assert not alike(2.0, 7.1)
    assert alike(100.0, 75.0)
    assert not alike(100.0, 126.0)


def test_a_difference_is_chance_known_or_open() -> None:
    delay = Number(100.0, 0.0, 3)

    def reason(kernel: Number, simulated: Number, control: str = "TCP-LP", queue: str = "CoDel") -> str:
        return str(CODE.Pair(control, "5+5", (kernel, delay), (simulated, delay)).reason(queue)).split(".")[0]

    wide, narrow, other = Number(47.0, 7.0, 3), Number(47.0, 0.1, 3), Number(56.0, 0.1, 3)
    assert reason(other, wide).startswith("May be chance")
    assert reason(other, narrow) == "Open"
    assert reason(other, narrow, "DCTCP", "CAKE") == "Explained"
    # The kernel's own spread counts, however narrow the simulation's is.
    assert reason(Number(56.0, 8.0, 3), Number(47.0, 0.1, 30), "CDG", "CAKE").startswith("May be chance")


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
    monkeypatch.setattr("sojourn.study.find.studies", lambda: [STUDY.study(), other])
    done = command("paper", "all", "--out", tmp_path)
    assert done.code == 0, done.err
    assert "gong-testbed: skipped: the kernel uml needs" in done.err
    assert (tmp_path / "other" / "index.html").is_file()


def test_a_kernel_in_real_time_is_asked_for(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six runs of a minute, each with a few seconds for the start of a kernel."""
    monkeypatch.setattr("sojourn.worlds.linux.kernels.choose", lambda _name: Uml())
    items = {item.name: item for item in STUDY.study().items}
    seconds = items["table4"].real_time_s()["table4-kernel"]
    assert seconds == 6 * 63.0
    assert items["fifo"].real_time_s() == {}
    done = command("paper", "gong-testbed", "table4", "--out", tmp_path / "out")
    assert done.code == 2
    assert "gong-testbed: runs on a kernel take 6.3 min of real time; --yes starts them" in done.err
    assert not (tmp_path / "out" / "data").exists()
