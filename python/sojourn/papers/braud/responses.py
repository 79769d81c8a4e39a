"""Figures 8 to 14: response times of downloads beside one upload, by size, for three controls either way."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from sojourn.papers.braud.drawing import line, panels
from sojourn.papers.braud.load import DRAWS, MIDDLE, SECONDS, SMALL, WARMUP_S, Responses, downloads, draws, largest
from sojourn.papers.braud.world import CONTROLS, FREEBSD, UPLOAD, base, host, padding
from sojourn.papers.measures import check, measure, shown, span
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number

RUNS = 6
UDP = 125
PLAIN, PADDED = "no UDP", f"{UDP} packets/s"
VEGAS, REST = "Vegas", tuple(name for name in CONTROLS if name != "Vegas")
# Said before the runs. "Quite similar": within half; "mostly harmless": within a quarter.
SIMILAR, HARMLESS, TWICE = 1.5, 1.25, 2.0
# Section IV.D tells the testbed's buffer, 60 packets, and its asymmetry, 6: the slower line of Table III.
TESTBED_KBPS, TESTBED_PACKETS = (400.0, 2400.0), (60, 60)
ADSL_KBPS, ADSL_PACKETS, FRAMING = (352.0, 5440.0), (30, 60), "pppoa-vcmux"
_PAYLOAD, _CELLS = 1448 / 1500, 1448 / 1696
HIGH, LOW = 0.5, 0.17
_MARKERS = "so^"


@dataclass(frozen=True)
class Setting:
    """A line and a load."""

    name: str
    figure: str
    per_s: float
    load: float
    padded: Sequence[str] = (PLAIN, PADDED)


TESTBED = (Setting("50 %", "Figs. 8 and 10", 1.0, HIGH), Setting("17 %", "Figs. 9 and 11", 1.0, LOW))
# The paper's draws offer more than its ADSL line carries: 660 packets at 1/s are 7.9 Mbit/s, 413 at 6/s are 29.7.
ADSL = (Setting("1/s", "Figs. 12 and 13", 1.0, HIGH), Setting("6/s", "Fig. 14", 6.0, 0.9, (PLAIN,)))


def _testbed() -> dict[str, Any]:
    return base(TESTBED_KBPS, TESTBED_PACKETS, duration=f"{SECONDS} s", warmup=f"{WARMUP_S} s")


def _adsl() -> dict[str, Any]:
    tables = base(ADSL_KBPS, ADSL_PACKETS, duration=f"{SECONDS} s", warmup=f"{WARMUP_S} s")
    for direction in ("bottleneck", "reverse"):
        tables[direction]["framing"] = FRAMING
    return tables


def _responses(
    lab: Lab, name: str, tables: Mapping[str, Any], settings: Sequence[Setting], payload_mbps: float, found: Findings
) -> Responses:
    """Run every combination of controls, with the seeds whose draws carry the load."""
    changes: dict[tuple[str | float, ...], dict[str, Any]] = {}
    cases: dict[tuple[Any, ...], list[int]] = {}
    rows = []
    for one in settings:
        most = largest(HIGH, 1e3 * payload_mbps / _PAYLOAD, 1.0)
        alone = dict(tables) | {"group": [downloads(most, one.per_s)]}
        chosen = draws(lab, f"{name}-draws-{one.per_s:g}", alone, payload_mbps, one.load, RUNS)
        rows += [(one.name, seed, load) for seed, load in chosen]
        for udp, up, down in itertools.product(one.padded, CONTROLS, CONTROLS):
            groups = [downloads(most, one.per_s, CONTROLS[down]), host(UPLOAD, control=CONTROLS[up])]
            groups += [padding(UDP)] if udp == PADDED else []
            key = (one.name, udp, up, down)
            cases[key] = [seed for seed, _ in chosen]
            changes |= {(*key, seed): {"group": groups, "seed": seed} for seed, _ in chosen}
    found.tables.append(
        Table(f"{name}-draws", "Seeds, and the load of their downloads alone", ("setting", "seed", "load"), tuple(rows))
    )
    first = dict(tables) | {"group": [host(UPLOAD)]}
    return Responses(measure(lab, name, first, changes, seeds=1, keep=["transfers"]), cases)


def testbed(lab: Lab) -> Findings:
    """Return Figures 8 to 11."""
    found = Findings()
    times = _responses(lab, "testbed", _testbed(), TESTBED, TESTBED_KBPS[1] / 1e3 * _PAYLOAD, found)
    _tables(found, times)
    for setting in TESTBED:
        _draw(found, times, setting)
    found.checks = [
        *(_vegas_first(times, setting, size) for setting in TESTBED for size in (SMALL, MIDDLE)),
        _vegas_down(times),
        _lighter(times),
        *(_padding_helps(times, setting, size) for setting in TESTBED for size in (SMALL, MIDDLE)),
        *_similar(times),
        _harmless(times, TESTBED),
    ]
    gains = _gains(times, TESTBED[1], SMALL)
    found.verdict = (
        f"Short downloads take {span([_mean(times, '17 %', PLAIN, up).mean / 1e3 for up in REST], 2)} s beside "
        "NewReno and CUBIC uploads at 17 % "
        f"load, {_mean(times, '17 %', PLAIN, VEGAS).mean / 1e3:.2f} s beside Vegas, and "
        f"{span([_mean(times, '17 %', PADDED, up).mean / 1e3 for up in REST], 2)} s "
        f"with padding, which makes them {span(gains, 1)} times as fast."
    )
    found.text = (
        "The load of Zipf's 1.7 is made by a few transfers of 100,000 packets and more: its expectation says little "
        "about "
        f"a run of {SECONDS} s. So the runs are those of {DRAWS} draws whose downloads, alone on the line, come "
        "nearest to the paper's load; the "
        "table has their seeds and loads. The paper's own numbers, 972 packets on average once a second, are 11.7 "
        "Mbit/s and "
        "more than its line, so that its large transfers cannot have ended either."
    )
    return found


def adsl(lab: Lab) -> Findings:
    """Return Figures 12 to 14."""
    found = Findings()
    times = _responses(lab, "adsl", _adsl(), ADSL, ADSL_KBPS[1] / 1e3 * _CELLS, found)
    _tables(found, times)
    for setting in ADSL:
        _draw(found, times, setting)
    slow, fast = ADSL
    others = [_mean(times, fast.name, PLAIN, up) for up in ("CUBIC", VEGAS)]
    newreno = _mean(times, fast.name, PLAIN, "NewReno")
    less = {up: (_mean(times, slow.name, PLAIN, up), _mean(times, fast.name, PLAIN, up)) for up in REST}
    found.checks = [
        *(_vegas_first(times, setting, size) for setting in ADSL for size in (SMALL, MIDDLE)),
        *(_padding_helps(times, slow, size, _LOST_HANDSHAKES) for size in (SMALL, MIDDLE)),
        _harmless(times, (slow,), _LOST_HANDSHAKES),
        _medians(times, slow),
        *_first_timeout(lab, times.cases),
        check(
            "6/s: a NewReno upload leads to longer response times than any other",
            "much longer",
            f"NewReno {newreno.text(0)} ms, CUBIC {others[0].text(0)}, Vegas {others[1].text(0)}",
            agrees=all(newreno.surely_above(one) for one in others),
            why="Only Vegas does better here; CUBIC keeps a longer queue than NewReno, as on the testbed. Open.",
        ),
        check(
            "the mean response is shorter at 6/s than at 1/s, by its acknowledgements",
            "shorter",
            "; ".join(f"{up} {one.text(0)} to {six.text(0)} ms" for up, (one, six) in less.items()),
            agrees=all(one.surely_above(six) for one, six in less.values()),
            why="Where a lost handshake waits for 1 s instead of FreeBSD's 3 the means fall (above), if not all beyond "
            "chance: those waits hide what is gained. How often the paper's connections lost theirs is open.",
        ),
    ]
    found.verdict = (
        f"Short downloads take {_mean(times, slow.name, PLAIN, 'NewReno').mean:.0f} ms beside a NewReno upload at 1/s, "
        f"{_mean(times, slow.name, PADDED, 'NewReno').mean:.0f} ms with padding, "
        f"{_mean(times, slow.name, PLAIN, VEGAS).mean:.0f} ms beside Vegas, and "
        f"{newreno.mean:.0f} ms at 6/s. These are means; the median beside NewReno goes from "
        f"{times.median_and_slow((slow.name, PLAIN, 'NewReno', 'NewReno'), SMALL)[0]:.0f} to "
        f"{times.median_and_slow((slow.name, PADDED, 'NewReno', 'NewReno'), SMALL)[0]:.0f} ms with padding."
    )
    found.text = (
        "The paper's draws would offer 7.9 and 29.7 Mbit/s to a line of 5.4. Here runs at 1/s are those of the draws "
        "nearest "
        "to half of what the line carries, those at 6/s nearest to nine tenths."
    )
    return found


def _mean(
    times: Responses, setting: str, udp: str, up: str, size: tuple[int, int] = SMALL, down: str | None = None
) -> Number:
    """Return the mean response of a size, over runs; of all downloads' controls together unless one is named."""
    numbers = [times.mean((setting, udp, up, one), size) for one in ([down] if down else CONTROLS)]
    count = len(numbers)
    return Number(
        sum(one.mean for one in numbers) / count,
        sum(one.sd for one in numbers) / count,
        min(one.runs for one in numbers),
    )


