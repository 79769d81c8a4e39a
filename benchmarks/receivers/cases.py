"""What arrives at a receiver, and when."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

Arrival = tuple[int, int, int, int]
"""Time after the first data (us), number in segments, whether it carries CE, what it says (1: CWR; 2: PSH)."""

_FAST_US = 60
"""A segment at 200 Mbit/s."""
_RTT_US = 40_000
_FEW = 0.025
"""What share is lost, late, twice, marked or with CWR where all of these happen."""
_FIRST_LOST = 40
"""After those that are answered quickly."""
_TOGETHER = 0.7
"""What share of a small window comes right behind the segment before, and within what time."""
_PIECE_US = 1_300


@dataclass(frozen=True)
class Case:
    """What arrives in a connection."""

    text: str
    arrivals: Sequence[Arrival]
    rtt_us: int = _RTT_US
    """From the kernel's SYN-ACK to the first data."""
    ecn: bool = False
    control: str = "cubic"
    """Of the receiving kernel: dctcp has accurate feedback."""
    replies_us: Sequence[int] = ()
    """When its application writes a full segment, after the first data."""

    def plan(self, name: str) -> dict[str, object]:
        """Return what the recorder reads."""
        arrivals = [list(arrival) for arrival in self.arrivals]
        of_kernel = {"ecn": self.ecn, "control": self.control, "replies_us": list(self.replies_us)}
        return {"name": name, "rtt_us": self.rtt_us, "arrivals": arrivals, **of_kernel}


def _steady(numbers: Sequence[int], gap_us: int = _FAST_US, rtt_us: int = _RTT_US) -> list[Arrival]:
    """Return segments as they come in slow start: 10 in the first round trip, twice as many in each later one."""
    times = _times(len(numbers), gap_us, rtt_us)
    return [(time_us, number, 0, 0) for time_us, number in zip(times, numbers, strict=True)]


def _times(count: int, gap_us: int, rtt_us: int) -> list[int]:
    times: list[int] = []
    start_us, flight = 0, 10
    while len(times) < count:
        times += [start_us + place * gap_us for place in range(min(flight, count - len(times)))]
        # A little more than the round trip, which no rule is then at the edge of.
        start_us, flight = start_us + max(rtt_us + 700, flight * gap_us), 2 * flight
    return times


def _lossy(share: float, count: int, gap_us: int = _FAST_US, *, seed: int = 1) -> list[Arrival]:
    """Return `count` segments of which a share is missing and comes a round trip later."""
    chance = random.Random(seed)  # noqa: S311 (no secret)
    times = _times(count, gap_us, _RTT_US)
    lost = [number > _FIRST_LOST and chance.random() < share for number in range(count)]
    due = [(time_us + _RTT_US * late, number) for number, (time_us, late) in enumerate(zip(times, lost, strict=True))]
    return [(time_us, number, 0, 0) for time_us, number in sorted(due)]


def _distant(gaps_us: Sequence[int], rtt_us: int = _RTT_US) -> list[Arrival]:
    """Return 40 segments close together, then some at each distance."""
    arrivals = _steady(range(40), rtt_us=rtt_us)
    for gap_us in gaps_us:
        begin_us, begin = arrivals[-1][0], len(arrivals)
        arrivals += [(begin_us + place * gap_us, begin + place - 1, 0, 0) for place in range(1, 10)]
    return arrivals


def _reordered(count: int, by: int, every: int) -> list[Arrival]:
    numbers = list(range(count))
    for place in range(45, count - by, every):
        numbers.insert(place + by, numbers.pop(place))
    return _steady(numbers)


