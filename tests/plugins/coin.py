"""A queue discipline that signals by lot, so that the share of signals is known: a plug-in for `marks.py`."""

from collections import deque

import sojourn


@sojourn.discipline("coin", summary="marks each packet with one probability, or drops it where it is not ECN-capable")
class Coin:
    """A first-in first-out queue without limit."""

    ecn = sojourn.flag(default=True, help="mark what is ECN-capable")
    part = sojourn.number(0.1, min=0, max=1, help="that probability")

    def __init__(self, link, random):
        self.waiting, self.random = deque(), random

    def enqueue(self, packet, now_ns):
        if self.random.uniform(0.0, 1.0) >= self.part:
            self.waiting.append(packet)
        elif self.ecn and packet.is_ecn_capable:
            packet.mark()
            self.waiting.append(packet)
        else:
            packet.drop()

    def dequeue(self, now_ns):
        return self.waiting.popleft() if self.waiting else None
