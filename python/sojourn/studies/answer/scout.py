"""scout as a plug-in: the specification in docs/controls/scout.md, written a second time."""

import math
from collections import deque

import sojourn
from sojourn.studies.answer.path import PathKnowledge, S, quantile

MS = 1_000_000
TRAIN_BYTES = 750
LONGEST_TRAIN_BYTES = 1250
SMALL_TRAIN = 4, 20
FIRST_TRAIN = 10
SHORTEST_TRAIN = 4
LONGEST_TRAIN = 64
TRAIN_NS = 1.0 * MS
NOISES = 4.0
PAUSE_PER_TRAIN = 200.0
GROWTH = 0.3
ENOUGH = 8
RATES = 3
MAX_OF_SENT = 0.8
DOUBLINGS = 10
FIRST_PAUSE_NS = 250.0 * MS
INITIAL_WINDOW = 10.0


@sojourn.control(
    "py-scout",
    summary="scout in Python",
    sources=["docs/controls/scout.md"],
    low_priority=True,
    short_segments=True,
)
class Scout(PathKnowledge):
    """Sends while nobody else has a backlog; asks by trains of packets whether anybody has."""

    target = sojourn.time("1 ms", min="10 us", max="100 ms", help="queueing delay aimed at, beside a packet's time")
    pause = sojourn.time("4 s", min="250 ms", max="60 s", help="longest pause between two probes")
    turn = sojourn.time("30 s", min="1 s", max="1 h", help="mean length of a turn")

    def __init__(self, path, random):
        self.random = random
        self.learn(path)
        self.initial_window = max(min(path.initial_window, INITIAL_WINDOW), 1.0)
        self.cwnd = 0.0
        self.ssthresh = math.inf
        self.pacing_rate_bps = None
        self.segment_bytes = None
        self.now = 0
        # Rest.
        self.pause_ns = 0.0
        self.clean = 0
        self.next = "small"
        self.doubled = self.lengthened = 0
        self.anew = False
        self.head_ns = 0.0
        # Go.
        self.score = self.luck = 0.0
        self.age = self.quiet = 0
        self.regaining = False
        self.turn_ends = 0
        self.recent = deque(maxlen=4)
        self.new_round()
        self.train("small", self.small_packets())

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

    def rest(self, pause_ns, state):
        self.state = state
        self.cwnd = 0.5
        self.segment_bytes = int(self.small)
        self.pacing_rate_bps = max(8.0 * self.mss * S / max(pause_ns, 1.0), 1.0)

    def drain(self):
        self.clean = 0
        self.next = "small"
        self.rest(self.next_pause(), "drain")

    def stay(self):
        self.clean = 0
        self.next = "small"
        self.rest(self.next_pause(), "knock")

    def knock_soon(self, then):
        self.rest(self.base_ns * self.random.uniform(0.5, 2.0), "knock")
        self.next = then

    def single(self, full):
        """Send one segment alone, after a short pause."""
        self.rest(0.5 * self.base_ns * self.random.uniform(0.0, 1.0), "knock")
        self.next = "unclear"
        self.segment_bytes = None if full else int(self.small)

    def next_pause(self):
        first = max(4.0 * (self.base_ns or 0), FIRST_PAUSE_NS)
        self.pause_ns = min(max(2.0 * self.pause_ns, first), float(self.pause))
        return self.pause_ns * self.random.uniform(0.5, 1.0)

    # What it is told.

    def on_ack(
        self, now_ns, newly_acked, flight, rtt_ns, srtt_ns, sent_ns, one_way_delay_ns, in_recovery, window_limited
    ):
        self.now = now_ns
        one_way_ns = self.stamp(one_way_delay_ns)
        delay_ns = self.delay_of(rtt_ns, one_way_ns)
        if self.state == "go":
            self.go_on(newly_acked, delay_ns, srtt_ns or 0, sent_ns, in_recovery, window_limited)
        elif self.state in ("small", "first", "full"):
            came_ns = now_ns if one_way_ns is None else sent_ns + one_way_ns
            self.on_train(newly_acked, delay_ns, sent_ns, came_ns)
        else:
            self.on_rest(newly_acked, flight, delay_ns)

    def on_train(self, newly_acked, delay_ns, sent_ns, came_ns):
        self.acked += newly_acked
        if delay_ns is not None and not self.lossy:
            self.samples.append((came_ns, sent_ns, delay_ns, self.acked, newly_acked))
        self.cwnd = max(float(self.packets - self.acked), 0.5)
        if self.acked >= self.packets:
            self.judge_train()

    def on_rest(self, newly_acked, flight, delay_ns):
        if self.state == "repair":
            if self.cwnd < self.ssthresh:
                self.cwnd += newly_acked
        elif self.state == "drain":
            if flight - newly_acked < 0.5:
                self.state = "knock"
        elif newly_acked > 0:
            full = self.segment_bytes is None
            if delay_ns is not None and self.is_unclear():
                self.singles[full].append(delay_ns)
                self.settle()
            if self.next == "small":
                self.train("small", self.small_packets())
            elif self.next == "full":
                self.train("full", self.full_packets())
            else:
                self.go_on_unclear(full)

    def go_on_unclear(self, full):
        if not self.are_singles_enough():
            self.single(not full)
        elif self.anew or len(self.rates) < RATES:
            segments = FIRST_TRAIN << self.doubled
            self.train("first", min(segments, LONGEST_TRAIN))
            if self.doubled > 0:
                rate = segments * self.wire_bits * S / max(float(self.base_ns), 1.0)
                self.pacing_rate_bps = self.payload_rate(rate)
        else:
            self.train("full", self.full_packets())

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

    # Trains.

    def small_packets(self):
        packet = int(self.small + self.header)
        shortest, longest = SMALL_TRAIN
        usual = min(max(TRAIN_BYTES // packet, shortest), longest)
        return max(usual, min(LONGEST_TRAIN_BYTES // packet, longest)) if self.longer else usual

    def full_packets(self):
        length_ns = max(TRAIN_NS, min(NOISES * self.noise_ns, self.pause / PAUSE_PER_TRAIN))
        packets = int(min(self.capacity * length_ns / S / self.wire_bits, float(LONGEST_TRAIN)))
        packets = max(packets - packets % 2, SHORTEST_TRAIN) << self.lengthened
        return min(packets * (1 + self.clean), LONGEST_TRAIN)

    def judge_train(self):
        at_once = max((one[4] for one in self.samples), default=1)
        self.counts.append(min(at_once, LONGEST_TRAIN // 2))
        if not self.samples or (self.lossy and self.state != "first"):
            self.stay()
        elif self.state == "small":
            self.judge_small()
        elif self.state == "first":
            self.judge_first()
        else:
            self.judge_full()

    def judge_small(self):
        self.estimate()
        self.head_ns = self.small_head()
        if self.head_ns > self.bound_ns():
            self.stay()
        elif self.is_clear():
            self.train("full", self.full_packets())
        elif self.is_open():
            self.knock_soon("small")
        else:
            self.single(full=True)

    def small_head(self):
        if len(self.samples) > 1:
            return self.head(0.0)
        # Its last segment waited for those before it, as in others of its kind.
        delay_ns = self.samples[0][2]
        self.lone.append((self.packets, delay_ns))
        earliest_ns = min(delay_ns for packets, delay_ns in self.lone if packets == self.packets)
        return max(float(delay_ns - earliest_ns) - self.noise_ns, 0.0)

    def head(self, own):
        return self.waited(min(one[2] for one in self.samples[:2]), own)

    def estimate(self):
        """Capacity and noise from the gaps between the acknowledgements of a small train."""
        first, last = self.samples[0], self.samples[-1]
        span, sent_span = last[0] - first[0], last[1] - first[1]
        gaps = sorted(
            (after[0] - before[0]) / after[4]
            for before, after in zip(self.samples, self.samples[1:], strict=False)
            if after[4] > 0
        )
        segments = last[3] - first[3]
        too_few = not gaps or (len(gaps) < 3 and segments < 4)
        self.longer ^= too_few
        if too_few or 2 * sent_span > span:
            return
        steady = gaps[len(gaps) // 4] * segments
        self.trains.append((max(span - steady, 0.0), gaps))
        self.noise_ns = max(rest for rest, _ in self.trains)
        self.by_trains = self.told_by_trains()
        self.settle()

    def judge_first(self):
        if self.on_first():
            self.anew = False
        elif self.doubled < DOUBLINGS and not self.lossy:
            self.doubled += 1
        else:
            self.doubled = 0
            self.stay()
            return
        self.knock_soon("unclear")

    def on_first(self):
        """Tell whether the train shows the rate of the link, and take that."""
        first, last = self.samples[0], self.samples[-1]
        span, sent_span = last[0] - first[0], last[1] - first[1]
        if span <= 0 or last[3] <= first[3] or sent_span >= MAX_OF_SENT * span:
            return False
        if self.packets < LONGEST_TRAIN and span < NOISES * self.noise_ns:
            return False
        self.rates.append((last[3] - first[3]) * self.wire_bits * S / span)
        self.by_rate = quantile(self.rates, 1, 2)
        self.settle()
        return True

    def judge_full(self):
        if len(self.samples) < 2 and self.packets < LONGEST_TRAIN:
            self.lengthened += 1
            self.knock_soon("full")
            return
        if len(self.samples) >= ENOUGH:
            self.lengthened = max(self.lengthened - 1, 0)
        own = self.own_ns()
        last = self.samples[-max(1, len(self.samples) // 4) :]
        tail = self.waited(sum(one[2] for one in last) / len(last), own)
        head = self.head(own) if len(self.samples) > 1 else self.head_ns
        late = tail - head > GROWTH * (self.packets * self.packet_ns())
        if head > self.bound_ns() or late:
            self.anew = late and self.by_rate >= self.least()
            self.stay()
        elif self.clean > 0:
            self.go()
        else:
            self.clean = 1
            self.knock_soon("full")

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
        self.round_lost = False

    def round_waited(self):
        return self.round_delay / self.round_samples

    def pace(self, srtt_ns):
        rate = min(1.05 * self.capacity, 1.25 * self.cwnd * self.wire_bits * S / max(float(srtt_ns), 1.0))
        self.pacing_rate_bps = self.payload_rate(rate)

    def go_on(self, acked, delay_ns, srtt_ns, sent_ns, in_recovery, limited):
        self.round_acked += acked
        if delay_ns is not None:
            waited = self.waited(delay_ns, self.own_ns())
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
            if waited > self.bound_ns():
                self.cwnd = max(self.cwnd * self.base_ns / (self.base_ns + waited), 1.0)
                self.ssthresh = self.cwnd
                self.regaining = True
                self.quiet = 0
            elif limited:
                self.cwnd = min(self.cwnd + (0.25 * acked if self.regaining else float(acked)), self.ssthresh)
        elif waited > self.delay_ns + self.noise_ns:
            over = (waited - self.delay_ns - self.noise_ns) / (self.base_ns + waited)
            self.cwnd = max(self.cwnd - over * min(float(acked), self.cwnd), 1.0)
            self.ssthresh = self.cwnd
        elif limited:
            self.cwnd += (1.0 - waited / (self.delay_ns + self.noise_ns)) * acked / self.cwnd

    def judge_round(self, in_recovery):
        waited = self.round_waited()
        rate = self.round_acked * self.wire_bits * S / (self.now - self.round_began)
        evidence = min(max(waited / (self.delay_ns + self.noise_ns) - 1.5, -1.0), 2.0)
        if waited > 0.5 * self.delay_ns or self.round_lost:
            evidence = max(evidence, min(max((0.8 - rate / self.capacity) / 0.2, -1.0), 2.0))
        self.score = max(self.score + evidence, 0.0)
        if rate > self.by_rate and self.round_acked >= 16:
            self.by_rate = min(rate, 1.05 * self.by_rate)
            self.settle()
        if self.score <= 0.0:
            self.age += 1
            if self.age >= 20:
                self.pause_ns = 0.0
        self.quiet = self.quiet + 1 if waited < 0.5 * self.bound_ns() else 0
        if self.quiet >= 4:
            self.ssthresh = min(max(self.ssthresh, 1.25 * self.cwnd), self.full_window())
        self.delay_ns = min(1.01 * self.delay_ns, self.longest_delay_ns())
        self.settle()
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
        waited = self.round_waited() if self.round_samples else self.delay_ns
        self.ssthresh = max(min(self.ssthresh, self.cwnd * self.base_ns / (self.base_ns + waited)), 1.0)
        self.cwnd = max(self.cwnd * (0.7 if waited <= 1.5 * self.delay_ns else 0.5), 1.0)
        self.delay_ns = max(min(self.delay_ns, 0.5 * waited), self.packet_ns(), 0.1 * MS)
        self.regaining = self.round_lost = True
        self.score += 4.0 if self.age < 20 else 2.0
        self.pace(self.base_ns)

    def probe(self):
        return {
            "capacity_mbps": self.capacity / 1e6,
            "noise_ms": self.noise_ns / 1e6,
            "target_ms": self.delay_ns / 1e6,
            "going": 1.0 if self.state == "go" else 0.0,
            "score": self.score,
        }
