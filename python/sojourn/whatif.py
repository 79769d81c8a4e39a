"""What a line would be with other queues, shapers and controls, for all that may be true of it.

A line of which something is not known (`unknown`) is many lines. Each of its twins is run as it is and with each
remedy; the remedies are fixed, as a router's settings are, while the line under them is not.
"""

import functools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn import InputError, networks, purposes
from sojourn.api import Scenario
from sojourn.data.statistics import wilson
from sojourn.exported.queues import ISP, LINKS, MODEM, queues
from sojourn.imported.line import TWINS
from sojourn.imported.twins import RATE, RECORDED, Changes, is_recorded, measure, twins
from sojourn.purposes import PURPOSES, Column
from sojourn.reading import input_error
from sojourn.report import NO_VALUE, Grid
from sojourn.resolved import amount
from sojourn.worlds.world import Progress

if TYPE_CHECKING:
    from sojourn.pages.model import Page

AS_IT_IS = "as it is"
UP, DOWN = "up", "down"
_PARTS = (0.95, 0.9, 0.8)
_BETWEEN = 0.9
_LINE = {UP: {"name": MODEM, "at": "after"}, DOWN: {"name": ISP, "at": "before"}}
_LOW, _HIGH = 5, 95
WIDENING = Path(__file__).parent / "imported" / "widening.toml"
"""By how much an interval over twins is widened, by remedy and metric, as a part of the median: twins differ in
what is not known of a line's values, and this is what none of them has of the line."""
# A remedy that leaves bulk flows less than this part of what they have as it is, is none.
_KEPT = 0.7
# Delays that are no longer than this times the shortest are as good.
_NEARLY = 1.1
# A delay of at most this part is better, even where calls are not yet good.
_HALF = 0.5
# Of a line that was measured from its first packet on: calls are judged while the queue stands, and for long enough.
_WARMUP, _LEAST_S, _LEAST_RECORDED_S = "5 s", 30, 15
_NO_REMEDY = " No remedy that was tried helps."
_RATES = {False: "constant", True: "varying"}
# A way down of which nothing is known is none that limits.
_WIDE = {"rate": "1 Gbit/s"}
HOUSEHOLD = ("call", "game", "pages")
"""What a home does beside the traffic of a line."""
Tables = dict[str, Any]


@dataclass(frozen=True)
class Remedy:
    """Something to do about a line."""

    name: str
    part: float | None = None
    """To which part of the line's rate a router shapes; None for no shaper."""
    queue: Mapping[str, Any] | None = None
    """The shaper's queue."""
    bulk: Mapping[str, Any] | None = None
    """What bulk flows change."""


def _cake(part: float, **more: Any) -> Remedy:
    return Remedy(f"cake at {100 * part:g} %", part, {"kind": "cake"}, **more)


REMEDIES = (
    Remedy(AS_IT_IS),
    *(_cake(part) for part in _PARTS),
    Remedy(f"fq_codel at {100 * _BETWEEN:g} %", _BETWEEN, {"kind": "fq_codel", "preset": "linux"}),
    Remedy(f"pie at {100 * _BETWEEN:g} %", _BETWEEN, {"kind": "pie", "preset": "linux"}),
    Remedy(
        f"cake at {100 * _BETWEEN:g} %, bulk marked LE",
        _BETWEEN,
        {"kind": "cake", "diffserv": "diffserv4"},
        {"dscp": "le"},
    ),
    Remedy("LEDBAT++ for bulk", bulk={"control": "ledbatpp"}),
)


