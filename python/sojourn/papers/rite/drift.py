"""Figures 3.3 and 3.4: a LEDBAT flow that takes its own queue for the path's delay, and how much jitter stops that."""

from matplotlib.axes import Axes

from sojourn.papers.measures import BACKGROUND, Key, Trace, check, shown
from sojourn.papers.rite.drawing import line, panels
from sojourn.papers.rite.lone import (
    BUFFER_MS,
    HISTORY_MIN,
    TARGET_MS,
    WORDS,
    Changes,
    Hours,
    control,
)
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table

HOURS = 3
LIBUTP_HISTORY_MIN = 13.0
# Said before any run. "About one target in a history": within 15 %.
ABOUT = 0.15
# The climb has stopped where less than a tenth of it is left; "about twice the target" is 1.5 to 2.5 targets.
STOPPED = 0.1
TWICE = (1.5, 2.5)
# In targets: pauses of the sender as in ns-2, pauses under RFC 6817's bound on the window, and jitter of the path.
PAUSES = (0.0, 0.5, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)
FEW = (0.5, 1.0, 2.0)
MODULE, RFC, PATH, LIBUTP = "module", "RFC 6817", "path", "libutp"
# The module's rules with the history of the report.
_MODULE = control(preset="ns2", base_history=int(HISTORY_MIN))


def _cases() -> dict[Key, Changes]:
    cases: dict[Key, Changes] = {(MODULE, jitter): _MODULE | _pauses(jitter) for jitter in PAUSES}
    cases |= {(RFC, jitter): _pauses(jitter) for jitter in (0.0, *FEW)}
    cases |= {(PATH, jitter): _MODULE | _path(jitter) for jitter in FEW}
    cases[LIBUTP, 0.0] = control("libutp")
    return cases


def _pauses(targets: float) -> dict[str, str]:
    return {f"group.{BACKGROUND}.transport.send_jitter": f"{targets * TARGET_MS:g} ms"}


def _path(targets: float) -> dict[str, str]:
    """Return jitter behind the bottleneck, which delays packets and keeps their order."""
    return {"bottleneck.jitter": f"{targets * TARGET_MS:g} ms"}


def drift(lab: Lab) -> Findings:
    """Return how the queue climbs, with and without jitter."""
    hours = Hours.of(lab, "drift", HOURS, _cases())
    found = Findings()
    _draw(found, hours)
    found.tables += _tables(hours)
    found.checks += [*_climbs(hours), *_jitter(hours)]
    ends = hours.full_min((RFC, 0.0))
    found.verdict = (
        f"Alone, LEDBAT's queue climbs by {hours.climb((RFC, 0.0)).mean * HISTORY_MIN:.0f} ms in {HISTORY_MIN:g} min "
        f"and fills {BUFFER_MS:g} ms in {_minutes(ends)}; libutp's too."
    )
    found.text = (
        "A full buffer ends the climb with a loss, which halves the window: the queue falls to a little over half of "
        "the buffer, not to nothing, and the climb begins again from there. The jitter is that of ns-2's sender: a "
        "pause from zero to the given time before data goes out that the window has come to allow, all of which then "
        "goes at once. The queue drains by as much as the pause lasts, and the next burst fills it again, so that its "
        "top lies about a third of the longest pause above the target: pauses must be longer than 1.5 targets to "
        "empty it. RFC 6817 bounds the window by what was in flight, which a pause makes little: there any jitter "
        "stops the climb, and the flow leaves most of the link unused. ns-2's module has no such bound."
    )
    return found


def _minutes(ends: list[float | None]) -> str:
    known = [end for end in ends if end is not None]
    return f"{min(known):.0f} min" if len(known) == len(ends) and known else f"more than {60 * HOURS} min"


def _draw(found: Findings, hours: Hours) -> None:
    def plot(axes: Axes, trace: Trace, name: str, position: int) -> None:
        axes.plot([time / 60 for time in trace[0]], trace[1], label=name, **line(position))

    def draw(index: int, axes: Axes) -> None:
        if index == 0:
            for position, (name, key) in enumerate({"LEDBAT": (RFC, 0.0), "libutp": (LIBUTP, 0.0)}.items()):
                plot(axes, hours.trace(key), name, position)
            axes.axhline(BUFFER_MS, color="#999999", linewidth=0.6)
            axes.set_ylabel("queueing delay [ms]")
        else:
            for position, jitter in enumerate(PAUSES):
                plot(axes, hours.base((MODULE, jitter)), f"jitter {jitter:g} targets", position)
            axes.set_ylabel("believed base delay [ms]")
        axes.set_xlabel("time [min]")
        axes.set_ylim(0, 1.1 * BUFFER_MS)

    titles = ["Fig. 3.3: one flow alone", "Fig. 3.4: with jitter at the sender (ns-2)"]
    found.show("drift", panels(titles, draw, height_in=3.6), "Delay of one flow alone, and its base delay under jitter")


