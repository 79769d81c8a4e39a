"""What the hosts of a transfer kept from being sent: worked captures of windows, closed windows and idle senders."""

from pathlib import Path

import numpy as np
import pytest
from tests.captures import MSS, Frame, pcap, tcp

from sojourn.detect.captured import read_streams
from sojourn.detect.limits import of_senders
from sojourn.detect.log import FlowLog
from sojourn.detect.passive import passive
from sojourn.detect.plan import FULL, LARGE
from sojourn.detect.stored import load_model
from sojourn.detect.streams import Stream

MS = 10**6
RTT_MS = 100
SYN, SYN_ACK = 0x02, 0x12


def handshake(shift: int | None) -> list[Frame]:
    """Return the handshake as the receiver sees it, the sender of the data having begun."""
    first = tcp(seq=0, ack=0, flags=SYN, stamps=(0, 0), shift=shift)
    answer = tcp(seq=0, ack=1, flags=SYN_ACK, stamps=(0, 0), shift=shift, back=True)
    return [(0, first, len(first)), (1000, answer, len(answer))]


def rounds(
    count: int,
    packets: int,
    window: int,
    *,
    shift: int | None = 0,
    at_sender: bool = False,
    rtt_ms: int = RTT_MS,
    every_ms: int | None = None,
) -> list[Frame]:
    """Return rounds of so many packets, 0.1 ms apart, each once all of the one before is acknowledged, or later."""
    frames = handshake(shift)
    for number in range(count):
        # The sender's clock; a packet comes half a round trip later, and so does its acknowledgement.
        sent_ms = RTT_MS + number * (every_ms or rtt_ms)
        for place in range(packets):
            seq = 1 + (number * packets + place) * MSS
            sent_ns = sent_ms * MS + place * 100_000
            came_ns = sent_ns + rtt_ms // 2 * MS
            # The echo is of the last acknowledgement that the sender had.
            known_ms = sent_ms - (every_ms or rtt_ms) + rtt_ms // 2 + 2 if number else 0
            data = tcp(seq=seq, payload=MSS, stamps=(sent_ns // MS, known_ms))
            ack = tcp(ack=seq + MSS, stamps=(came_ns // MS, sent_ns // MS), window=window, back=True)
            back_ns = came_ns + (rtt_ms // 2 * MS if at_sender else 1000)
            frames += [(sent_ns if at_sender else came_ns, data, len(data) + MSS), (back_ns, ack, len(ack))]
    return sorted(frames, key=lambda one: one[0])


def largest(frames: list[Frame], folder: Path) -> Stream:
    file = folder / "some.pcap"
    file.write_bytes(pcap(frames))
    return read_streams(file)[0][0]


@pytest.mark.parametrize("at_sender", [True, False])
def test_a_window_that_is_used_up_limits_wherever_the_capture_is(tmp_path: Path, at_sender: bool) -> None:
    """20 packets of 1448 B are 28,960 B: the window of as many bytes is used up by the last of each round."""
    limited = largest(rounds(40, 20, 20 * MSS, at_sender=at_sender), tmp_path).limits
    assert limited.window_bytes == 20 * MSS
    # The last three of twenty leave room for two segments or fewer.
    assert limited.window_share == pytest.approx(3 / 20, abs=0.02)
    roomy = largest(rounds(40, 20, 40 * MSS, at_sender=at_sender), tmp_path).limits
    assert roomy.window_share == 0.0


def test_the_window_is_scaled_by_what_its_own_end_said(tmp_path: Path) -> None:
    limits = largest(rounds(40, 20, 20 * MSS >> 5, shift=5), tmp_path).limits
    assert limits.window_bytes == (20 * MSS >> 5) << 5
    assert limits.window_share == pytest.approx(3 / 20, abs=0.02)
    cut = [frame for frame in rounds(40, 20, 20 * MSS) if frame[0] > 2000]
    assert largest(cut, tmp_path).limits.window_share is None


def sliding(window_packets: int, seconds: float = 4.0) -> list[Frame]:
    """Return a transfer whose every packet waits for the acknowledgement of the one a window before."""
    frames = handshake(0)
    gap_ns = RTT_MS * MS // window_packets
    for number in range(int(seconds * 1e9 / gap_ns)):
        sent_ns = RTT_MS * MS + number * gap_ns
        came_ns = sent_ns + RTT_MS // 2 * MS
        seq = 1 + number * MSS
        known_ms = (sent_ns - RTT_MS // 2 * MS) // MS if number >= window_packets else 0
        data = tcp(seq=seq, payload=MSS, stamps=(sent_ns // MS, known_ms))
        ack = tcp(
            ack=seq + MSS, stamps=(came_ns // MS, sent_ns // MS), window=min(window_packets * MSS, 65_535), back=True
        )
        frames += [(came_ns, data, len(data) + MSS), (came_ns + 1000, ack, len(ack))]
    return sorted(frames, key=lambda one: one[0])


def test_where_nothing_waits_the_sentence_names_what_limited_the_transfer(tmp_path: Path) -> None:
    file = tmp_path / "some.pcap"
    file.write_bytes(pcap(sliding(40)))
    streams, notes = read_streams(file)
    found = passive(streams, load_model(), notes)
    assert found.verdict.endswith("the receiver's window limited the transfer")
    held = "The receiver's window held the sender back: 100% of the packets used all of it, 57.9 kB"
    assert held in found.evidence[0]


def test_a_closed_window_and_an_idle_sender_are_said(tmp_path: Path) -> None:
    """Rounds of 2 ms, each 500 ms behind the one before: nothing is on its way for the rest."""
    frames = rounds(20, 20, 40 * MSS, rtt_ms=20, every_ms=500)
    idle = largest(frames, tmp_path).limits
    assert idle.idle_share == pytest.approx(498 / 500, abs=0.003)
    assert any("For 100% of the time nothing was on its way" in sentence for sentence in idle.sentences())
    last = frames[-1][0]
    closing = tcp(ack=1 + 400 * MSS, stamps=(last // MS + 1, 0), window=0, back=True)
    closed = largest([*frames, (last + MS, closing, len(closing)), (last + 2 * MS, closing, len(closing))], tmp_path)
    assert closed.limits.closed == 1
    assert any("closed its window once" in sentence for sentence in closed.limits.sentences())


def test_a_window_that_nobody_closed_and_a_busy_sender_say_nothing(tmp_path: Path) -> None:
    busy = largest(rounds(200, 20, 40 * MSS, rtt_ms=10), tmp_path).limits
    assert (busy.closed, busy.sentences()) == (0, [])


def _flow(sent_s: list[float], size: int, gap_s: float) -> FlowLog:
    sent = np.array(sent_s)
    came = sent[0] + 0.01 + gap_s * np.arange(len(sent))
    return FlowLog(sent, came, np.full(len(sent), size), np.zeros(len(sent), dtype=np.bool_))


def test_a_host_that_sends_less_than_planned_is_named() -> None:
    """1,000 packets of 1,500 B in 2 s are 6 Mbit/s; 6 packets each ms are 12 Mbit/s."""
    sent = _flow(list(np.linspace(0, 2, 1000)), 1500, 0.002)
    (said,) = of_senders({}, {LARGE: sent}, 12e6)
    assert said.startswith("The sending host sent 6 of the 12 Mbit/s that were planned")
    assert of_senders({}, {LARGE: sent}, 6e6) == []
    slow = _flow([0.001 * place for place in range(6)], 1500, 0.001)
    (said,) = of_senders({FULL: slow}, {}, 0.0)
    assert said.startswith("Trains left their host at 12 Mbit/s, no faster than they arrived")
    assert of_senders({FULL: _flow([0.0] * 6, 1500, 0.001)}, {}, 0.0) == []