def _words(size: tuple[int, int]) -> str:
    return f"{size[0]} to {size[1] - 1} packets"


def _vegas_first(times: Responses, setting: Setting, size: tuple[int, int]) -> Check:
    won = [
        times.mean((setting.name, PLAIN, up, down), size).surely_above(
            times.mean((setting.name, PLAIN, VEGAS, down), size)
        )
        for up in REST
        for down in CONTROLS
    ]
    means = ", ".join(f"{up} {_mean(times, setting.name, PLAIN, up, size).text(0)}" for up in CONTROLS)
    return check(
        f"{setting.figure}, {setting.name}, {_words(size)}: a Vegas upload gives the shortest response times",
        f"in all {len(won)} comparisons",
        f"in {sum(won)}; {means} ms",
        agrees=all(won),
    )


def _vegas_down(times: Responses) -> Check:
    cases = [
        (
            _mean(times, "50 %", PLAIN, up, MIDDLE, VEGAS),
            [_mean(times, "50 %", PLAIN, up, MIDDLE, down) for down in REST],
        )
        for up in REST
    ]
    return check(
        f"Fig. 8, {_words(MIDDLE)}: downloads by Vegas take longer than by others beside an upload that fills the "
        "buffer",
        "longer",
        "; ".join(
            f"beside {up} Vegas {vegas.text(0)}, others {span([one.mean for one in rest])} ms"
            for up, (vegas, rest) in zip(REST, cases, strict=True)
        ),
        agrees=all(vegas.surely_above(one) for vegas, rest in cases for one in rest),
        why="Most transfers end in slow start or after a few windows, before Vegas's avoidance decides anything. Open.",
    )