def _mixed(count: int, gap_us: int, rtt_us: int, seed: int) -> list[Arrival]:
    """Return segments of which some are lost, late, twice or marked, at random."""
    chance = random.Random(seed)  # noqa: S311 (no secret)
    due: list[tuple[int, int, int]] = []
    for number, time_us in enumerate(_times(count, gap_us, rtt_us)):
        lot, late_us = chance.random(), 0
        if lot < _FEW:
            late_us = rtt_us + gap_us // 2
        elif lot < 2 * _FEW:
            late_us = int(chance.random() * 20 * gap_us)
        due.append((time_us + late_us, number, int(chance.random() < _FEW)))
        if chance.random() < _FEW:
            due.append((time_us + late_us + int(chance.random() * rtt_us), number, 0))
    return [(time_us, number, marked, int(chance.random() < _FEW)) for time_us, number, marked in sorted(due)]


def _talk(gaps_us: Sequence[int]) -> list[Arrival]:
    """Return ten requests of a segment at each distance."""
    times, now_us = [], 0
    for gap_us in gaps_us:
        for _ in range(10):
            times.append(now_us)
            now_us += gap_us
    return [(time_us, number, 0, 0) for number, time_us in enumerate(times)]


def _replies(arrivals: Sequence[Arrival], every: int, after_us: int) -> list[int]:
    """Return a time after each `every`th of the arrivals."""
    return [time_us + after_us for time_us, *_ in arrivals[every - 1 :: every]]


def _few(count: int, rtt_us: int, seed: int) -> list[Arrival]:
    """Return segments of a sender with a window of two to seven; 2.5 % are lost and come a round trip later."""
    chance = random.Random(seed)  # noqa: S311 (no secret)
    due: list[tuple[int, int]] = []
    number = start_us = 0
    while number < count:
        at_us = start_us
        for _ in range(chance.randint(2, 7)):
            at_us += 1_200 if chance.random() < _TOGETHER else chance.randint(5_000, 30_000)
            lost = number > _FIRST_LOST and chance.random() < _FEW
            due.append((at_us + rtt_us * lost, number))
            number += 1
        start_us = max(start_us + rtt_us, at_us + 1_200)
    return [(time_us, number, 0, 0) for time_us, number in sorted(due)]


def _pushed(arrivals: Sequence[Arrival]) -> list[Arrival]:
    """Return the same where each second of those that come together has PSH, as of two sent in one piece."""
    told: list[Arrival] = []
    for time_us, number, marked, _ in arrivals:
        follows = bool(told) and time_us - told[-1][0] <= _PIECE_US and number == told[-1][1] + 1
        told.append((time_us, number, marked, 2 * (follows and not told[-1][3])))
    return told


def _with_marks(marks: Callable[[int], bool], cwrs: Sequence[int]) -> list[Arrival]:
    return [(time_us, number, int(marks(number)), int(number in cwrs)) for time_us, number, _, _ in _steady(range(600))]


_HOLES = list(chain(range(100), range(101, 160), [100], range(160, 200)))
_BURST = list(chain(range(100), range(130, 200), range(100, 130), range(200, 230)))
_COMB = list(chain(range(100), range(101, 160, 2), range(160, 190), range(100, 160, 2), range(190, 220)))
_EARLY = [*range(4), *range(5, 40), 4, *range(40, 60)]

_TALK = _talk([12_000, 55_000, 110_000, 330_000, 21_000])
_LOSSY_TALK = _lossy(0.05, 600, 1_200, seed=3)
_DRIZZLE = _steady(range(300), 7_300)
_SHARED = _few(500, 120_000, 5)

