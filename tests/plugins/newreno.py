"""NewReno (RFC 5681) as a plug-in: the same decisions as the built-in control with its defaults."""

import math

import sojourn


@sojourn.control("py-newreno", summary="RFC 5681 in Python", sources=["RFC 5681", "RFC 6582"])
class NewReno:
    """Slow start, congestion avoidance, half the flight at a loss."""

    def __init__(self, path):
        self.window = path.initial_window
        self.ssthresh = math.inf

    def on_ack(self, newly_acked, in_recovery, marked, window_limited):
        if newly_acked == 0 or in_recovery or marked or not window_limited:
            return
        if self.window < self.ssthresh:
            self.window += min(newly_acked, 1)  # RFC 5681 section 3.1, with L = 1 of RFC 3465
        else:
            self.window += newly_acked / self.window

    def on_congestion(self, signal, repeated, flight):
        if not repeated:
            self.ssthresh = max(flight / 2, 2.0)
        self.window = 1.0 if signal == "timeout" else self.ssthresh

    def on_recovered(self, recovered):
        if recovered.repair == "partial":  # RFC 6582 section 3.2 step 3 (1)
            self.window = min(self.ssthresh, max(recovered.flight, 1.0) + 1.0)