def _lighter(times: Responses) -> Check:
    pairs = {up: [_mean(times, setting.name, PLAIN, up) for setting in TESTBED] for up in REST}
    return check(
        "Fig. 9: beside NewReno and CUBIC uploads response times are longer under the lighter load",
        "longer",
        "; ".join(f"{up} {high.text(0)} to {low.text(0)} ms" for up, (high, low) in pairs.items()),
        agrees=all(low.surely_above(high) for high, low in pairs.values()),
    )


def _padding_helps(times: Responses, setting: Setting, size: tuple[int, int], why: str = "") -> Check:
    won = [
        times.mean((setting.name, PLAIN, up, down), size).surely_above(
            times.mean((setting.name, PADDED, up, down), size)
        )
        for up in REST
        for down in CONTROLS
    ]
    means = "; ".join(
        f"{up} {_mean(times, setting.name, PLAIN, up, size).text(0)} to "
        f"{_mean(times, setting.name, PADDED, up, size).text(0)} ms"
        for up in REST
    )
    return check(
        f"{setting.figure}, {setting.name}, {_words(size)}: padding shortens response times beside NewReno and CUBIC "
        "uploads",
        f"in all {len(won)} cases",
        f"in {sum(won)}; {means}",
        agrees=all(won),
        why=why,
    )


