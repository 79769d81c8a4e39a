"""scout with one of its parts missing.

Parts that a parameter switches off are not here: turns do not end with `turn = "1 h"`, and pauses do not grow with
`pause = "250 ms"`.
"""

import sojourn
from sojourn.studies.answer.scout import Scout


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
        self.head_ns = self.small_head()
        if self.head_ns > self.bound_ns():
            self.stay()
        elif self.is_clear():
            self.go()
        elif self.is_open():
            self.knock_soon("small")
        else:
            self.single(full=True)


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
    def estimate(self):
        super().estimate()
        self.noise_ns = 0.0


@without("short-target", "losses at short queues do not shorten the target")
class WithoutShortTarget(Scout):
    def lose(self):
        delay_ns = self.delay_ns
        super().lose()
        self.delay_ns = delay_ns


@without("stamps", "delays are of round trips, and arrivals those of acknowledgements")
class WithoutStamps(Scout):
    def stamp(self, one_way_delay_ns):
        return None
