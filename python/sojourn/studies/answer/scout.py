"""scout as a plug-in: the specification in docs/controls/scout.md, written a second time."""

import math
from collections import deque

import sojourn

MS = 1_000_000
S = 1_000_000_000
SMALL_BYTES = 20
TRAIN_BYTES = 750
SMALL_TRAIN = 4, 20
FIRST_TRAIN = 10
SHORTEST_TRAIN = 4
LONGEST_TRAIN = 64
TRAIN_NS = 1.0 * MS
NOISES = 4.0
GROWTH = 0.3
ESTIMATES = 5
BASE_MINUTES = 10
FIRST_PAUSE_NS = 250.0 * MS
INITIAL_WINDOW = 10.0


@sojourn.control(
    "py-scout",
    summary="scout in Python",
    sources=["docs/controls/scout.md"],
    low_priority=True,
    short_segments=True,
)
class Scout:
    """Sends while nobody else has a backlog; asks by trains of packets whether anybody has."""

    target = sojourn.time("1 ms", min="10 us", max="100 ms", help="queueing delay aimed at, beside a packet's time")
    pause = sojourn.time("4 s", min="250 ms", max="60 s", help="longest pause between two probes")
    turn = sojourn.time("30 s", min="1 s", max="1 h", help="mean length of a turn")

    def __init__(self, path, random):
        self.random = random
        self.mss = float(path.mss_bytes)
        self.header = float(path.header_bytes)
        self.small = float(min(max(SMALL_BYTES, path.smallest_packet_bytes - path.header_bytes), path.mss_bytes))
        shortest, longest = SMALL_TRAIN
        self.small_train = min(max(TRAIN_BYTES // int(self.small + self.header), shortest), longest)
        self.wire_bits = 8.0 * (self.mss + self.header)
        self.initial_window = max(min(path.initial_window, INITIAL_WINDOW), 1.0)
        self.cwnd = 0.0
        self.ssthresh = math.inf
        self.pacing_rate_bps = None
        self.segment_bytes = None
        self.now = 0
        # What is known of the path.
        self.minima = deque(maxlen=BASE_MINUTES)
        self.minute = None
        self.base_ns = None
        self.estimates = deque(maxlen=ESTIMATES)
        self.by_trains = self.by_rate = self.capacity = 0.0
        self.noise_ns = None
        self.delay_ns = float(self.target)
        # Rest.
        self.pause_ns = 0.0
        self.clean = 0
        self.head_ns = 0.0
        # Go.
        self.score = self.luck = 0.0
        self.age = self.quiet = 0
        self.regaining = False
        self.turn_ends = 0
        self.recent = deque(maxlen=4)
        self.new_round()
        self.train("small", self.small_train)

    @property
    def window(self):
        return self.cwnd

    @window.setter
    def window(self, segments):
        """The transport sets it, after a needless reduction or time without data."""
        if self.state == "go":
            self.cwnd = segments
        elif self.state == "repair":
            self.drain()

    # What the sender is to do.

    def train(self, kind, packets):
        self.state = kind
        self.packets = packets
        self.acked = 0
        self.lossy = False
        self.samples = []
        self.cwnd = float(packets)
        self.segment_bytes = int(self.small) if kind == "small" else None
        self.pacing_rate_bps = self.payload_rate(self.capacity) if kind == "full" else None

    def payload_rate(self, rate):
        return max(rate * self.mss / (self.mss + self.header), 1.0)

    def rest(self, pause_ns, state):
        self.state = state
        self.cwnd = 0.5
        self.segment_bytes = int(self.small)
        self.pacing_rate_bps = max(8.0 * self.mss * S / max(pause_ns, 1.0), 1.0)

    def drain(self):
        self.clean = 0
        self.rest(self.next_pause(), "drain")

    def stay(self):
        self.clean = 0
        self.rest(self.next_pause(), "knock")

    def next_pause(self):
        first = max(4.0 * (self.base_ns or 0), FIRST_PAUSE_NS)
        self.pause_ns = min(max(2.0 * self.pause_ns, first), float(self.pause))
        return self.pause_ns * self.random.uniform(0.5, 1.0)

    # What it is told.

    def on_ack(self, now_ns, newly_acked, flight, rtt_ns, srtt_ns, sent_ns, in_recovery, window_limited):
        self.now = now_ns
        if rtt_ns:
            self.hear_base(rtt_ns)
        else:
            rtt_ns = None
        if self.state == "go":
            self.go_on(newly_acked, rtt_ns, srtt_ns or 0, sent_ns, in_recovery, window_limited)
        elif self.state in ("small", "first", "full"):
            self.on_train(newly_acked, rtt_ns, sent_ns)
        else:
            self.on_rest(newly_acked, flight)

    def on_train(self, newly_acked, rtt_ns, sent_ns):
        self.acked += newly_acked
        if rtt_ns is not None:
            self.samples.append((self.now, sent_ns, rtt_ns, self.acked, newly_acked))
        self.cwnd = max(float(self.packets - self.acked), 0.5)
        if self.acked >= self.packets:
            self.judge_train()

    def on_rest(self, newly_acked, flight):
        if self.state == "repair":
            if self.cwnd < self.ssthresh:
                self.cwnd += newly_acked
        elif self.state == "drain":
            if flight - newly_acked < 0.5:
                self.state = "knock"
        elif newly_acked > 0:
            if self.clean > 0:
                self.train("full", self.full_packets())
            else:
                self.train("small", self.small_train)

    def on_congestion(self, now_ns, signal, flight):
        self.now = now_ns
        if signal == "timeout" or self.state in ("drain", "knock"):
            self.ssthresh = max(flight / 2.0, 2.0)
            self.cwnd = 1.0 if signal == "timeout" else self.ssthresh
            self.repair()
        elif self.state == "go":
            self.lose()
        elif self.state != "repair":
            self.lossy = True
            self.cwnd = max(self.cwnd, 2.0)

    def repair(self):
        self.state = "repair"
        self.clean = 0
        self.segment_bytes = int(self.small)
        self.pacing_rate_bps = None

    def on_recovered(self, recovered):
        if self.state == "repair":
            self.drain()

    def on_start(self, start):
        """A pause is part of the plan."""

    # The path.

    def hear_base(self, rtt_ns):
        minute = self.now // (60 * S)
        if self.minute is None or minute > self.minute:
            self.minima.append(rtt_ns)
            self.minute = minute
        self.minima[-1] = min(self.minima[-1], rtt_ns)
        self.base_ns = min(self.minima)

    def packet_ns(self):
        return self.wire_bits * S / self.capacity if self.capacity > 0.0 else 0.0

    def longest_delay_ns(self):
        return float(self.target) + self.packet_ns()

    def noise(self):
        return self.noise_ns or 0.0

    def waited(self, rtt_ns, own):
        """Return the queueing delay of a segment, whose own time on the link is longer than a small one's by `own`."""
        return max(float(rtt_ns - self.base_ns) - own - self.noise(), 0.0)

    def own_ns(self):
        return self.packet_ns() * (self.mss - self.small) / (self.mss + self.header)

    def full_window(self):
        return max(self.capacity * self.base_ns / S / self.wire_bits, 2.0)

    # Trains.

    def full_packets(self):
        length_ns = max(TRAIN_NS, NOISES * self.noise())
        packets = int(min(self.capacity * length_ns / S / self.wire_bits, float(LONGEST_TRAIN)))
        packets -= packets % 2
        return min(max(packets, SHORTEST_TRAIN) * (1 + self.clean), LONGEST_TRAIN)

    def judge_train(self):
        # One that covers fewer segments than the one before waited for the receiver's timer.
        if len(self.samples) > 1 and self.samples[-1][4] < self.samples[-2][4]:
            self.samples.pop()
        if self.lossy or not self.samples:
            self.stay()
        elif self.state == "small":
            self.judge_small()
        elif self.state == "first":
            self.judge_first()
        else:
            self.judge_full()

    def judge_small(self):
        self.estimate()
        self.head_ns = self.waited(min(one[2] for one in self.samples[:2]), 0.0)
        if self.capacity <= 0.0:
            self.train("first", FIRST_TRAIN)
        elif self.head_ns > self.bound_ns():
            self.stay()
        else:
            self.train("full", self.full_packets())

    def bound_ns(self):
        return 0.5 * self.delay_ns + self.noise()

    def estimate(self):
        """Capacity and noise from the gaps between the acknowledgements of a small train."""
        first, last = self.samples[0], self.samples[-1]
        span, sent_span = last[0] - first[0], last[1] - first[1]
        gaps = sorted(
            (after[0] - before[0]) / after[4]
            for before, after in zip(self.samples, self.samples[1:], strict=False)
            if after[4] > 0
        )
        if len(gaps) < 3 or 2 * sent_span > span:
            return
        gap = gaps[len(gaps) // 4]
        steady = gap * (last[3] - first[3])
        rest = max(span - steady, 0.0)
        self.noise_ns = rest if self.noise_ns is None else self.noise_ns + (rest - self.noise_ns) / 8.0
        if gap <= 0.0 or steady < rest:
            return
        self.estimates.append(8.0 * (self.small + self.header) * S / gap)
        self.by_trains = sorted(self.estimates)[len(self.estimates) // 2]
        self.settle()

    def settle(self):
        """Full segments may show more than small ones, whose headers weigh more on some links; but not much more."""
        if self.by_trains > 0.0 and not self.by_trains <= self.by_rate <= 1.5 * self.by_trains:
            self.by_rate = self.by_trains
        was_known = self.capacity > 0.0
        self.capacity = self.by_rate
        self.delay_ns = min(self.delay_ns, self.longest_delay_ns()) if was_known else self.longest_delay_ns()

    def judge_first(self):
        first, last = self.samples[0], self.samples[-1]
        if last[0] > first[0] and last[3] > first[3]:
            self.by_rate = (last[3] - first[3]) * self.wire_bits * S / (last[0] - first[0])
            self.settle()
        self.stay()

    def judge_full(self):
        own = self.own_ns()
        last = self.samples[-max(1, len(self.samples) // 4) :]
        tail = self.waited(sum(one[2] for one in last) / len(last), own)
        head = self.head_ns
        if len(self.samples) > 1:
            head = self.waited(min(one[2] for one in self.samples[:2]), own)
        length_ns = self.packets * self.packet_ns()
        if head > self.bound_ns() or tail - head > GROWTH * length_ns:
            self.stay()
        elif self.clean > 0:
            self.go()
        else:
            self.clean = 1
            self.rest(self.base_ns * self.random.uniform(0.5, 2.0), "knock")

    # Go.

    def go(self):
        self.state = "go"
        self.clean = 0
        self.segment_bytes = None
        self.cwnd = self.initial_window
        self.ssthresh = self.full_window()
        self.score = 0.0
        self.luck = self.random.uniform(2.0, 18.0)
        self.turn_ends = self.now + self.random.uniform(0.5, 1.5) * self.turn
        self.age = 0
        self.quiet = 4
        self.regaining = False
        self.recent.clear()
        self.new_round()
        self.pace(self.base_ns)

    def new_round(self):
        self.round_began = self.now
        self.round_acked = 0
        self.round_delay = 0.0
        self.round_samples = 0

    def pace(self, srtt_ns):
        rate = min(1.05 * self.capacity, 1.25 * self.cwnd * self.wire_bits * S / max(float(srtt_ns), 1.0))
        self.pacing_rate_bps = self.payload_rate(rate)

    def go_on(self, acked, rtt_ns, srtt_ns, sent_ns, in_recovery, limited):
        self.round_acked += acked
        if rtt_ns is not None:
            waited = self.waited(rtt_ns, self.own_ns())
            self.round_delay += waited
            self.round_samples += 1
            self.recent.append(waited)
        if sent_ns >= self.round_began and self.round_samples > 0 and self.now > self.round_began:
            self.judge_round(in_recovery)
            if self.state != "go":
                return
        if self.recent and not in_recovery and acked > 0:
            self.adjust(acked, limited)
        self.pace(srtt_ns)

    def adjust(self, acked, limited):
        waited = min(self.recent)
        if self.cwnd < self.ssthresh:
            if waited > 0.5 * self.delay_ns:
                self.cwnd = max(self.cwnd * self.base_ns / (self.base_ns + waited), 1.0)
                self.ssthresh = self.cwnd
                self.regaining = True
                self.quiet = 0
            elif limited:
                self.cwnd = min(self.cwnd + (0.25 * acked if self.regaining else float(acked)), self.ssthresh)
        elif waited > self.delay_ns:
            over = (waited - self.delay_ns) / (self.base_ns + waited)
            self.cwnd = max(self.cwnd - over * min(float(acked), self.cwnd), 1.0)
            self.ssthresh = self.cwnd
        elif limited:
            self.cwnd += (1.0 - waited / self.delay_ns) * acked / self.cwnd

    def judge_round(self, in_recovery):
        waited = self.round_delay / self.round_samples
        rate = self.round_acked * self.wire_bits * S / (self.now - self.round_began)
        evidence = min(max(waited / self.delay_ns - 1.5, -1.0), 2.0)
        if waited > 0.5 * self.delay_ns:
            evidence = max(evidence, min(max((0.8 - rate / self.capacity) / 0.2, -1.0), 2.0))
        self.score = max(self.score + evidence, 0.0)
        if rate > self.by_rate and self.round_acked >= 16:
            self.by_rate = min(rate, 1.05 * self.by_rate)
            self.settle()
        if self.score <= 0.0:
            self.age += 1
            if self.age >= 20:
                self.pause_ns = 0.0
        self.quiet = self.quiet + 1 if waited < 0.25 * self.delay_ns else 0
        if self.quiet >= 4:
            self.ssthresh = min(max(self.ssthresh, 1.25 * self.cwnd), self.full_window())
        self.delay_ns = min(1.01 * self.delay_ns, self.longest_delay_ns())
        self.new_round()
        if self.now >= self.turn_ends:
            self.pause_ns = FIRST_PAUSE_NS * 2.0
            self.leave(in_recovery)
        elif self.score >= self.luck + min(0.25 * self.age, 8.0):
            self.leave(in_recovery)

    def leave(self, in_recovery):
        if in_recovery:
            self.repair()
        else:
            self.drain()

    def lose(self):
        waited = self.round_delay / self.round_samples if self.round_samples else self.delay_ns
        self.ssthresh = max(min(self.ssthresh, self.cwnd * self.base_ns / (self.base_ns + waited)), 1.0)
        self.cwnd = max(self.cwnd * (0.7 if waited <= 1.5 * self.delay_ns else 0.5), 1.0)
        self.delay_ns = max(min(self.delay_ns, 0.5 * waited), self.packet_ns(), 0.1 * MS)
        self.regaining = True
        self.score += 4.0 if self.age < 20 else 2.0
        self.pace(self.base_ns)

    def probe(self):
        return {
            "capacity_mbps": self.capacity / 1e6,
            "noise_ms": self.noise() / 1e6,
            "target_ms": self.delay_ns / 1e6,
            "going": 1.0 if self.state == "go" else 0.0,
            "score": self.score,
        }


# Ablations: scout with one of its parts missing. Parts that a parameter switches off are not here: turns do not end
# with `turn = "1 h"`, and pauses do not grow with `pause = "250 ms"`.


def without(part, summary):
    return sojourn.control(
        f"scout-without-{part}",
        summary=summary,
        sources=["docs/controls/scout.md"],
        low_priority=True,
        short_segments=True,
    )


@without("small-trains", "capacity from full segments alone, and no noise")
class WithoutSmallTrains(Scout):
    def estimate(self):
        """Small trains say nothing."""


@without("full-trains", "a turn after a small train that found no queue")
class WithoutFullTrains(Scout):
    def judge_small(self):
        self.estimate()
        self.head_ns = self.waited(min(one[2] for one in self.samples[:2]), 0.0)
        if self.capacity <= 0.0:
            self.train("first", FIRST_TRAIN)
        elif self.head_ns > self.bound_ns():
            self.stay()
        else:
            self.go()


@without("second-train", "a turn after one full train")
class WithoutSecondTrain(Scout):
    def judge_full(self):
        self.clean = 1
        super().judge_full()


@without("random-patience", "every turn has the mean of the random patience")
class WithoutRandomPatience(Scout):
    def go(self):
        super().go()
        self.luck = 10.0


@without("age", "an old turn is as impatient as a new one, and its pauses do not begin anew")
class WithoutAge(Scout):
    def judge_round(self, in_recovery):
        self.age = 0
        super().judge_round(in_recovery)


@without("patience", "a turn ends at the first evidence")
class WithoutPatience(WithoutAge):
    def go(self):
        super().go()
        self.luck = 0.5


@without("random-pauses", "every pause has the mean of the random one")
class WithoutRandomPauses(Scout):
    def next_pause(self):
        super().next_pause()
        return self.pause_ns * 0.75


@without("noise", "every delay is held for a queue's")
class WithoutNoise(Scout):
    def noise(self):
        return 0.0


@without("short-target", "losses at short queues do not shorten the target")
class WithoutShortTarget(Scout):
    def lose(self):
        delay_ns = self.delay_ns
        super().lose()
        self.delay_ns = delay_ns
