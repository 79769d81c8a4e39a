"""The built-in kind `transfers` with fixed sizes as a plug-in: a Poisson process, each over a fresh connection."""

import heapq
from collections import deque

import sojourn

NANOSECONDS = 1_000_000_000


@sojourn.traffic("py-transfers", summary="transfers that arrive as a Poisson process, each over a fresh connection")
class Transfers:
    interval = sojourn.time("1 s", min="1 us", help="mean time between two arrivals")
    size_bytes = sojourn.integer(100_000, min=1, help="payload of a transfer")
    connections = sojourn.integer(1, min=1, max=100, help="how many connections a flow may have at once")

    def __init__(self, flow, arrivals):
        self.flow = flow
        self.random = arrivals
        self.waiting = deque()
        self.free = list(range(flow.connections))

    def start(self, now_ns):
        self.timer_ns = now_ns + int(self.random.exponential(self.interval / NANOSECONDS) * NANOSECONDS + 0.5)

    def on_timer(self, now_ns):
        self.waiting.append(now_ns)
        self.start(now_ns)
        self.begin()

    def on_arrived(self, connection):
        heapq.heappush(self.free, connection)
        self.begin()

    def begin(self):
        if self.free and self.waiting:
            self.flow.connect(self.size_bytes, heapq.heappop(self.free), since_ns=self.waiting.popleft())
