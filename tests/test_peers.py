"""htsim among the peers, what a packet costs in each, and what is said where a peer cannot have a scenario."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from benchmarks import costs, mix
from benchmarks.peers.builds import HTSIM_COMMIT, HTSIM_FROM, PeerError, build_htsim, default_cache
from benchmarks.peers.points import SLOW, Point
from benchmarks.peers.runs import htsim_command, run

HAS_HTSIM = HTSIM_FROM in os.environ or (default_cache() / f"htsim-{HTSIM_COMMIT[:12]}").exists()
in_htsim = pytest.mark.skipif(not HAS_HTSIM, reason=f"no htsim: {HTSIM_FROM} may name a clone of its repository")
CASES = {case.scenario: case for case in mix._CASES}


def test_a_clone_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HTSIM_FROM, str(tmp_path / "nowhere"))
    with pytest.raises(PeerError, match=rf"htsim cannot be had from .*nowhere \({HTSIM_FROM} names another clone\)"):
        build_htsim(tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_htsim_refuses_what_it_has_not() -> None:
    with pytest.raises(PeerError, match=r"compared with droptail, newreno.*red"):
        htsim_command(Point(queue="red"), 1)


@pytest.mark.long
@in_htsim
def test_htsim_fills_the_link_and_delivers_no_more_than_payload() -> None:
    point = SLOW.point("droptail", 100.0, warmup_s=0.0)
    found = run("htsim", point, 1)
    assert found.utilization == pytest.approx(1.0, abs=0.01)
    assert found.queue_packets_mean is not None
    assert point.limit_packets / 3 < found.queue_packets_mean < point.limit_packets
    goodput = (found.goodput_1_bps or 0.0) + (found.goodput_2_bps or 0.0)
    # What is sent again is the rest; 1,460 of 1,500 bytes are payload.
    assert 0.9 * point.rate_bps * 1460 / 1500 < goodput <= point.rate_bps * 1460 / 1500
    assert found.drops
    assert found.arrivals == pytest.approx(found.drops + 100 * point.rate_bps / 12_000, abs=point.limit_packets)


@pytest.mark.long
@in_htsim
def test_flows_of_htsim_have_round_trips_around_the_common_one() -> None:
    """Nothing is lost, so that a flow in slow start delivers 2, 4, 8, ... segments in successive round trips."""
    point = Point(100e6, 10_000, 1.0, 1, 1, duration_s=4.6, warmup_s=0.0)
    alike, own = (arrived(htsim_command(point, 1, rtts=rtts, start_within_s=1e-9)) for rtts in (1, 2))
    # The SYN takes the first round trip, and segments arrive in the middle of each: after 1.5 s, 2.5 s, ... of 4.6 s
    # with the common RTT; with 0.75 s and 1.25 s they arrive after 1.125 s, 1.875 s, ... and 1.875 s, 3.125 s, ...
    assert alike == (2 + 4 + 8 + 16, 2 + 4 + 8 + 16)
    assert sorted(own) == [2 + 4 + 8, 2 + 4 + 8 + 16 + 32]


def arrived(command: list[str]) -> tuple[int, ...]:
    """Return the segments that arrived in each group."""
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return tuple(round(found[f"goodput_{group}_bps"] * 4.6 / 8 / 1460) for group in (1, 2))


def test_what_programs_print_is_read_in_bits() -> None:
    assert costs.engine_bits(5, "seed 1: 4 drops, 100 bytes delivered\nseed 2: 25 bytes delivered\n") == 1000
    assert costs.peer_bits(10, 'debug\n{"peer": "htsim", "goodput_1_bps": 20, "goodput_2_bps": 30}') == 500
    assert costs.exported_bits(2, '{"goodput_mbps": {"one": 1.5, "two": 0.5}}') == 4e6


def test_the_mean_of_the_mix_leaves_the_dumbbell_out() -> None:
    rows = [{"scenario": name, "instructions": count} for name, count in (("first", 1000), ("web", 4000), ("peers", 9))]
    assert mix.mean(rows) == pytest.approx(2000)


def test_what_ns_3_refuses_is_the_reason(tmp_path: Path) -> None:
    assert mix._exported(CASES["gateway-and-modem"], tmp_path)[1] == "bottleneck.framing: ns-3 cannot have it"
    program, refused = mix._exported(CASES["first"], tmp_path)
    assert program is not None
    assert not refused
    rows = [{"scenario": "web-pages", "refused": "traffic"}, {"scenario": "first", "refused": ""}]
    assert mix.reasons(rows)[-1] == "ns-3, `web-pages`: traffic."
