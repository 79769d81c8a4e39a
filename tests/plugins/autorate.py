"""cake-autorate's rule as a plug-in: the same rates at the same times as the built-in controller with its defaults."""

import math

import sojourn

WINDOW, LATE_ANSWERS = 6, 3
FIRST_BASELINE = 0.1


class Way:
    def __init__(self, base_bps, packet_bytes):
        self.rate = self.base = float(base_bps)
        self.packet_bits = packet_bytes * 8.0
        self.window = [(0.0, False)] * WINDOW
        self.sent_bytes = 0
        self.load_percent = 0.0
        self.is_measured = False
        self.cut_ns = self.decayed_ns = 0

    def measure(self, sent_bytes, elapsed_ns):
        achieved = (sent_bytes - self.sent_bytes) * 8.0 / (elapsed_ns / 1e9)
        self.sent_bytes = sent_bytes
        self.load_percent = math.floor(100.0 * achieved / self.rate)
        self.is_measured = True

    def decide(self, above, place, now_ns):
        packet = self.packet_bits / self.rate
        most_raise, late, most_cut = (threshold + packet for threshold in (0.01, 0.03, 0.06))
        self.window[place] = (above, above > late)
        mean = sum(one for one, _ in self.window) / WINDOW
        recovered = now_ns > self.cut_ns + 300_000_000
        if sum(is_late for _, is_late in self.window) >= LATE_ANSWERS:
            if not recovered:
                return
            self.rate *= 0.99 - part_of(mean, late, most_cut) * (0.99 - 0.75)
            self.cut_ns = self.decayed_ns = now_ns
        elif self.load_percent > 75:
            if not (recovered and self.is_measured):
                return
            self.rate *= 1.0 + (1.0 - part_of(mean, most_raise, late)) * (1.04 - 1.0)
            self.is_measured, self.decayed_ns = False, now_ns
        elif now_ns > self.decayed_ns + 1_000_000_000:
            self.rate = max(self.rate * 0.99, self.base) if self.rate > self.base else min(self.rate * 1.01, self.base)
            self.decayed_ns = now_ns
        self.rate = min(max(self.rate, 0.25 * self.base), 4.0 * self.base)


def part_of(value, low, high):
    return min(max((value - low) / (high - low), 0.0), 1.0)


@sojourn.shaper("py-autorate", summary="cake-autorate in Python", sources=["lynxthecat/cake-autorate"])
class Autorate:
    """Cuts where answers are late, raises where the load is high, and else returns to the base rate."""

    def __init__(self, gateway):
        self.ways = [Way(*way) for way in zip(gateway.base_bps, gateway.packet_bytes, strict=True)]
        self.baselines = {}
        self.place = 0
        self.measured_ns = 0

    def step(self, now_ns, replies, sent_bytes):
        elapsed_ns = now_ns - self.measured_ns
        packets = sum(way.packet_bits / way.rate for way in self.ways)
        if elapsed_ns >= max(200_000_000, 10e9 * packets):
            self.measured_ns = now_ns
            for way, sent in zip(self.ways, sent_bytes, strict=True):
                way.measure(sent, elapsed_ns)
        for reply in replies:
            delay = reply.rtt_ns / 1e9 / 2.0
            baseline = self.baselines.get(reply.reflector, FIRST_BASELINE)
            part = 0.001 if delay >= baseline else 0.9
            baseline = part * delay + (1.0 - part) * baseline
            self.baselines[reply.reflector] = baseline
            for way in self.ways:
                way.decide(delay - baseline, self.place, reply.at_ns)
            self.place = (self.place + 1) % WINDOW
        return [way.rate for way in self.ways]

    def probe(self):
        return {"measured_s": self.measured_ns / 1e9}