def _gains(times: Responses, setting: Setting, size: tuple[int, int]) -> list[float]:
    return [
        times.mean((setting.name, PLAIN, up, down), size).mean / times.mean((setting.name, PADDED, up, down), size).mean
        for up in REST
        for down in CONTROLS
    ]


def _similar(times: Responses) -> list[Check]:
    factors = [
        _mean(times, setting.name, PADDED, up, size).mean / _mean(times, setting.name, PLAIN, VEGAS, size).mean
        for setting in TESTBED
        for up in REST
        for size in (SMALL, MIDDLE)
    ]
    gains = [gain for size in (SMALL, MIDDLE) for gain in _gains(times, TESTBED[1], size)]
    return [
        check(
            "with padding response times beside NewReno and CUBIC are quite those beside Vegas",
            f"up to {SIMILAR:g} times",
            f"{span(factors, 2)} times",
            agrees=max(factors) <= SIMILAR,
            why="Padding at 125 packets/s leaves the upload a quarter of the buffer; Vegas keeps one to three packets.",
        ),
        check(
            "Fig. 11: up to two times better at 17 % load",
            "2 times",
            f"{span(gains, 2)} times",
            agrees=max(gains) >= TWICE,
        ),
    ]


def _harmless(times: Responses, settings: Sequence[Setting], why: str = "") -> Check:
    factors = [
        _mean(times, setting.name, PADDED, VEGAS, size).mean / _mean(times, setting.name, PLAIN, VEGAS, size).mean
        for setting in settings
        for size in (SMALL, MIDDLE)
    ]
    return check(
        "padding beside a Vegas upload is mostly harmless",
        f"up to {HARMLESS:g} times as long",
        f"{span(factors, 2)} times",
        agrees=max(factors) <= HARMLESS,
        why=why,
    )


def _medians(times: Responses, setting: Setting) -> Check:
    parts = []
    for up in CONTROLS:
        before, after = (
            [times.median_and_slow((setting.name, udp, up, down), SMALL) for down in CONTROLS] for udp in setting.padded
        )
        median, slow = ([sum(one[part] for one in side) / len(side) for side in (before, after)] for part in (0, 1))
        parts.append(f"{up} {median[0]:.0f} to {median[1]:.0f} ms, {100 * slow[0]:.0f} to {100 * slow[1]:.0f} %")
    return shown(
        f"{setting.name}, {_words(SMALL)}: median, and the part that takes as long as the first timeout, without and "
        "with padding",
        "-",
        "; ".join(parts),
        "The median gains what the mean loses to handshakes that wait for a timeout.",
    )


def _first_timeout(lab: Lab, cases: Mapping[tuple[Any, ...], Sequence[int]]) -> list[Check]:
    """Return what the paper claims where a lost handshake waits as long as today, downloads by NewReno only."""
    slow, fast = ADSL
    places = [(one, udp, up) for one in ADSL for udp in one.padded for up in CONTROLS]
    most = largest(HIGH, ADSL_KBPS[1] * _CELLS / _PAYLOAD, 1.0)
    changes: dict[tuple[str | float, ...], dict[str, Any]] = {}
    seeds = {(one.name, udp, up): cases[one.name, udp, up, up] for one, udp, up in places}
    for one, udp, up in places:
        sooner = downloads(most, one.per_s) | {"transport": FREEBSD | {"initial_rto": "1 s"}}
        groups = [sooner, host(UPLOAD, control=CONTROLS[up]), *([padding(UDP)] if udp == PADDED else [])]
        changes |= {(one.name, udp, up, seed): {"group": groups, "seed": seed} for seed in seeds[one.name, udp, up]}
    first = _adsl() | {"group": [host(UPLOAD)]}
    times = Responses(measure(lab, "adsl-timeout", first, changes, seeds=1, keep=["transfers"]), seeds)
    plain, padded, often = (
        {up: times.mean((setting, udp, up), SMALL) for up in CONTROLS}
        for setting, udp in ((slow.name, PLAIN), (slow.name, PADDED), (fast.name, PLAIN))
    )

    def beside(less: Mapping[str, Number], names: Sequence[str]) -> str:
        return "; ".join(f"{up} {plain[up].text(0)} to {less[up].text(0)} ms" for up in names)

    where = f"with today's first timeout of 1 s, {_words(SMALL)} (the explanation tried)"
    return [
        check(
            f"{where}: padding shortens response times beside NewReno and CUBIC uploads",
            "shorter",
            beside(padded, REST),
            agrees=all(plain[up].surely_above(padded[up]) for up in REST),
        ),
        check(
            f"{where}: padding beside a Vegas upload is mostly harmless",
            f"up to {HARMLESS} times as long",
            beside(padded, (VEGAS,)),
            agrees=padded[VEGAS].mean <= HARMLESS * plain[VEGAS].mean,
        ),
        check(
            f"{where}: the mean response is shorter at 6/s than at 1/s",
            "shorter",
            beside(often, REST),
            agrees=all(plain[up].surely_above(often[up]) for up in REST),
            why="Not beyond chance everywhere: six runs, with downloads by one control only, vary as much.",
        ),
    ]


