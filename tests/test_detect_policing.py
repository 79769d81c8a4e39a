"""Policers in downloads: the rate and the burst of the bucket, and losses that no bucket explains."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.captures import of_run, pcap

import sojourn
from sojourn.detect.captured import read_streams
from sojourn.detect.log import EMPTY, FlowLog
from sojourn.detect.passive import AFTER, BEFORE, Passive, passive
from sojourn.detect.policing import policer
from sojourn.detect.remedies import remedy_for_download
from sojourn.detect.stored import load_model
from sojourn.imported import read
from sojourn.imported.twins import scenario_of
from sojourn.whatif import what_if

PACKET_BYTES = 1500


def policed(rate_mbps: float, burst_bytes: float, sent_mbps: list[float], second_s: float = 1.0) -> FlowLog:
    """Return the packets of a sender whose rate changes, behind a bucket that is full at first."""
    gaps = [np.full(int(one * 1e6 * second_s / 8 / PACKET_BYTES), 8 * PACKET_BYTES / one / 1e6) for one in sent_mbps]
    times = np.cumsum(np.concatenate(gaps))
    tokens, before, lost = burst_bytes, 0.0, []
    for time in times:
        tokens, before = min(tokens + (time - before) * rate_mbps * 1e6 / 8, burst_bytes), time
        lost.append(tokens < PACKET_BYTES)
        tokens -= 0 if lost[-1] else PACKET_BYTES
    sizes = np.full(len(times), PACKET_BYTES)
    return FlowLog(times, np.where(lost, np.nan, times + 0.01), sizes, np.zeros(len(times), dtype=np.bool_))


@settings(deadline=None, max_examples=20)
@given(
    rate=st.floats(2, 40),
    burst_ms=st.floats(10, 200),
    over=st.lists(st.floats(0.5, 2.5), min_size=6, max_size=12).filter(
        lambda some: sum(one > 1.2 for one in some) >= 4
    ),
    is_before=st.booleans(),
)
def test_rate_and_burst_of_any_bucket_are_found(
    rate: float, burst_ms: float, over: list[float], is_before: bool
) -> None:
    burst_bytes = max(rate * burst_ms * 1e3 / 8, 8 * PACKET_BYTES)
    found = policer(policed(rate, burst_bytes, [rate * one for one in over]), is_before=is_before)
    assert found is not None
    assert found.rate_bps == pytest.approx(rate * 1e6, rel=0.02)
    assert found.low_bps <= found.rate_bps <= found.high_bps
    assert found.burst_bytes == pytest.approx(burst_bytes, rel=0.1, abs=2 * PACKET_BYTES)


@pytest.mark.parametrize("seed", range(5))
def test_losses_by_chance_are_no_policer(seed: int) -> None:
    random = np.random.default_rng(seed)
    log = policed(1e3, 1e9, [8, 12, 5, 16, 10, 9])
    lost = random.random(len(log.sent_s)) < 0.01
    log = FlowLog(log.sent_s, np.where(lost, np.nan, log.received_s), log.size_bytes, log.marked)
    assert lost.sum() > 30
    assert policer(log, is_before=True) is None


def test_what_says_too_little_is_no_policer() -> None:
    assert policer(EMPTY, is_before=False) is None
    assert policer(policed(1e3, 1e9, [10]), is_before=False) is None
    # One overshoot, whose losses are all at one moment.
    assert policer(policed(10, 50_000, [5, 5, 12.5, 5, 5], second_s=0.4), is_before=False) is None


def run(link: dict[str, Any], control: str, rtt: str) -> Any:
    upload = {"name": "upload", "control": control, "transport": "linux", "rtt": rtt}
    tables = {"duration": "15 s", "seed": 3, "bottleneck": {"queue": "droptail", **link}, "group": [upload]}
    return sojourn.scenario(tables).run(series=False, packets=True, jobs=1)


def told(result: Any, folder: Path, *, at_sender: bool) -> Passive:
    frames = of_run(result.packets, "upload", at_sender=at_sender, back_ns=15_000_000)
    file = folder / "upload.pcap"
    file.write_bytes(pcap(frames))
    streams, notes = read_streams(file)
    return passive(streams, load_model(), notes)


@pytest.mark.parametrize(
    ("rate", "burst", "control", "rtt", "at_sender"),
    [
        (10, 50_000, "cubic", "30 ms", False),
        (10, 50_000, "cubic", "30 ms", True),
        (45, 300_000, "bbr3", "20 ms", False),
        (20, 250_000, "newreno", "15 ms", False),
    ],
)
def test_a_policer_is_said_at_either_end(
    rate: float, burst: int, control: str, rtt: str, at_sender: bool, tmp_path: Path
) -> None:
    link = {"rate": f"{6 * rate} Mbit/s", "policer": {"rate": f"{rate} Mbit/s", "burst": f"{burst} B"}}
    found = told(run(link, control, rtt), tmp_path, at_sender=at_sender)
    assert found.place == (AFTER if at_sender else BEFORE)
    assert found.policer is not None, found.verdict
    assert found.policer.rate_bps == pytest.approx(rate * 1e6, rel=0.02)
    assert found.policer.burst_bytes == pytest.approx(burst, rel=0.1)
    assert found.line.low_mbps is not None
    remedy = remedy_for_download(found)
    assert remedy is not None
    assert "policer" in remedy.sentences[1]


@pytest.mark.parametrize("loss", [0.0005, 0.005])
def test_a_link_that_loses_packets_is_no_policer(loss: float, tmp_path: Path) -> None:
    found = told(run({"rate": "200 Mbit/s", "loss": loss}, "bbr3", "30 ms"), tmp_path, at_sender=True)
    assert found.lost > 20
    assert found.policer is None


def test_an_imported_policer_is_in_the_scenario_and_rules_the_shaper(tmp_path: Path) -> None:
    link = {"rate": "80 Mbit/s", "policer": {"rate": "20 Mbit/s", "burst": "200 kB"}}
    result = run(link, "cubic", "30 ms")
    file = tmp_path / "upload.pcap"
    file.write_bytes(pcap(of_run(result.packets, "upload", at_sender=True, back_ns=15_000_000)))
    scenario = scenario_of(read(str(file), way="up"), tmp_path)
    bottleneck = scenario.to_dict()["bottleneck"]
    assert float(bottleneck["policer"]["rate"].split()[0]) == pytest.approx(20, rel=0.02)
    assert float(bottleneck["rate"].split()[0]) > 20
    assert what_if(scenario, count=1).rates_mbps["bottleneck"] == pytest.approx(20, rel=0.02)


def drawn(random: np.random.Generator, *, is_policed: bool) -> tuple[dict[str, Any], str, str, float]:
    """Return a link, a control, an RTT, and the rate in Mbit/s of its policer, if any."""
    rate = float(10 ** random.uniform(0.5, 2))
    burst_bytes = max(round(random.uniform(0.01, 0.2) * rate * 1e6 / 8), 6 * PACKET_BYTES)
    link: dict[str, Any] = {"rate": f"{rate * random.uniform(2, 8):.3f} Mbit/s"}
    if is_policed:
        link["policer"] = {"rate": f"{rate:.3f} Mbit/s", "burst": f"{burst_bytes} B"}
    else:
        link["loss"] = float(10 ** random.uniform(-4, -2))
    control = str(random.choice(["cubic", "newreno", "bbr", "bbr3"]))
    return link, control, f"{random.choice([8, 15, 30, 60, 120])} ms", rate


@pytest.mark.long
def test_most_policers_are_found_and_no_losses_by_chance_are_taken_for_one(tmp_path: Path) -> None:
    """The numbers of docs/guide/detect.md, of captures behind the link."""
    random = np.random.default_rng(1)
    errors, by_chance, without = [], 0, 0
    for number in range(120):
        is_policed = number % 2 == 0
        link, control, rtt, rate = drawn(random, is_policed=is_policed)
        run(link, control, rtt).write_pcaps(tmp_path)
        streams, notes = read_streams(tmp_path / "bottleneck.pcapng")
        found = passive(streams, load_model(), notes)
        if found.policer is None:
            without += is_policed
        elif is_policed:
            errors.append(abs(found.policer.rate_bps / 1e6 / rate - 1))
        else:
            by_chance += 1
    assert by_chance == 0
    assert (len(errors), without) == (59, 1)
    assert max(errors) < 0.007


@pytest.mark.long
@pytest.mark.parametrize(("rate", "loss"), [(225, 0.006), (73, 0.0035)])
def test_a_sender_is_fastest_before_a_loss_by_chance_too(rate: int, loss: float, tmp_path: Path) -> None:
    found = told(run({"rate": f"{rate} Mbit/s", "loss": loss}, "cubic", "60 ms"), tmp_path, at_sender=False)
    assert found.policer is None
