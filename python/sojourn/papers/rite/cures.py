"""What stops the drift of LEDBAT's base delay, how long it takes where it is only slower, and what clocks do to it."""

from dataclasses import dataclass, field
from typing import Any

from matplotlib.axes import Axes

from sojourn.papers.measures import BACKGROUND, Key, check, shown
from sojourn.papers.rite.drawing import line, panels, points
from sojourn.papers.rite.drift import ABOUT
from sojourn.papers.rite.lone import (
    BUFFER_MS,
    HISTORY_MIN,
    SETTLED_S,
    TARGET_MS,
    WORDS,
    Changes,
    Hours,
    control,
    until_full,
)
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table

CURE_HOURS, SKEW_HOURS = 6, 2
# Said before the runs: a cure keeps the mean queue of the last hour within 1.5 of its own targets.
KEPT = 1.5
PLUS_TARGET_MS = 60.0
# 6 ms per minute (RFC 6817, appendix A.1): 100 parts in a million of a minute.
MS_PER_MIN_OF_100_PPM = 6.0
# A flow that alone uses less than half of the link starves.
STARVED = 0.5
SKEWS_PPM = (-200, -100, 0, 100, 200)
_NO_CLOCK_LOGIC = {"skew_correction": False, "drift_penalty": False}


@dataclass(frozen=True)
class Try:
    """Something that may stop the drift."""

    changes: Changes
    target_ms: float = TARGET_MS
    slower: float | None = None
    """By which factor it should only slow the climb."""
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def all_changes(self) -> Changes:
        """Return what it changes in the scenario."""
        return {**self.changes, **self.extra}


def _pauses(mean_ms: float) -> Try:
    """Return a flow that pauses once a minute and keeps its window."""
    traffic = {"kind": "on-off", "on": "60 s", "off": f"{mean_ms:g} ms"}
    return Try(control(), extra={f"group.{BACKGROUND}.traffic": traffic})


PLAIN = "RFC 6817"
PAUSES_MS = (10, 30, 100, 300)
SLOWER = {
    PLAIN: Try(control(), slower=1.0),
    "target 60 ms": Try(control(target="60 ms"), 60.0, slower=60.0 / TARGET_MS),
    "target 25 ms": Try(control(target="25 ms"), 25.0, slower=25.0 / TARGET_MS),
    "history 30 min": Try(control(base_history=30), slower=HISTORY_MIN / 30),
    "history 60 min": Try(control(base_history=60), slower=HISTORY_MIN / 60),
    "libutp": Try(control("libutp"), slower=HISTORY_MIN / 13),
    "libutp without clock logic": Try(control("libutp", **_NO_CLOCK_LOGIC), slower=HISTORY_MIN / 13),
}
OTHERS = {
    **{f"pauses of {mean} ms": _pauses(mean) for mean in PAUSES_MS},
    "LEDBAT++": Try(control("ledbatpp"), PLUS_TARGET_MS),
    "LEDBAT++ without slowdowns": Try(control("ledbatpp", slowdowns=False), PLUS_TARGET_MS),
    "fLEDBAT": Try(control("fledbat")),
    "target 5 ms": Try(control(target="5 ms"), 5.0),
    "buffer 80 ms": Try({"bottleneck.queue.limit": "80 ms"}),
    "buffer 150 ms": Try({"bottleneck.queue.limit": "150 ms"}),
    "CoDel": Try({"bottleneck.queue": "codel"}),
}
TRIES = SLOWER | OTHERS
# The same line twice is none to see.
DRAWN = tuple(name for name in SLOWER if name != "libutp without clock logic")
CLOCKS = {
    "RFC 6817": control(),
    "libutp": control("libutp"),
    "libutp without clock logic": control("libutp", **_NO_CLOCK_LOGIC),
    "LEDBAT++": control("ledbatpp"),
}


