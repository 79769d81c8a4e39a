"""CoDel (RFC 8289) as a plug-in: the same decisions as the built-in discipline's preset `rfc`."""

import math
from collections import deque

import sojourn


@sojourn.discipline("py-codel", summary="RFC 8289 in Python", sources=["RFC 8289"])
class CoDel:
    """Drops from the head, ever faster, while every packet waits longer than a target."""

    limit = sojourn.integer(1000, min=1, help="packets that may wait")
    target = sojourn.time("5 ms", help="acceptable standing queue (TARGET)")
    interval = sojourn.time("100 ms", help="about the longest usual round trip (INTERVAL)")

    def __init__(self, link):
        self.packet_bytes = link.packet_bytes
        self.waiting = deque()
        self.bytes = 0
        self.first_above_ns = None
        self.next_ns = self.count = self.last_count = 0
        self.dropping = False

    def enqueue(self, packet, now_ns):
        if len(self.waiting) >= self.limit:
            packet.drop("overflow")
        else:
            self.waiting.append(packet)
            self.bytes += packet.bytes

    def dequeue(self, now_ns):
        packet, above = self.dodequeue(now_ns)
        if self.dropping:
            self.dropping = above
            while self.dropping and now_ns >= self.next_ns:
                self.count += 1
                packet.drop()
                packet, self.dropping = self.dodequeue(now_ns)
                if self.dropping:
                    self.next_ns = self.control_law(self.next_ns)
        elif above:
            packet.drop()
            packet, _ = self.dodequeue(now_ns)
            self.dropping = True
            delta = self.count - self.last_count
            recent = now_ns - self.next_ns < 16 * self.interval
            self.count = delta if delta > 1 and recent else 1
            self.last_count = self.count
            self.next_ns = self.control_law(now_ns)
        return packet

    def dodequeue(self, now_ns):
        packet = self.waiting.popleft() if self.waiting else None
        if packet is not None:
            self.bytes -= packet.bytes
        if packet is None or now_ns - packet.enqueued_ns < self.target or self.bytes <= self.packet_bytes:
            self.first_above_ns = None
            return packet, False
        if self.first_above_ns is None:
            self.first_above_ns = now_ns + self.interval
        return packet, now_ns >= self.first_above_ns

    def control_law(self, from_ns):
        return from_ns + int(self.interval / math.sqrt(self.count) + 0.5)