def _tables(hours: Hours) -> list[Table]:
    rows = []
    for key in _cases():
        climb, last, used = hours.climb(key), hours.last_hour(key), hours.utilization(key)
        ends = [end for end in hours.full_min(key) if end is not None]
        rows.append((*key, climb.mean, climb.sd, min(ends, default=None), last.mean, last.sd, 100 * used.mean))
    columns = ("sender", "jitter_targets", "climb_ms_per_min", "sd_climb", "full_after_min")
    traces = [
        (*key, time, value)
        for key in _cases()
        for time, value in zip(*(hours.base(key) if key[0] != LIBUTP else hours.trace(key)), strict=True)
    ]
    last_columns = ("queue_ms_of_last_hour", "sd_queue", "utilization_percent")
    return [
        Table("drift", "Climb of the queueing delay", (*columns, *last_columns), tuple(rows)),
        Table(
            "traces",
            "Base delay over time (libutp: queueing delay), first run",
            ("sender", "jitter_targets", "time_s", "ms"),
            tuple(traces),
        ),
    ]


def _climbs(hours: Hours) -> list[Check]:
    checks = []
    for name, history_min in ((RFC, HISTORY_MIN), (MODULE, HISTORY_MIN), (LIBUTP, LIBUTP_HISTORY_MIN)):
        climb = hours.climb((name, 0.0))
        ends = hours.full_min((name, 0.0))
        a_history = climb.mean * history_min
        checks += [
            check(
                f"{name}, alone: the queue climbs by about one target per history",
                f"{TARGET_MS:g} ms in {history_min:g} min",
                f"{a_history:.0f} ± {climb.sd * history_min:.0f} ms",
                agrees=abs(a_history / TARGET_MS - 1) <= ABOUT,
            ),
            check(
                f"{name}, alone: until the buffer of {BUFFER_MS:g} ms is full",
                "full",
                f"nine tenths after {_minutes(ends)}",
                agrees=None not in ends,
            ),
        ]
    return checks


def _jitter(hours: Hours) -> list[Check]:
    free = hours.climb((MODULE, 0.0)).mean
    climbs = {jitter: hours.climb((MODULE, jitter)) for jitter in PAUSES}
    enough = next((j for j in PAUSES if all(climbs[k].interval()[1] < STOPPED * free for k in PAUSES if k >= j)), None)
    less = {
        f"{name}, {jitter:g} targets": (hours.climb((name, jitter)), hours.utilization((name, jitter)))
        for name in (RFC, PATH)
        for jitter in FEW
    }
    return [
        check(
            "jitter at the sender stops the climb where it reaches about twice the target",
            f"about 2 targets (here {TWICE[0]:g} to {TWICE[1]:g})",
            f"from {enough:g} targets on" if enough is not None else "never",
            agrees=enough is not None and TWICE[0] <= enough <= TWICE[1],
        ),
        check(
            "less jitter than a target does not stop it",
            "climbs",
            f"{climbs[0.5].text(1)} ms/min at half a target, {climbs[1.0].text(1)} at one",
            agrees=all(climbs[jitter].interval()[0] > STOPPED * free for jitter in (0.5, 1.0)),
        ),
        shown(
            "the same jitter in senders or places that the report does not look at",
            "-",
            "; ".join(
                f"{name}: {climb.text(1)} ms/min, {used.text(0, 100)} % used" for name, (climb, used) in less.items()
            ),
            "RFC 6817 bounds the window by what is in flight, so that pauses shrink it. Jitter on the path keeps the "
            "order of packets and is part of the measured delay.",
        ),
    ]


ITEMS = (
    Item(
        "drift",
        "Figs. 3.3 and 3.4: LEDBAT's base delay drifts",
        f"one flow alone with a target of {TARGET_MS:g} ms, {WORDS}, {HOURS} h; LEDBAT of RFC 6817 and, with a history "
        f"of {HISTORY_MIN:g} min, of ns-2's module; libutp. A climb counts from the first target to the full buffer, "
        f"about is within {100 * ABOUT:.0f} %, and it has stopped below {100 * STOPPED:.0f} % of that without jitter",
        drift,
    ),
)