def remedied(scenario: Scenario, remedy: Remedy, twin: Changes, rates_mbps: Mapping[str, float]) -> Changes:
    """Return the changes that make a scenario the twin with a remedy; `rates_mbps` are what the shapers know of it."""
    line = scenario.with_(twin) if twin else scenario
    tables = line.to_dict()
    # Whatever the RTT is, it is that of all traffic on the path.
    rtt = {"rtt": tables["group"][0]["rtt"]}
    changed: Tables = {"group": [one | rtt if one["name"] in HOUSEHOLD else one for one in tables["group"]]}
    if remedy.bulk is not None:
        changed["group"] = [
            {**one, **remedy.bulk} if one["traffic"]["kind"] == "bulk" else one for one in changed["group"]
        ]
    if remedy.part is None:
        return {**twin, **changed}
    hops = list(tables.get("hop", []))
    moved = {}
    for link, known_mbps in rates_mbps.items():
        direction = "forward" if link == "bottleneck" else "reverse"
        is_down = _is_down(tables) == (link == "bottleneck")
        place = _LINE[DOWN if is_down else UP]
        moved[link] = place["name"]
        hops.append({**place, "direction": direction, **tables[link]})
        rate = f"{shaped_mbps(known_mbps, remedy.part):g} Mbit/s"
        framing = tables[link].get("framing") or {}
        queue = dict(remedy.queue or {})
        if queue["kind"] == "cake":
            # It reckons with what the line adds to a packet, as a router is told to.
            queue |= {"bandwidth": rate, **framing}
        changed[link] = {"rate": rate, "queue": queue} | ({"framing": framing} if framing else {})
    if "change" in tables:
        changed["change"] = [_of_line(one, moved) for one in tables["change"]]
    return {**changed, "hop": hops}


def _of_line(change: Tables, moved: Mapping[str, str]) -> Tables:
    """Return a change of a line that is a hop now, behind a shaper that stays."""
    kept = {key: value for key, value in change.items() if key not in moved}
    hops = [{"name": name, **change[link]} for link, name in moved.items() if link in change]
    return {**kept, "hop": [*kept.get("hop", []), *hops]} if hops else kept


def shaped_mbps(rate_mbps: float, part: float) -> float:
    """Return a shaper's rate as somebody enters it.

    >>> shaped_mbps(9.87, 0.9)
    8.88
    """
    return float(f"{rate_mbps * part:.3g}")


def _is_down(tables: Mapping[str, Any]) -> bool:
    """Return whether the bottleneck is the way into a home: where only downloads cross it."""
    names = [one["name"] for one in tables["group"] if one.get("direction", "forward") == "forward"]
    return any("down" in name for name in names) and not any("up" in name for name in names)


def household(scenario: Scenario) -> list[Tables]:
    """Return what a home does beside the traffic of a scenario: a call, a game and pages, where it has none."""
    tables = scenario.to_dict()
    kinds = {one["traffic"]["kind"] for one in tables["group"]}
    first = tables["group"][0]
    path = {"rtt": first["rtt"]}
    tcp = {"control": "cubic", "transport": "linux", **path}
    # Pages come down: across the bottleneck, or back from it.
    way = {} if _is_down(tables) else {"direction": "reverse"}
    pages = {"kind": "web", "objects": 12, "size": "30 kB", "think": "1 s"}
    call, game, browser = HOUSEHOLD
    found: list[Tables] = [
        {"name": call, "traffic": "voip", **path},
        {"name": game, "traffic": {"kind": "messages", "every": "50 ms", "size": "100 B"}, **tcp},
        {"name": browser, "traffic": pages, **tcp, **way},
    ]
    return [one for one in found if _kind(one) not in kinds]


def _kind(group: Mapping[str, Any]) -> str:
    traffic = group["traffic"]
    return str(traffic if isinstance(traffic, str) else traffic["kind"])


def widened(
    remedy: str, metric: str, twins: tuple[float, float, float], *, is_recorded: bool = False
) -> tuple[float, float, float]:
    """Return the median over twins and the ends of their interval, by so much further away as imported lines were.

    `is_recorded` tells that the line's rate varies; of such lines less is known.
    """
    middle, low, high = twins
    kind = RECORDED if is_recorded else RATE
    more = middle * _widening()[kind][remedy].get(metric.partition(".")[0], 0.0)
    return middle, max(0.0, low - more), high + more