_LOST_HANDSHAKES = (
    "Padding fills a buffer of 30 packets on 352 kbit/s most of the time, and crowds out handshakes as well: "
    "they wait 3 s for FreeBSD's first timeout, and with 1 s padding helps (below). The median below is shorter with "
    "padding. How often the paper's connections lost theirs is open."
)


def _tables(found: Findings, times: Responses) -> None:
    rows = []
    means = []
    for key in times.cases:
        rows += [(*key, *point) for point in times.curve(key)]
        small, middle = (times.mean(key, size) for size in (SMALL, MIDDLE))
        means.append((*key, small.mean, small.sd, middle.mean, middle.sd))
    names = ("setting", "padding", "upload", "download")
    found.tables += [
        Table("by-size", "Mean response time by size", (*names, "packets", "response_ms", "transfers"), tuple(rows)),
        Table(
            "means",
            "Mean response time, and its deviation over runs",
            (*names, "below_10_packets_ms", "sd_below_10", "10_to_99_packets_ms", "sd_10_to_99"),
            tuple(means),
        ),
    ]


def _draw(found: Findings, times: Responses, setting: Setting) -> None:
    def draw(index: int, axes: Axes) -> None:
        for position, up in enumerate(CONTROLS):
            for marker, (down, style) in zip(_MARKERS, zip(CONTROLS, ("-", "--", ":"), strict=True), strict=True):
                points = times.curve((setting.name, setting.padded[index], up, down))
                axes.plot(
                    [size for size, _, _ in points],
                    [time / 1e3 for _, time, _ in points],
                    marker=marker,
                    markersize=3,
                    linestyle=style,
                    label=f"{up} up, {down} down",
                    **line(position),
                )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("size [packets]")
        axes.set_ylabel("mean response time [s]" if index == 0 else "")

    name = setting.figure.lower().replace("figs. ", "fig").replace("fig. ", "fig").replace(" and ", "-")
    titles = [f"{setting.name}, {udp}" for udp in setting.padded]
    caption = f"{setting.figure}: response time by size beside one upload, {setting.name}; all runs together"
    found.show(name, panels(titles, draw, height_in=3.7, share=True, columns=3), caption)


_ZIPF = f"Poisson, Zipf 1.7; one upload; three controls either way; {UDP} packets/s or none; {RUNS} runs of {SECONDS} s"
ITEMS = (
    Item(
        "testbed",
        "Figs. 8 to 11: response times on the testbed",
        f"400 kbit/s up, 2.4 Mbit/s down, 60 packets either way; downloads once a second, {_ZIPF}, picked for loads "
        "of 50 and 17 %",
        testbed,
    ),
    Item(
        "adsl",
        "Figs. 12 to 14: response times on an ADSL line",
        f"352 and 5440 kbit/s in cells, 30 packets up, 60 down; downloads 1/s and 6/s, {_ZIPF}",
        adsl,
    ),
)