def cures(lab: Lab) -> Findings:
    """Return which changes stop the climb."""
    hours = Hours.of(lab, "cures", CURE_HOURS, {(name,): one.all_changes for name, one in TRIES.items()})
    found = Findings()
    cured = {name: hours.last_hour((name,)).interval()[1] <= KEPT * one.target_ms for name, one in TRIES.items()}

    def draw(index: int, axes: Axes) -> None:
        for position, name in enumerate((DRAWN, OTHERS)[index]):
            times, delays = hours.trace((name,))
            end = len(times) if index else until_full(delays)
            axes.plot([time / 3600 for time in times[:end]], delays[:end], label=name, **line(position))
        axes.set_xlabel("time [h]")
        axes.set_ylabel("queueing delay [ms]")
        axes.set_ylim(0, (1.1, 0.5)[index] * BUFFER_MS)

    figure = panels(["until the buffer is full: what only slows it", "what may stop it"], draw, height_in=4.0)
    found.show(
        "cures", figure, "Queueing delay of one flow alone under changes of LEDBAT, of the sender and of the queue"
    )
    columns = ("change", "climb_ms_per_min", "sd_climb", "full_after_min", "queue_ms_of_last_hour", "sd_queue")
    rows = []
    for name in TRIES:
        climb, last = hours.climb((name,)), hours.last_hour((name,))
        ends = [end for end in hours.full_min((name,)) if end is not None]
        used = hours.utilization((name,))
        rows.append(
            (name, climb.mean, climb.sd, min(ends, default=None), last.mean, last.sd, 100 * used.mean, cured[name])
        )
    found.tables.append(
        Table("cures", "What each change does", (*columns, "utilization_percent", "cured"), tuple(rows))
    )
    found.checks += [*_slower(hours), *_pause_checks(hours, cured), _others(hours, cured)]
    found.verdict = (
        f"Until the buffer is full it takes {', '.join(f'{_full_min(hours, name)} ({name})' for name in DRAWN)}. What "
        f"stops the climb: {', '.join(name for name in OTHERS if cured[name])}. What does not: "
        f"{', '.join(name for name in OTHERS if not cured[name])}."
    )
    found.text = (
        "Pauses come once a minute in the mean and are exponential, so that of ten in a history the longest is about "
        "three times the mean; the window is kept. Without its slowdowns LEDBAT++ still climbs, but slowly: its "
        "decrease is a share of the window, overshoots at times, and so sees delays below the target; fLEDBAT is "
        "alike. A target below the time of a packet leaves most of the link unused. A buffer below the target makes "
        "LEDBAT a loss-based flow, whose halvings empty the queue; one of 1.5 targets is full at 1.5 targets."
    )
    return found


def _slower(hours: Hours) -> list[Check]:
    plain = hours.climb((PLAIN,)).mean
    checks = []
    for name, one in SLOWER.items():
        if name == PLAIN or one.slower is None:
            continue
        climb = hours.climb((name,))
        checks.append(
            check(
                f"{name}: the climb is slower by the ratio of target to history, and goes on",
                f"{one.slower:.2f} of {plain:.1f} ms/min",
                f"{climb.mean / plain:.2f}; buffer full after {_full_min(hours, name)}",
                agrees=abs(climb.mean / plain / one.slower - 1) <= ABOUT,
            )
        )
    return checks


def _full_min(hours: Hours, name: str) -> str:
    ends = [end for end in hours.full_min((name,)) if end is not None]
    return f"{min(ends):.0f} min" if ends else f"over {CURE_HOURS} h"


def _pause_checks(hours: Hours, cured: dict[str, bool]) -> list[Check]:
    works = {mean: cured[f"pauses of {mean} ms"] for mean in PAUSES_MS}
    text = "; ".join(
        f"{mean} ms: {hours.last_hour((f'pauses of {mean} ms',)).text(0)} ms, "
        f"{hours.utilization((f'pauses of {mean} ms',)).text(1, 100)} % used"
        for mean in PAUSES_MS
    )
    return [
        check(
            "long enough pauses stop the climb: as long as the queue, or longer",
            f"queue of the last hour within {KEPT:g} targets",
            text,
            agrees=works[100] and works[300],
        ),
        check(
            "pauses far shorter than the queue do not",
            "climbs",
            f"{hours.climb(('pauses of 10 ms',)).text(1)} ms/min with pauses of 10 ms",
            agrees=not works[10],
        ),
    ]


def _others(hours: Hours, cured: dict[str, bool]) -> Check:
    rest = [name for name in OTHERS if not name.startswith("pauses")]
    return shown(
        "other cures, which the report leaves to later work: queue of the last hour and utilization",
        "-",
        "; ".join(
            f"{name} {'stops' if cured[name] else 'does not stop'} it: {hours.last_hour((name,)).text(0)} ms, "
            f"{hours.utilization((name,)).text(0, 100)} %"
            for name in rest
        ),
        f"A cure keeps the mean queue of the last hour within {KEPT:g} of its own targets.",
    )


