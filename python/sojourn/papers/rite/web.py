"""Figure 3.6: pages of several objects, one after the other, with and without a long flow."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes

from sojourn.papers.measures import TCP, Key, Results, check, measure, shown
from sojourn.papers.rite.drawing import line, panels, seconds
from sojourn.papers.rite.short import (
    ABOUT,
    DROPTAIL,
    NOBODY,
    OTHERS,
    QUEUES,
    RTT_MS,
    SCAVENGERS,
    SEEDS,
    TARGET_MS,
    WARMUP_S,
    WORDS,
    YARDSTICK,
    background,
    beside,
)
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number

# A browser for each page of a run, so far apart, which never comes back for another.
PAGES = 16
APART_S = 17.37
NEVER = "100000 s"
OBJECTS = 10
SIZES = {"kind": "log-normal", "median": "10 kB", "sigma": 1.2, "max": "1 MB"}
# For the law: objects that fit the first window.
COUNTS = (1, 2, 5, 10, 20)
SMALL = "5 kB"
SMALL_PAGES = 4
PAGE = "page_ms_mean"


def _base(pages: int) -> dict[str, Any]:
    return {
        "name": "rite-web",
        "duration": f"{WARMUP_S + 1 + pages * APART_S:g} s",
        "warmup": f"{WARMUP_S} s",
        "bottleneck": {"rate": "10 Mbit/s", "queue": QUEUES[DROPTAIL]},
        "group": [*(_browser(number) for number in range(pages)), background("LEDBAT")],
    }


def _name(number: int) -> str:
    return f"{TCP}{number}"


def _browser(number: int) -> dict[str, Any]:
    start = f"{WARMUP_S + 1 + APART_S * number:.2f} s"
    return {
        "name": _name(number),
        "control": "newreno",
        "rtt": f"{RTT_MS:g} ms",
        "start": start,
        "traffic": _pages(OBJECTS),
    }


def _pages(objects: int, size: str | Mapping[str, Any] = SIZES) -> dict[str, Any]:
    return {"kind": "web", "objects": objects, "size": size, "connections": 1, "think": NEVER}


def times_ms(results: Results, key: Key, pages: int) -> list[float]:
    """Return the times of all pages of all runs of a case."""
    return [time for number in range(pages) for time in results.values(key, PAGE, _name(number))]


def _mean(results: Results, key: Key, pages: int) -> Number:
    """Return the mean page time, over runs."""
    runs = zip(*(results.values(key, PAGE, _name(number)) for number in range(pages)), strict=True)
    return Number.of([sum(times) / len(times) for times in runs])


def web(lab: Lab) -> Findings:
    """Return distributions of page times, and what each object costs."""
    cases: dict[Key, Mapping[str, Any]] = {
        (queue, name): {"bottleneck.queue": tables} | beside(name)
        for queue, tables in QUEUES.items()
        for name in (NOBODY, *OTHERS)
    }
    results = measure(lab, "web", _base(PAGES), cases, seeds=SEEDS)
    counted: dict[Key, Mapping[str, Any]] = {
        (name, count): beside(name)
        | {f"group.{_name(number)}.traffic": _pages(count, SMALL) for number in range(SMALL_PAGES)}
        for name in (NOBODY, "LEDBAT")
        for count in COUNTS
    }
    objects = measure(lab, "web-objects", _base(SMALL_PAGES), counted, seeds=SEEDS)
    found = Findings()
    _draw(found, results)
    means = {key: _mean(results, key, PAGES) for key in cases}
    found.tables.append(
        Table(
            "web",
            "Page times",
            ("discipline", "beside", "pages", "mean_ms", "median_ms", "p90_ms", "sd_of_runs"),
            tuple((*key, *_summary(times_ms(results, key, PAGES)), means[key].sd) for key in cases),
        )
    )
    rows = tuple(
        (queue, name, time) for queue, name in cases for time in sorted(times_ms(results, (queue, name), PAGES))
    )
    found.tables.append(Table("pages", "Every page", ("discipline", "beside", "page_ms"), rows))
    found.checks += [*_law(found, objects), *_orders(means)]
    free, ledbat, cubic = (means[DROPTAIL, name] for name in (NOBODY, "LEDBAT", YARDSTICK))
    codel = means["FQ-CoDel", "LEDBAT"]
    found.verdict = (
        f"A page of {OBJECTS} objects takes {free.mean / 1e3:.1f} s on a free link, {ledbat.mean / 1e3:.1f} s beside "
        f"one LEDBAT flow, {cubic.mean / 1e3:.1f} s beside CUBIC, and {codel.mean / 1e3:.1f} s beside LEDBAT under "
        "FQ-CoDel."
    )
    found.text = (
        "Every object that has to wait for the one before passes LEDBAT's standing queue at least once: a delay of a "
        "tenth of a second becomes seconds. Scavengers that keep a shorter queue cost less, and an AQM or a queue per "
        "flow takes that cost away whatever the scavenger does, but may have one of its own."
    )
    return found


def _summary(times: list[float]) -> tuple[Any, ...]:
    ordered = sorted(times)
    return len(times), sum(times) / len(times), ordered[len(times) // 2], ordered[int(0.9 * len(times))]


def _draw(found: Findings, results: Results) -> None:
    def curve(axes: Axes, key: Key, name: str, position: int) -> None:
        times = sorted(times_ms(results, key, PAGES))
        parts = [(place + 1) / len(times) for place in range(len(times))]
        axes.step([time / 1e3 for time in times], parts, where="post", label=name, **line(position))

    def draw(index: int, axes: Axes) -> None:
        if index == 0:
            for position, name in enumerate((NOBODY, *OTHERS)):
                curve(axes, (DROPTAIL, name), name, position)
        else:
            curve(axes, (DROPTAIL, NOBODY), f"{DROPTAIL}, {NOBODY}", 0)
            for position, queue in enumerate(QUEUES):
                curve(axes, (queue, "LEDBAT"), f"{queue}, LEDBAT", position + 1)
        seconds(axes)
        axes.set_xlabel("page time [s]")
        axes.set_ylabel("part of all pages")
        axes.set_ylim(0, 1.02)

    titles = ["Fig. 3.6: beside a long flow, DropTail", "beside LEDBAT, by discipline"]
    found.show("web", panels(titles, draw, height_in=3.6), f"Time of pages of {OBJECTS} objects, one after the other")


def _law(found: Findings, results: Results) -> list[Check]:
    means = {
        (name, count): _mean(results, (name, count), SMALL_PAGES) for name in (NOBODY, "LEDBAT") for count in COUNTS
    }
    more = {count: means["LEDBAT", count].mean - means[NOBODY, count].mean for count in COUNTS}
    rows = tuple(
        (count, means[NOBODY, count].mean, means["LEDBAT", count].mean, more[count], more[count] / TARGET_MS)
        for count in COUNTS
    )
    columns = ("objects", "free_ms", "beside_ledbat_ms", "more_ms", "more_in_targets")
    found.tables.append(Table("objects", f"Pages of objects of {SMALL}, which fit the first window", columns, rows))
    first, last = COUNTS[0], COUNTS[-1]
    each = (more[last] - more[first]) / (last - first)
    return [
        check(
            "each further object of a page costs about one target more",
            f"{TARGET_MS:g} ms, within {100 * ABOUT:.0f} %",
            f"{each:.0f} ms; in targets "
            + ", ".join(f"{more[count] / TARGET_MS:.1f} for {count} objects" for count in COUNTS),
            agrees=abs(each / TARGET_MS - 1) <= ABOUT,
        )
    ]


def _orders(means: Mapping[Key, Number]) -> list[Check]:
    tail = {name: means[DROPTAIL, name] for name in (NOBODY, *OTHERS)}
    ranked = sorted(tail, key=lambda name: tail[name].mean)
    aqms = [queue for queue in QUEUES if queue != DROPTAIL]
    protected = {queue: [name for name in OTHERS if tail[name].surely_above(means[queue, name])] for queue in aqms}
    innocuous = [name for name in SCAVENGERS if not tail[name].surely_above(tail[NOBODY])]
    return [
        check(
            "pages take longer beside LEDBAT than on a free link",
            "longer",
            f"{tail['LEDBAT'].text(2, 1e-3)} to {tail[NOBODY].text(2, 1e-3)} s",
            agrees=tail["LEDBAT"].surely_above(tail[NOBODY]),
        ),
        check(
            f"by more than a target, {TARGET_MS:g} ms: it is multiplied by the objects that come in sequence",
            f"at least {OBJECTS} targets",
            f"{(tail['LEDBAT'].mean - tail[NOBODY].mean) / TARGET_MS:.0f} targets",
            agrees=tail["LEDBAT"].minus(tail[NOBODY])[0] >= OBJECTS * TARGET_MS,
        ),
        shown(
            "page times by long flow, DropTail",
            "-",
            " < ".join(f"{name} {tail[name].mean / 1e3:.2f}" for name in ranked) + " s",
            f"No longer than on a free link beyond chance: {', '.join(innocuous)}." if innocuous else "",
        ),
        shown(
            "page times with nobody else on the link, by discipline",
            "-",
            "; ".join(f"{queue} {means[queue, NOBODY].text(2, 1e-3)}" for queue in QUEUES) + " s",
            "Linux's CAKE signals with the second packet above its target in a new queue, where CoDel waits for an "
            "interval: connections in slow start pay for that.",
        ),
        shown(
            "does an AQM protect pages? Beside which long flows they are faster than under DropTail, beyond chance",
            "-",
            "; ".join(f"{queue}: {', '.join(names) or 'none'}" for queue, names in protected.items()),
        ),
    ]


ITEMS = (
    Item(
        "web",
        "Fig. 3.6: web pages beside a scavenger",
        f"pages of {OBJECTS} objects over one connection, one after the other, log-normal with a median of 10 kB, "
        f"sigma 1.2 and at most 1 MB, {PAGES} pages a run; beside one long flow, {WORDS}; sizes and objects of the "
        "report are not printed",
        web,
    ),
)