@functools.cache
def _widening() -> dict[str, dict[str, dict[str, float]]]:
    return tomllib.loads(WIDENING.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class WhatIf:
    """What the twins of a line measured as they are and with each remedy."""

    scenario: Scenario
    """The line with a household on it."""
    remedies: tuple[Remedy, ...]
    columns: tuple[Column, ...]
    values: Mapping[str, Mapping[str, Sequence[float]]]
    """By remedy and metric: the mean over the runs of each twin."""
    rates_mbps: Mapping[str, float]
    """What the shapers know of each link."""
    count: int
    """Of twins."""
    runs: int

    def twins(self, remedy: str, metric: str) -> tuple[float, float, float] | None:
        """Return the median over the twins, and the ends between which nine of ten lie; None where nothing is known."""
        known = self.values[remedy].get(metric)
        if not known:
            return None
        return float(np.median(known)), float(np.percentile(known, _LOW)), float(np.percentile(known, _HIGH))

    def interval(self, remedy: str, metric: str) -> tuple[float, float, float] | None:
        """Return the same, with the ends between which the line's own value lies on nine of ten lines.

        A line of which all is known has one twin, and its value.
        """
        found = self.twins(remedy, metric)
        if found is None or self.count == 1:
            return found
        return widened(remedy, metric, found, is_recorded=is_recorded(self.scenario))

    @property
    def calls(self) -> list[str]:
        """The groups that are calls."""
        return PURPOSES["calls"].groups([self.scenario.to_dict()])

    def good(self, remedy: str) -> int:
        """Return on how many twins all calls are good (ITU-T G.107)."""
        bound = PURPOSES["calls"].bound or 0.0
        each = [self.values[remedy].get(f"voip_mos.{name}", []) for name in self.calls]
        return sum(min(twin) >= bound for twin in zip(*each, strict=True))

    def kept(self, remedy: str) -> float:
        """Return what bulk flows get together, as a part of what they get as it is, in the median."""
        return self._bulk(remedy) / max(self._bulk(AS_IT_IS), 1e-9)

    def _bulk(self, remedy: str) -> float:
        names = [one["name"] for one in self.scenario.to_dict()["group"] if one["traffic"]["kind"] == "bulk"]
        found = (self.twins(remedy, f"goodput_mbps.{name}") for name in names)
        return sum(one[0] for one in found if one is not None)

    def _delay(self, remedy: str) -> float:
        found = (self.twins(remedy, f"voip_delay_ms_p99.{name}") for name in self.calls)
        return max((one[2] for one in found if one is not None), default=float("inf"))

    @property
    def best(self) -> Remedy:
        """The remedy with good calls on most twins; as it is where they are good on as many, and wait hardly longer.

        Of those with as many and nearly the shortest delay on the worst twins, the one that leaves bulk flows most. One
        that leaves them too little is none.
        """
        some = [one for one in self.remedies if self.kept(one.name) >= _KEPT]
        most = max(self.good(one.name) for one in some)
        some = [one for one in some if self.good(one.name) == most]
        least = min(self._delay(one.name) for one in some)
        alone = self.good(AS_IT_IS)
        if alone == self.count or (alone == most and least > _HALF * self._delay(AS_IT_IS)):
            return self._named(AS_IT_IS)
        return max(
            (one for one in some if self._delay(one.name) <= _NEARLY * least), key=lambda one: self.kept(one.name)
        )

    def _named(self, name: str) -> Remedy:
        return next(one for one in self.remedies if one.name == name)

    @property
    def answer(self) -> str:
        """The finding in two or three sentences."""
        best, alone = self.best, self.good(AS_IT_IS)
        of = "" if self.count == 1 or not alone else f" on {alone} of {self.count} twins"
        metric = f"voip_delay_ms_p99.{self.calls[0]}"
        waits = f"99 % of a call's packets take up to {self._text(AS_IT_IS, metric)} ms"
        now = f"As it is, calls are {'good' if alone else 'not good'}{of}: {waits}."
        if best.name == AS_IT_IS:
            return now + (" Nothing needs to be done for calls." if alone == self.count else _NO_REMEDY)
        good = self.good(best.name)
        low, high = wilson(good / self.count, self.count)
        share = f" on {good} of {self.count} twins (95 % interval {100 * low:.0f} to {100 * high:.0f} %)"
        are = f"are {'good' if good else 'not yet good'}{share if self.count > 1 and good else ''}"
        brings = f"up to {self._text(best.name, metric)} ms, and calls {are}"
        costs = f"Bulk flows keep {100 * self.kept(best.name):.0f} % of what they had."
        return f"{now} With {best.name}{self._at(best)} they take {brings}. {costs}"

    def _title(self) -> str:
        if self.best.name != AS_IT_IS:
            return f"Best for calls: {self.best.name}"
        is_good = self.good(AS_IT_IS) == self.count
        return "Nothing needs to be done for calls" if is_good else "No remedy that was tried helps calls"

    def _at(self, remedy: Remedy) -> str:
        if remedy.part is None:
            return ""
        rates = [f"{shaped_mbps(rate, remedy.part):g}" for rate in self.rates_mbps.values()]
        return f" ({' and '.join(rates)} Mbit/s)"

    def _text(self, remedy: str, metric: str, column: Column | None = None) -> str:
        found = self.interval(remedy, metric)
        if found is None:
            return NO_VALUE
        column = column or next(one for one in self.columns if one.shown.metric == metric)
        middle, low, high = map(column.shown.number, found)
        return middle if low == high else f"{middle} ({low} to {high})"

    def grid(self) -> Grid:
        """Tabulate one row for each remedy; how good calls are is how many twins have good ones."""
        shown = [one for one in self.columns if not one.shown.metric.startswith("voip_mos.")]
        rows = [
            [
                one.name + self._at(one),
                f"{self.good(one.name)} of {self.count}",
                *(self._text(one.name, column.shown.metric, column) for column in shown),
            ]
            for one in self.remedies
        ]
        return Grid(["", "calls good", *(column.shown.label for column in shown)], rows)

    def commands(self, device: str) -> list[str]:
        """Return what sets the best remedy up on a router; nothing where it is no shaper."""
        if self.best.part is None:
            return []
        changes = remedied(self.scenario, self.best, {}, self.rates_mbps)
        try:
            return queues(self.scenario.with_(changes), self.rates_mbps).tc(device)
        except InputError as error:
            return [f"# tc cannot have it: {line}" for line in str(error).splitlines()]

    def notes(self) -> list[str]:
        """Return what a reader must know."""
        first = (
            "All of this line is known: it has one twin."
            if self.count == 1
            else f"{self.count} twins of the line, drawn from what is not known of it. In brackets: where nine of ten "
            f"lines of a {_RATES[is_recorded(self.scenario)]} rate, imported from a capture, had their own value."
        )
        return [
            f"{first} {self.runs} run{'s' if self.runs > 1 else ''} each, with the same seeds.",
            f"Calls are good with {PURPOSES['calls'].bound_text}.",
            "A shaper's rate is a part of the rate that the file gives, and stays while the line's differs.",
        ]

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "answer": self.answer,
            "best": self.best.name,
            "twins": self.count,
            "runs": self.runs,
            "remedies": [
                {
                    "name": one.name,
                    "shaped_mbps": None
                    if one.part is None
                    else {link: shaped_mbps(rate, one.part) for link, rate in self.rates_mbps.items()},
                    "calls_good": self.good(one.name),
                    "bulk_kept": self.kept(one.name),
                    "values": {
                        metric: dict(zip(("median", "p5", "p95"), found, strict=True))
                        for metric in self.values[one.name]
                        if (found := self.interval(one.name, metric)) is not None
                    },
                }
                for one in self.remedies
            ],
        }

    def page(self, command: str = "") -> "Page":
        """Return the page, which `sojourn.pages.write` writes; `command` is what makes it again."""
        from sojourn.figures.whatif import intervals
        from sojourn.pages.model import Fold, Page, Table
        from sojourn.pages.pictures import picture

        metric = f"voip_delay_ms_p99.{self.calls[0]}"
        spans = {one.name: found for one in self.remedies if (found := self.interval(one.name, metric)) is not None}
        return Page(
            title=self._title(),
            kicker=f"What if, on {self.scenario.name}",
            lead=[self.answer],
            pictures=[
                picture(
                    intervals(spans, "one-way delay [ms]"),
                    "99 % of a call's packets take no longer than this.",
                    "Dots are the median over all twins of the line, bars where nine of ten imported lines had "
                    "their own value.",
                    name="whatif",
                )
            ],
            heading="What does each remedy do?",
            table=Table.of_grid(self.grid(), "Remedies"),
            notes=self.notes(),
            folds=[Fold("On the router", code="\n".join(commands))] if (commands := self.commands("DEV")) else [],
            command=command,
        )


