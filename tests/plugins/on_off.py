"""The built-in kind `on-off` as a plug-in: exponential on and off times."""

import sojourn

NANOSECONDS = 1_000_000_000


@sojourn.traffic("py-on-off", summary="exponential on and off times; sends without end while on")
class OnOff:
    on = sojourn.time("1 s", min="1 ms", help="mean of the on times")
    off = sojourn.time("1 s", min="1 ms", help="mean of the off times")

    def __init__(self, flow, on_off):
        self.flow = flow
        self.random = on_off
        self.is_on = False

    def start(self, now_ns):
        self.turn(now_ns, is_on=True)

    def on_timer(self, now_ns):
        self.turn(now_ns, is_on=not self.is_on)

    def turn(self, now_ns, *, is_on):
        self.is_on = is_on
        if is_on:
            self.flow.send_forever()
        else:
            self.flow.pause()
        mean = self.on if is_on else self.off
        self.timer_ns = now_ns + int(self.random.exponential(mean / NANOSECONDS) * NANOSECONDS + 0.5)
