"""`sojourn pad` without a network: a queue of one's own, and a clock that jumps."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import PATIENCE_S, Echo, wait_for

from sojourn import _native
from sojourn.pad import network as sockets
from sojourn.pad.hops import APART_S, HopAnswer, Trace, past_bottleneck
from sojourn.pad.network import PadError, sent_on
from sojourn.pad.route import way_to
from sojourn.pad.screen import document, read, sparkline, status, summary
from sojourn.pad.session import Record, Session
from sojourn.pad.settings import Limits, Settings

pytestmark = pytest.mark.real_time

LARGE_PPS = 800e3 / 8 / 1500
BASE_S = 0.02


class FakeNetwork:
    """An uplink of 800 kbit/s behind hop `behind`, full of an upload from `load_s` on, of three hops to the target.

    Its buffer holds 30 packets, or as many bytes where padding does not help.
    """

    def __init__(
        self, *, behind: int = 1, load_s: float = 15.0, counts_packets: bool = True, hop_s: float = 0.005
    ) -> None:
        self.clock_s = 100.0
        self.hop_s = hop_s
        self.behind, self.load_s, self.counts_packets = behind, load_s, counts_packets
        self.padded: list[tuple[float, int]] = []
        self.pending: list[tuple[float, float]] = []
        self.hops: list[tuple[float, HopAnswer]] = []
        self.bytes = 0.0
        self.silent = False
        self.refuses_until_s = 0.0
        """So long the full queue takes nothing of a trace."""
        self._recent: deque[float] = deque()

    def now(self) -> float:
        return self.clock_s

    def wait(self, until_s: float) -> None:
        soonest = min([until_s, *(at for at, _ in self.pending), *(at for at, _ in self.hops)])
        self.clock_s = max(self.clock_s + 1e-5, soonest)

    def delay_s(self) -> float:
        if self.clock_s < 100 + self.load_s:
            return 0.0
        while self._recent and self._recent[0] < self.clock_s - 1:
            self._recent.popleft()
        helping = len(self._recent) if self.counts_packets else 0
        return 30 / (LARGE_PPS + helping)

    def probe(self) -> None:
        rtt_s = BASE_S + self.delay_s()
        if not self.silent:
            self.pending.append((self.clock_s + rtt_s, rtt_s))

    def answers(self) -> list[float]:
        found = [rtt for at, rtt in self.pending if at <= self.clock_s]
        self.pending = [one for one in self.pending if one[0] > self.clock_s]
        return found

    def ask_hop(self, ttl: int) -> None:
        reached = min(ttl, 3)
        if reached > self.behind and self.delay_s() > 0 and self.clock_s < self.refuses_until_s:
            return
        rtt_s = self.hop_s * reached + (self.delay_s() if reached > self.behind else 0)
        self.hops.append((self.clock_s + rtt_s, HopAnswer(ttl, rtt_s, f"10.0.0.{reached}", ttl >= 3)))

    def hop_answers(self) -> list[HopAnswer]:
        found = [answer for at, answer in self.hops if at <= self.clock_s]
        self.hops = [one for one in self.hops if one[0] > self.clock_s]
        return found

    def pad(self, ttl: int) -> None:
        self.padded.append((self.clock_s, ttl))
        if ttl > self.behind:
            self._recent.append(self.clock_s)

    def sent_bytes(self) -> int:
        busy_s = max(0.0, self.clock_s - 100 - self.load_s)
        return round(100e3 * busy_s)


def settings(duration_s: float = 120, **changes: object) -> Settings:
    given = {"target_s": 0.15, "before_s": 5.0, "uplink_bps": 800e3, **changes}
    return Settings(Limits(200, 0.25, duration_s), **given)  # type: ignore[arg-type]


def test_a_full_buffer_in_packets_is_relieved_behind_the_bottleneck() -> None:
    network = FakeNetwork(behind=1)
    record = Session(network, settings()).run()
    before, after = record.before_and_after() or (0, 0)
    assert before == pytest.approx(30 / LARGE_PPS, rel=0.01)
    # The target, or a quarter below it: the rule's dead band.
    assert 0.74 * 0.15 <= after <= 0.15
    assert {ttl for _, ttl in network.padded} == {2}
    assert record.padding_packets == len(network.padded)


@pytest.mark.parametrize("behind", [0, 1])
def test_the_time_to_live_ends_at_the_first_hop_behind_the_queue(behind: int) -> None:
    network = FakeNetwork(behind=behind)
    assert Session(network, settings(60)).run().ttl == behind + 1


@pytest.mark.parametrize("full_s", [0.5, 1.5, 3.5])
def test_a_moment_without_room_does_not_hide_a_hop(full_s: float) -> None:
    network = FakeNetwork(behind=1)
    session = Session(network, settings(60))

    def full_for_a_round_trip(record: Record) -> None:
        if record.notes and not network.refuses_until_s:
            network.refuses_until_s = network.clock_s + full_s

    assert session.run(full_for_a_round_trip).ttl == 2


def test_a_long_way_is_not_taken_for_a_queue() -> None:
    network = FakeNetwork(behind=1, hop_s=0.3)
    assert Session(network, settings(60)).run().ttl == 2


def test_the_uplink_is_known_before_a_whole_window() -> None:
    network = FakeNetwork(load_s=0)
    assert Session(network, settings(7, uplink_bps=None)).run().uplink_bps == pytest.approx(800e3, rel=0.02)


def test_an_idle_path_is_not_padded() -> None:
    network = FakeNetwork(load_s=1000)
    record = Session(network, settings()).run()
    assert network.padded == []
    assert (record.rates, record.notes) == ([(0.0, 0.0)], [])
    assert summary(record) == "no padding was sent"


def test_a_buffer_in_bytes_is_given_up_and_rests() -> None:
    network = FakeNetwork(counts_packets=False)
    record = Session(network, settings(300)).run()
    assert record.rests == 3
    assert "padding does not help here" in " ".join(text for _, text in record.notes)
    padded = sum(end - begin for begin, end in spans(record))
    assert padded < 0.3 * 300


def spans(record: Record) -> list[tuple[float, float]]:
    steps = [*record.rates, (record.elapsed_s, 0.0)]
    return [(at, steps[number + 1][0]) for number, (at, rate) in enumerate(record.rates) if rate > 0]


def test_a_time_to_live_that_ends_before_the_bottleneck_is_told() -> None:
    network = FakeNetwork(behind=2)
    with pytest.raises(
        PadError, match=r"time to live of 1 never reaches the bottleneck: hop 1 answers within 5 ms, while"
    ):
        Session(network, settings(ttl=1)).run()
    assert network.padded == []


def test_padding_does_not_arrive_at_another_host() -> None:
    network = FakeNetwork(behind=2)
    record = Session(network, settings()).run()
    assert network.padded == []
    assert "the target itself: padding would arrive at its UDP port 9; nothing is sent" in record.notes[1][1]
    network = FakeNetwork(behind=1)
    with pytest.raises(PadError, match=r"a time to live of 5 reaches the target itself, at hop 3"):
        Session(network, settings(ttl=5)).run()
    assert network.padded == []


def test_whose_port_padding_arrives_at_is_said() -> None:
    network = FakeNetwork(behind=2)
    record = Session(network, settings(own_target=True)).run()
    assert {ttl for _, ttl in network.padded} == {3}
    assert record.notes[1][1] == "padding arrives at this machine's own UDP port 9"


class PausedNetwork(FakeNetwork):
    """One whose user is stopped for 6 s, and reads only then what came in the meantime."""

    PAUSE_S = 6.0

    def __init__(self, paused_s: float) -> None:
        super().__init__()
        self.paused_s = paused_s

    def wait(self, until_s: float) -> None:
        super().wait(until_s)
        if self.clock_s >= 100 + self.paused_s:
            self.clock_s += self.PAUSE_S
            self.paused_s = float("inf")

    def answers(self) -> list[float]:
        found = [(at, rtt) for at, rtt in self.pending if at <= self.clock_s]
        self.pending = [one for one in self.pending if one[0] > self.clock_s]
        # A program sees the time at which it reads.
        return [rtt + self.clock_s - at for at, rtt in found]


@pytest.mark.parametrize("paused_s", [2.0, 40.0])
def test_a_pause_is_not_taken_for_a_delay(paused_s: float) -> None:
    network = PausedNetwork(paused_s)
    record = Session(network, settings()).run()
    assert max(rtt for _, rtt in record.rtts) <= BASE_S + 30 / LARGE_PPS + 0.01
    assert len(record.rtts) > 1000
    after = 100 + paused_s + PausedNetwork.PAUSE_S
    # No more than the limit of a tenth of a second.
    assert len([at for at, _ in network.padded if after <= at < after + 0.1]) <= 21


def test_what_hops_answered_in_a_pause_counts_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Paused(PausedNetwork):
        def hop_answers(self) -> list[HopAnswer]:
            found = [(at, answer) for at, answer in self.hops if at <= self.clock_s]
            self.hops = [one for one in self.hops if one[0] > self.clock_s]
            return [replace(answer, rtt_s=answer.rtt_s + self.clock_s - at) for at, answer in found]

    taken: list[float] = []
    monkeypatch.setattr(Trace, "on_answer", lambda _self, answer: taken.append(answer.rtt_s))
    # The first trace is under way, and the answer of a hop comes just then.
    Session(Paused(0.055), settings(30)).run()
    assert len(taken) > 10
    assert max(taken) < 1


def test_where_no_hop_shows_the_delay_nothing_is_sent() -> None:
    network = FakeNetwork(behind=3)
    record = Session(network, settings()).run()
    assert network.padded == []
    assert "no hop shows the delay of 450 ms; nothing is sent" in record.notes[1][1]


def test_a_target_without_answers_is_told() -> None:
    network = FakeNetwork()
    network.silent = True
    with pytest.raises(PadError, match=r"answered none of 1\d\d probes"):
        Session(network, settings()).run()


@pytest.mark.parametrize(
    ("most_pps", "share", "bound"), [(30.0, 0.25, 30.0), (1000.0, 0.05, 59.5), (1000.0, 0.25, 297.6)]
)
def test_no_second_has_more_packets_than_the_limits_allow(most_pps: float, share: float, bound: float) -> None:
    network = FakeNetwork()
    Session(network, Settings(Limits(most_pps, share, 90), 0.02, 5.0, uplink_bps=800e3)).run()
    times = [at for at, _ in network.padded]
    window: deque[float] = deque()
    most = 0
    for at in times:
        window.append(at)
        while window[0] <= at - 1:
            window.popleft()
        most = max(most, len(window))
    assert 0.9 * bound <= most <= bound + 1


def test_nothing_is_sent_after_the_duration() -> None:
    network = FakeNetwork()
    record = Session(network, settings(40)).run()
    assert network.clock_s - 100 == pytest.approx(40, abs=0.01)
    assert network.padded[-1][0] <= 140
    assert record.elapsed_s == 40


def test_the_uplink_is_what_this_machine_sent() -> None:
    network = FakeNetwork(load_s=5)
    session = Session(network, settings(60, uplink_bps=None))
    assert session.limit_pps == 0
    record = session.run()
    assert record.padding_packets > 0
    assert record.uplink_bps == pytest.approx(800e3, rel=0.02)
    assert session.limit_pps == pytest.approx(200)


def test_a_known_base_replaces_the_least_that_was_measured() -> None:
    network = FakeNetwork(load_s=0)
    assert Session(network, settings(60)).run().padding_packets == 0
    network = FakeNetwork(load_s=0)
    assert Session(network, settings(60, base_s=BASE_S)).run().padding_packets > 0


def test_a_trace_goes_no_further_than_the_target() -> None:
    trace, now = Trace(20, 0.0), 0.0
    asked = []
    while not trace.done(now):
        if (ttl := trace.due(now)) is not None:
            asked.append(ttl)
            trace.on_answer(HopAnswer(ttl, 0.01 * min(ttl, 3), "10.0.0.1", ttl >= 3))
        now += 0.01
    assert asked == [1, 2, 3] * 5
    assert trace.medians_s() == pytest.approx({1: 0.01, 2: 0.02, 3: 0.03})


def test_rounds_through_a_queue_are_apart() -> None:
    trace = Trace(2, 0.0, APART_S)
    sent_s = [now / 100 for now in range(1000) if trace.due(now / 100)]
    assert sent_s == pytest.approx([0, 0.05, 1.05, 1.10, 2.10, 2.15, 3.15, 3.20, 4.20, 4.25], abs=0.1)


def test_the_hop_behind_the_queue_by_its_delay() -> None:
    assert past_bottleneck({1: 0.001, 2: 0.3}, {1: 0.002, 2: 0.31, 3: 0.7}, 0.4) == 3
    assert past_bottleneck({}, {1: 0.1}, 0.4) is None
    assert past_bottleneck({}, {2: 0.2}, 0.4) == 2


def test_the_controller_is_the_simulations_own() -> None:
    rule = _native.Padding(0.1, 500, 0)
    rule.know_base(0.0)
    for _ in range(10):
        rule.on_answer(0.2)
    rule.on_time(2.0)
    # (R + 10) d/t - 10 with R = 0 and d/t = 2.
    assert rule.rate_pps == pytest.approx(10)
    assert not rule.due(2.0)
    assert rule.next_s == pytest.approx(2.1)
    assert rule.due(2.1)
    rule.bound(5)
    assert rule.rate_pps == 5


@pytest.mark.parametrize("wrong", [(0, 1, 0), (-1, 1, 0), (1, -1, 0), (1, float("nan"), 0), (1, 1, -1)])
def test_the_controller_refuses_what_means_nothing(wrong: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="it is"):
        _native.Padding(*wrong)


def test_counters_of_an_interface() -> None:
    text = "Inter-| Receive\n face |bytes\n    lo: 1 2 3 4 5 6 7 8 99 1 1 1\n  eth0:5 0 0 0 0 0 0 0 77 1\n"
    assert sent_on("lo", text) == 99
    assert sent_on("eth0", text) == 77
    assert sent_on("wlan0", text) == 0


def test_what_a_person_sees() -> None:
    network = FakeNetwork()
    record = Session(network, settings()).run()
    text = summary(record)
    assert text.splitlines()[0] == "delay before       450 ms (median of 10 s)"
    assert "padding" in status(record, 120)
    assert sparkline(record)[-1] == "█"
    told = json.loads(json.dumps(document(record)))
    assert told["delay_before_s"] == pytest.approx(0.45, rel=0.01)
    assert told["ttl"] == 2
    assert json.loads(json.dumps(document(read(told)))) == told


def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-m", "sojourn", "pad", *map(str, arguments)]
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=PATIENCE_S, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["127.0.0.1", "--most", "1001"], "--most 1001: above 0 and at most 1000"),
        (["127.0.0.1", "--share", "0.3"], "--share 0.3: above 0 and at most 0.25"),
        (["127.0.0.1", "--duration", "2 h"], "--duration 2 h: above 0 and at most 3600"),
        (["127.0.0.1", "--duration", "5 s"], "--before 10 s: it is shorter than --duration 5 s"),
        (["127.0.0.1", "--uplink", "800"], '--uplink 800: a rate, such as "800 kbit/s"'),
        (["127.0.0.1", "--ttl", "0"], "Invalid value for '--ttl'"),
        (["127.0.0.1", "--plot", "x.gif"], "--plot: a picture's name ends in"),
        (["127.0.0.1", "--plot", "no-such/x.png"], "no-such: --plot: no such directory"),
        (["127.0.0.1", "--data", "no-such/x.json"], "no-such: --data: no such directory"),
        (["224.0.0.1"], "HOST: 224.0.0.1 is not the address of one host"),
        (
            ["127.255.255.255"],
            "HOST: 127.255.255.255 reaches several hosts at once; allowed is the address of one host",
        ),
        (["host.invalid"], "HOST: host.invalid has no IPv4 address"),
        (["192.0.2.1"], "192.0.2.1 is not this machine's own, and nobody is there to be asked"),
    ],
)
def test_bad_input_is_told_before_anything_is_sent(arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert said in done.stderr
    assert done.returncode == 2


def test_where_packets_to_an_address_go() -> None:
    assert way_to("127.0.0.1") == "own"
    assert way_to("127.255.255.255") == "many hosts"
    assert way_to("192.0.2.1") not in {"own", "many hosts"}


ANYTHING_CAN_BE_BOUND = """
echo 1 > /proc/sys/net/ipv4/ip_nonlocal_bind
ip link add a0 type veth peer name b0; ip link set a0 up; ip link set b0 up; ip address add 10.9.0.1/24 dev a0
exec "$0" -c 'from sojourn.pad.route import way_to; print([way_to("10.9.0." + end) for end in ("1", "7", "255")])'
"""


def test_what_can_be_bound_to_is_not_thereby_own() -> None:
    words = ["unshare", "--user", "--map-root-user", "--net", "sh", "-ec", ANYTHING_CAN_BE_BOUND, sys.executable]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    if done.returncode:
        pytest.skip(f"no network namespace to be had: {done.stderr.strip()}")
    assert done.stdout == "['own', 'one host', 'many hosts']\n"


def test_without_permission_the_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused(socket.socket):
        def __init__(self, *_: object) -> None:
            raise PermissionError

    monkeypatch.setattr("sojourn.pad.network.socket.socket", Refused)
    with pytest.raises(PadError, match=r"sudo sysctl -w net\.ipv4\.ping_group_range"):
        sockets.Sockets("127.0.0.1", None)


def test_a_session_on_loopback_measures_and_draws(echo: Echo, tmp_path: Path) -> None:
    data, plot = tmp_path / "d.json", tmp_path / "p.png"
    times = ("--duration", "6 s", "--before", "1 s")
    done = run("127.0.0.1", "--udp-echo", echo.port, *times, "--data", data, "--plot", plot)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "no padding was sent\n")
    told = json.loads(data.read_text(encoding="utf-8"))
    # Ten a second and no more; a busy machine skips some, and answers the last ones late.
    assert 10 < told["probes"] <= 61
    assert len(told["rtts"]) >= told["probes"] / 2
    assert told["hops"][0][:2] == [1, "127.0.0.1"]
    assert plot.stat().st_size > 0


def test_who_is_killed_sends_nothing_more(echo: Echo) -> None:
    words = [sys.executable, "-m", "sojourn", "pad", "127.0.0.1", "--udp-echo", str(echo.port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert wait_for(lambda: echo.answered > 5)
    process.kill()
    process.wait(PATIENCE_S)
    # Ten a second would be five more. What was on its way is answered before what this process asks.
    answered = echo.asked()
    time.sleep(0.5)
    assert echo.asked() == answered + 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_is_told_to_end_leaves_whole_files(echo: Echo, tmp_path: Path, number: signal.Signals) -> None:
    data = tmp_path / "d.json"
    words = [sys.executable, "-m", "sojourn", "pad", "127.0.0.1", "--udp-echo", str(echo.port), "--data", str(data)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert wait_for(lambda: echo.answered > 10)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (130, "error: interrupted\n")
    assert json.loads(data.read_text(encoding="utf-8"))["probes"] > 10