def what_if(
    scenario: Scenario,
    *,
    count: int = TWINS,
    runs: int = 1,
    rates_mbps: Mapping[str, float] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> WhatIf:
    """Run the twins of a line as it is and with each remedy, with a household on it.

    Parameters
    ----------
    scenario
        A line, as `sojourn import` writes one: any scenario whose bottleneck has a queue.
    count
        Twins that are drawn where the scenario has an `unknown`.
    rates_mbps
        What the shapers know of each link's rate; None for the scenario's own.
    runs, jobs, progress
        As for `sojourn.sweep`.

    Raises
    ------
    InputError
        Where the scenario has a medium that stations share, before which no router shapes alone.

    Examples
    --------
    >>> import sojourn
    >>> from sojourn.whatif import what_if
    >>> fifo = {"kind": "droptail", "limit": "300 ms"}
    >>> line = sojourn.scenario(
    ...     duration="8 s", warmup="2 s", bottleneck={"rate": "4 Mbit/s", "queue": fifo},
    ...     group=[{"name": "upload", "control": "cubic", "rtt": "30 ms"}])
    >>> what_if(line).best.name.startswith("cake")
    True
    """
    tables = scenario.to_dict()
    _check_line(tables)
    drawn = twins(scenario, count)
    rates = dict(_rates(scenario) if rates_mbps is None else rates_mbps)
    back = {} if "reverse" in tables or _is_down(tables) else {"reverse": _WIDE}
    times = {} if scenario.warmup_s else {"duration": f"{_judged_s(scenario):g} s", "warmup": _WARMUP}
    line = scenario.with_({**times, **back, "group": [*tables["group"], *household(scenario)]})
    cases: dict[str, Changes] = {}
    for place, twin in enumerate(drawn):
        for one in REMEDIES:
            cases[f"{place} {one.name}"] = remedied(line, one, twin, rates)
    shown = purposes.columns(line.to_dict())
    # Shares say nothing that goodputs do not.
    columns = tuple(one for one in shown if one.group and not one.shown.metric.startswith("share."))
    wanted = [column.shown.metric for column in columns]
    measured = measure(line, cases, wanted, runs=runs, jobs=jobs, progress=progress)
    values: dict[str, dict[str, list[float]]] = {}
    for one in REMEDIES:
        for metric in wanted:
            each = [measured[f"{place} {one.name}"][metric] for place in range(len(drawn))]
            known = [[value for value in some if value is not None] for some in each]
            # Where nothing of it was measured on a twin, as of a page that never came, it is not known there.
            means = [float(np.mean(some)) for some in known if some]
            values.setdefault(one.name, {})[metric] = means if len(means) == len(drawn) else []
    return WhatIf(line, REMEDIES, columns, values, rates, len(drawn), runs)


def _judged_s(scenario: Scenario) -> float:
    """Return how long a line is run: one whose rate varies as long as that was measured, since then it repeats."""
    return max(scenario.duration_s, _LEAST_RECORDED_S if is_recorded(scenario) else _LEAST_S)


def _check_line(tables: Mapping[str, Any]) -> None:
    """Raise InputError where no router can shape alone before the bottleneck, or one does already."""
    networks.check_chain(tables, "whatif")
    if "queue" not in tables.get("bottleneck", {}) or "station" in tables:
        found = "a medium that stations share"
        raise input_error(f"whatif: found {found}; allowed: a line of its own", key="bottleneck.medium", found=found)
    shaped = [hop["name"] for hop in tables.get("hop", []) if hop["name"] in (MODEM, ISP)]
    if shaped:
        message = f"whatif: found a shaper already, before {' and '.join(shaped)}; allowed: access.gateway=0"
        raise input_error(message, key="access.gateway", found=", ".join(shaped), allowed="access.gateway=0")


def _rates(scenario: Scenario) -> Iterator[tuple[str, float]]:
    """Yield the rate of each link that a router shapes, in Mbit/s, or its policer's; of a recorded link the mean."""
    tables = scenario.to_dict()
    for link in LINKS:
        table = tables.get(link, {})
        if "rate" in table and "queue" in table:
            policed = [table["policer"]["rate"]] if "policer" in table else []
            yield link, min(amount(one, "bit/s") for one in (table["rate"], *policed)) / 1e6
        elif "trace" in table and link == "bottleneck":
            native = scenario.source.resolve()
            yield link, native.capacity_mbps(native.duration_s)[0]