def skew(lab: Lab) -> Findings:
    """Return what clocks that run apart do to the climb."""
    cases: dict[Key, Changes] = {
        (name, ppm): {**changes, f"group.{BACKGROUND}.clock_skew_ppm": ppm}
        for name, changes in CLOCKS.items()
        for ppm in SKEWS_PPM
    }
    cases["offset", 0] = {**control(), f"group.{BACKGROUND}.clock_offset": "-1000 s"}
    hours = Hours.of(lab, "skew", SKEW_HOURS, cases)
    found = Findings()

    def draw(_index: int, axes: Axes) -> None:
        axes.plot(SKEWS_PPM, [_expected(ppm) for ppm in SKEWS_PPM], color="#999999", label="target/history less skew")
        for position, name in enumerate(CLOCKS):
            climbs = [hours.climb((name, ppm)) for ppm in SKEWS_PPM]
            axes.errorbar(
                SKEWS_PPM,
                [climb.mean for climb in climbs],
                yerr=[climb.sd for climb in climbs],
                label=name,
                **points(position),
            )
        axes.set_xlabel("skew of the receiver's clock [ppm]")
        axes.set_ylabel("climb [ms/min]")

    figure = panels(["clocks that run apart"], draw)
    found.show("skew", figure, "Climb of the queue over the skew of the receiver's clock against the sender's")
    columns = ("control", "skew_ppm", "climb_ms_per_min", "sd_climb", "queue_ms_of_last_hour", "utilization_percent")
    rows = tuple(
        (
            *key,
            *(hours.climb(key).mean, hours.climb(key).sd),
            *(hours.last_hour(key).mean, 100 * hours.utilization(key).mean),
        )
        for key in cases
    )
    found.tables.append(Table("skew", "Climb and queue by skew", columns, rows))
    found.checks += [*_skew_checks(hours)]
    slow, fast = (hours.climb((PLAIN, ppm)).mean for ppm in (-100, 100))
    found.verdict = (
        f"A receiver's clock that is 100 ppm slow makes LEDBAT's queue climb by {slow:.1f} ms/min, one that is 100 ppm "
        f"fast by {fast:.1f}; LEDBAT++, which measures round trips, does not notice."
    )
    starving_ppm = 100 * TARGET_MS / HISTORY_MIN / MS_PER_MIN_OF_100_PPM
    found.text = (
        "A fast clock at the receiver lets delays rise with time, so that old minima are too low and hold the queue "
        f"down; where it gains more than a target per history, {starving_ppm:.0f} ppm, the flow starves. A slow clock "
        "makes every minute's minimum the least, and the queue climbs faster. libutp sees a fast receiver in the "
        "delay of the way back and corrects its base for it, which takes away the brake as well as the harm; of a "
        "slow receiver it sees nothing that a queue could not do too."
    )
    return found


def _expected(ppm: float) -> float:
    """Return the climb in ms/min where the base delay is that of a history ago: target = history x (climb + skew)."""
    return max(TARGET_MS / HISTORY_MIN - MS_PER_MIN_OF_100_PPM * ppm / 100, 0.0)


def _skew_checks(hours: Hours) -> list[Check]:
    plain = {ppm: hours.climb((PLAIN, ppm)) for ppm in SKEWS_PPM}
    corrected = [hours.climb(("libutp", ppm)).mean for ppm in SKEWS_PPM if ppm >= 0]
    bare = [hours.climb(("libutp without clock logic", ppm)).mean for ppm in SKEWS_PPM]
    plus = [hours.queue(("LEDBAT++", ppm)).mean for ppm in SKEWS_PPM]
    allowed = ABOUT * TARGET_MS / HISTORY_MIN
    starved = hours.utilization((PLAIN, SKEWS_PPM[-1]))
    same = [hours.queue(key).mean for key in ((PLAIN, 0), ("offset", 0))]
    return [
        check(
            f"LEDBAT's climb is target/history less the skew, within {allowed:g} ms/min",
            ", ".join(f"{_expected(ppm):g} at {ppm} ppm" for ppm in SKEWS_PPM),
            ", ".join(f"{climb.mean:.1f}" for climb in plain.values()) + " ms/min",
            agrees=all(abs(climb.mean - _expected(ppm)) <= allowed for ppm, climb in plain.items()),
        ),
        check(
            "a skew of more than a target per history starves LEDBAT",
            "link not used",
            f"{starved.text(0, 100)} % used at {SKEWS_PPM[-1]} ppm",
            agrees=starved.mean < STARVED,
        ),
        check(
            "libutp's clock logic takes away what a fast receiver does",
            "the same climb at 0, 100 and 200 ppm",
            f"{', '.join(f'{climb:.1f}' for climb in corrected)} ms/min; without it "
            f"{', '.join(f'{climb:.1f}' for climb in bare[2:])}",
            agrees=max(corrected) - min(corrected) <= allowed,
        ),
        shown(
            "libutp where the receiver's clock is slow",
            "-",
            ", ".join(f"{hours.climb(('libutp', ppm)).mean:.1f} at {ppm} ppm" for ppm in SKEWS_PPM if ppm < 0)
            + f" ms/min; without clock logic {', '.join(f'{climb:.1f}' for climb in bare[:2])}",
        ),
        check(
            "LEDBAT++ does not notice",
            "the same queue at every skew",
            f"{min(plus):.1f} to {max(plus):.1f} ms",
            agrees=max(plus) - min(plus) <= 1.0,
        ),
        check(
            "an offset between the clocks cancels",
            "no difference",
            f"{same[1]:.3f} ms with an offset of -1000 s, {same[0]:.3f} without",
            agrees=same[0] == same[1],
        ),
    ]


ITEMS = (
    Item(
        "cures",
        "What stops the drift",
        f"one flow alone, LEDBAT of RFC 6817 with a target of {TARGET_MS:g} ms and a history of {HISTORY_MIN:g} min "
        f"unless something else is said, {WORDS}, {CURE_HOURS} h; climbs are measured from {SETTLED_S:g} s on",
        cures,
    ),
    Item(
        "skew",
        "The drift where clocks run apart",
        f"as before, {SKEW_HOURS} h; 100 ppm are {MS_PER_MIN_OF_100_PPM:g} ms per minute",
        skew,
    ),
)