CASES: dict[str, Case] = {
    "bulk": Case("2500 segments at 200 Mbit/s", _steady(range(2500))),
    "bulk-slow": Case("600 segments at 10 Mbit/s", _steady(range(600), 1_200)),
    "odd": Case("41 segments, after which nothing comes", _steady(range(41))),
    "slow": Case("60 segments, one each 8 ms", _steady(range(60), 8_000)),
    "distances": Case("segments 5, 15, 30, 39 and 60 ms apart", _distant([5_000, 15_000, 30_000, 39_000, 60_000])),
    "distances-far": Case(
        "the same with a round trip of 200 ms",
        _distant([5_000, 15_000, 30_000, 39_000, 60_000, 120_000, 300_000], 200_000),
        rtt_us=200_000,
    ),
    "pauses": Case("segments 230, 260 and 700 ms apart", _distant([230_000, 260_000, 700_000])),
    "one-lost": Case("one of 200 is lost and comes again after 59 others", _steady(_HOLES)),
    "one-lost-near": Case("the same with a round trip of 4 ms", _steady(_HOLES, rtt_us=4_000), rtt_us=4_000),
    "one-lost-slow": Case("the same with a segment each 1.2 ms (10 Mbit/s)", _steady(_HOLES, 1_200)),
    "burst-lost": Case("30 in a row are lost", _steady(_BURST)),
    "every-second-lost": Case("30 are lost, each second one", _steady(_COMB)),
    "lost-1": Case("1 % is lost", _lossy(0.01, 2500)),
    "lost-5": Case("5 % are lost", _lossy(0.05, 1500)),
    "lost-5-slow": Case("5 % are lost at 10 Mbit/s", _lossy(0.05, 400, 1_200)),
    "lost-20": Case("20 % are lost", _lossy(0.2, 400)),
    "lost-early": Case("the fifth segment is lost, while the receiver is quick", _steady(_EARLY)),
    "reordered-2": Case("every tenth segment comes two places late", _reordered(300, 2, 10)),
    "reordered-8": Case("every fortieth comes eight places late", _reordered(300, 8, 40)),
    "twice": Case("20 of 200 come twice", _steady(sorted([*range(200), *range(60, 160, 5)]))),
    "old": Case("segments 3 to 9 come again after 100", _steady([*range(100), *range(3, 10), *range(100, 160)])),
    "twice-beyond": Case(
        "a segment is missing, and some beyond it come twice",
        _steady([*range(100), *range(101, 120), *range(105, 110), *range(120, 140), 100, *range(140, 150)]),
    ),
    "few": Case("500 as of one of many flows: windows of two to seven, 120 ms, 2.5 % lost", _SHARED, rtt_us=120_000),
    "few-pushed": Case(
        "the same where each second of those that come together has PSH", _pushed(_SHARED), rtt_us=120_000
    ),
    "marks": Case(
        "marks in groups, CWR some segments later", _with_marks(lambda n: n % 60 in (50, 51, 55), [70, 130, 190, 250]),
        ecn=True,
    ),
    "mixed": Case("50 Mbit/s, some late, twice, lost or marked", _mixed(1500, 240, 25_000, 7), 25_000, ecn=True),
    "mixed-fast": Case("the same at 1 Gbit/s", _mixed(2500, 12, 10_000, 8), 10_000, ecn=True),
    "mixed-far": Case("the same at 20 Mbit/s and 150 ms", _mixed(800, 600, 150_000, 9), 150_000, ecn=True),
    "marks-accurate": Case(
        "the same with accurate feedback (dctcp)",
        _with_marks(lambda n: n % 60 in (50, 51, 55) or n % 17 == 1, []),
        ecn=True,
        control="dctcp",
    ),
    "talk-at-once": Case(
        "requests of a segment 12 to 330 ms apart, each answered at once", _TALK, replies_us=_replies(_TALK, 1, 0)
    ),
    "talk-later": Case("the same answered after 9 ms", _TALK, replies_us=_replies(_TALK, 1, 9_000)),
    "talk-late": Case("each second is answered after 47 ms", _TALK, replies_us=_replies(_TALK, 2, 47_000)),
    "talk-in-bulk": Case(
        "a segment each 7.3 ms, data the other way after each fifth", _DRIZZLE, replies_us=_replies(_DRIZZLE, 5, 900)
    ),
    "talk-rarely": Case("the same after each 37th", _DRIZZLE, replies_us=_replies(_DRIZZLE, 37, 2_100)),
    "talk-with-loss": Case(
        "5 % of 600 are lost at 10 Mbit/s, data the other way after each 17th",
        _LOSSY_TALK,
        replies_us=_replies(_LOSSY_TALK, 17, 500),
    ),
}  # fmt: skip
