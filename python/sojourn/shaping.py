"""Which rate to give a gateway's shaper: what calls wait, and what is given up, at several parts of the line's rate."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn import InputError, purposes
from sojourn.api import Scenario
from sojourn.comparison import compare
from sojourn.differences import Differences
from sojourn.exported.queues import ISP, MODEM, way_up
from sojourn.pages.laboratory import link
from sojourn.pages.model import Page, Table
from sojourn.pages.pictures import picture
from sojourn.reading import input_error
from sojourn.report import Grid, Shown
from sojourn.resolved import amount
from sojourn.spelling import spelled
from sojourn.worlds.world import Progress

if TYPE_CHECKING:
    from sojourn.figures.shaper import Curve

GATEWAY = "access.gateway"
PARTS = (0.7, 0.8, 0.85, 0.9, 0.95, 0.975, 1.0, 1.025, 1.05)
NONE = "no shaper"
_CAUTIOUS = 0.9
_OWN = (MODEM, ISP)
"""The links of a line beside a gateway that shapes."""
DIRECTIONS = ("forward", "reverse")
_DELAY = Shown("one-way delay p99 [ms]", "voip_delay_ms_p99")
_MOS = Shown("MOS", "voip_mos", decimals=2)
_GOODPUT = Shown("goodput [Mbit/s]", "goodput_mbps")


@dataclass(frozen=True)
class Rates:
    """What a scenario measured with its gateway's shaper at several parts of the line's rate, and without one."""

    parts: tuple[float, ...]
    found: Differences
    """One result for each part, called as `named` calls it, and one for `NONE`."""
    line_mbps: tuple[float, float]
    """What the line carries in the bottleneck's direction and in the other one."""

    @property
    def scenario(self) -> dict[str, Any]:
        """The scenario without a shaper."""
        return self.found.results[NONE].scenario

    def calls(self, direction: str) -> list[str]:
        """Return the calls of a direction, "forward" (over the bottleneck) or "reverse"."""
        going = {one["name"]: one.get("direction", "forward") for one in self.scenario["group"]}
        return [name for name in purposes.PURPOSES["calls"].groups([self.scenario]) if going[name] == direction]

    def way(self, direction: str) -> str:
        """Return "up" or "down"."""
        return "up" if direction == way_up(self.found.results[named(self.parts[0])].scenario) else "down"

    @property
    def judged(self) -> list[str]:
        """The directions that have a call."""
        return [direction for direction in DIRECTIONS if self.calls(direction)]

    def delay_ms(self, name: str, direction: str) -> float:
        """Return the 99th percentile of the one-way delay, of the call of a direction for which it is longest."""
        delays = [self.found.mean(name, f"{_DELAY.metric}.{group}") for group in self.calls(direction)]
        return max((delay for delay in delays if delay is not None), default=math.inf)

    def goodput_mbps(self, name: str, direction: str) -> float:
        """Return what all groups of a direction get together."""
        groups = [one["name"] for one in self.scenario["group"] if one.get("direction", "forward") == direction]
        return sum(self.found.mean(name, f"{_GOODPUT.metric}.{group}") or 0.0 for group in groups)

    def knee(self, direction: str) -> float | None:
        """Return the part of the rate with the largest power, rate over delay; None where no shaper is as good.

        With it calls have a shorter delay and more power than without a shaper, or a better quality, beyond chance.

        Power and its knee: Kleinrock, Power and deterministic rules of thumb for probabilistic problems in computer
        communications, ICC 1979. The delay is that of `delay_ms`; no more than the line's rate passes.
        """
        power = {part: min(part, 1.0) / self.delay_ms(named(part), direction) for part in self.parts}
        best = max(self.parts, key=lambda part: power[part])
        is_quicker = power[best] > 1 / self.delay_ms(NONE, direction) and self._differs(best, direction, _DELAY)
        # Where delays are alike, losses may still part calls.
        is_clearer = self._mos(named(best), direction) > self._mos(NONE, direction)
        return best if is_quicker or (is_clearer and self._differs(best, direction, _MOS)) else None

    def _differs(self, part: float, direction: str, shown: Shown) -> bool:
        """Return whether a part differs beyond chance from no shaper; of single runs nobody can say so."""
        metric = f"{shown.metric}.{self._worst_call(NONE, direction)}"
        return len(self.found.results[NONE].runs) == 1 or self.found.is_beyond_chance(named(part), metric)

    def _mos(self, name: str, direction: str) -> float:
        return self.found.mean(name, f"{_MOS.metric}.{self._worst_call(NONE, direction)}") or 0.0

    @property
    def knees(self) -> list[float]:
        """The knees of the directions that have one."""
        return [knee for direction in self.judged if (knee := self.knee(direction)) is not None]

    def _worst_call(self, name: str, direction: str) -> str:
        """Return the call of a direction whose delay is longest."""
        return max(self.calls(direction), key=lambda group: self.found.mean(name, f"{_DELAY.metric}.{group}") or 0.0)

    @property
    def answer(self) -> str:
        """What to do in each direction, and what it brings."""
        return " ".join(self._said(direction) for direction in self.judged)

    def _said(self, direction: str) -> str:
        knee, alone_ms = self.knee(direction), self.delay_ms(NONE, direction)
        way = self.way(direction).capitalize()
        if knee is None:
            return (
                f"{way}, no rate that was tried is better for calls than no shaper: 99 % of their packets take at most "
                f"{alone_ms:.4g} ms without one."
            )
        rate = knee * self.line_mbps[DIRECTIONS.index(direction)]
        at = self.delay_ms(named(knee), direction)
        text = (
            f"{way}: give the shaper {named(knee)} of the line, {rate:.4g} Mbit/s. 99 % of a call's packets then take "
            f"at most {at:.4g} ms; without a shaper {alone_ms:.4g} ms"
        )
        faster = [named(part) for part in self.parts if part > knee]
        text += f", and {self.delay_ms(faster[0], direction):.4g} ms at {faster[0]}." if faster else "."
        if not self._differs(knee, direction, _DELAY):
            mos, alone = (self._mos(name, direction) for name in (named(knee), NONE))
            text += f" Their MOS is {mos:.2f}, without a shaper {alone:.2f}."
        return text if knee > self.parts[0] else f"{text} Slower ones were not tried."

    def _curve(self, direction: str) -> "Curve":
        from sojourn.figures.shaper import Curve

        names, knee = [named(part) for part in self.parts], self.knee(direction)
        return Curve(
            self.way(direction),
            [self.delay_ms(name, direction) for name in names],
            [self.goodput_mbps(name, direction) for name in names],
            self.delay_ms(NONE, direction),
            self.goodput_mbps(NONE, direction),
            None if knee is None else self.parts.index(knee),
        )

    def grid(self) -> Grid:
        """Tabulate one row for each part of the rate, the slowest first; the delay at a direction's knee has a star."""
        rows = [[name, *self._cells(name)] for name in (*map(named, self.parts), NONE)]
        headers = [
            f"{self.way(direction)}: {label}"
            for direction in self.judged
            for label in (_DELAY.label, _MOS.label, _GOODPUT.label)
        ]
        return Grid(["shaper", *headers], rows)

    def _cells(self, name: str) -> list[str]:
        cells = []
        for direction in self.judged:
            worst = self._worst_call(name, direction)
            summary = self.found.results[name].summary
            delay, mos = (shown.cell(summary.get(f"{shown.metric}.{worst}")) for shown in (_DELAY, _MOS))
            knee = self.knee(direction)
            mark = " *" if name == (NONE if knee is None else named(knee)) else ""
            cells += [f"{delay}{mark}", mos, _GOODPUT.number(self.goodput_mbps(name, direction))]
        return cells

    def notes(self) -> list[str]:
        """Return what a reader must know."""
        runs = len(self.found.results[NONE].runs)
        knee = "* is the knee, the most power: rate over delay (Kleinrock 1979)."
        alone = '"no shaper" has none in either direction.'
        notes = [f"{runs} run{'s' if runs > 1 else ''} each. {knee} ± is half of a 95 % interval. {alone}"]
        if self.scenario.get("change"):
            notes.append("The rate of this line varies, and the knees are for this variation.")
        elif _CAUTIOUS in self.parts:
            notes.append(
                "Where the line's rate varies, or is only what the contract says, take the row of "
                f"{named(_CAUTIOUS)}: a shaper that is faster than the line does nothing."
            )
        knees = self.knees
        if knees:
            notes.append(
                "`sojourn export` prints what to enter on a router: give it the same scenario and line, and "
                f"`--set {GATEWAY}={min(knees):g}`."
            )
        framings = [self.scenario[link].get("framing") or {} for link in ("bottleneck", "reverse")]
        if any(framing.get("cells") == "atm" for framing in framings):
            notes.append(
                "This line carries packets in cells (ATM). The shaper has to count them, as with CAKE's words that "
                "`sojourn export` prints; else these rates are too fast."
            )
        return notes

    def page(self, command: str = "") -> Page:
        """Return the page of the rates, which `sojourn.pages.write` writes; `command` is what makes it again."""
        from sojourn.figures.shaper import rates

        curves = [self._curve(direction) for direction in self.judged]
        knees = self.knees
        at = named(min(knees)) if knees else NONE
        sources = {name: self.found.results[name].source for name in (NONE, at)}
        laboratory = link(f"{at} beside {NONE}", sources[NONE], sources[at]) if knees else []
        return Page(
            title=f"Give the shaper {at} of the line's rate"
            if knees
            else "No rate that was tried is better than no shaper",
            kicker=f"Shaper's rate of {self.found.results[NONE].name}",
            lead=[self.answer],
            pictures=[
                picture(
                    rates(self.parts, curves),
                    "A call waits little up to the knee (squares). Beyond it the buffer of the modem or the ISP fills.",
                    "Dots are means; dashed: no shaper.",
                    name="shaper",
                    laboratory=laboratory,
                )
            ],
            heading="What does each rate do?",
            table=Table.of_grid(self.grid(), "Rates of the shaper"),
            notes=self.notes(),
            command=command,
        )


def named(part: float) -> str:
    """Return what a part of the rate is called.

    >>> named(0.975), named(1.0)
    ('97.5 %', '100 %')
    """
    return f"{100 * part:g} %"


def shaper_rates(
    scenario: Scenario,
    parts: Sequence[float] = PARTS,
    *,
    runs: int = 5,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Rates:
    """Run a scenario with its gateway's shaper at several parts of the line's rate, and without one.

    Parameters
    ----------
    scenario
        One with an access line (`[access]`) and a call.
    parts
        Parts of the line's rate, above 0 and at most 2.
    runs, jobs, progress
        As for `sojourn.compare`.

    Raises
    ------
    InputError
        Where the scenario has no access line before which a gateway could shape, no call, or a controller of the
        shaper.

    Examples
    --------
    >>> import sojourn
    >>> from sojourn.shaping import shaper_rates
    >>> base = sojourn.Scenario.load("gateway-and-modem", {"duration": "8 s", "warmup": "3 s"})
    >>> shaper_rates(base, [0.8, 1.1], runs=1).knee("forward")
    0.8
    """
    kept = tuple(sorted(set(parts)))
    if not kept or not all(0 < part <= 2 for part in kept):  # noqa: PLR2004 (the key's bounds)
        raise input_error("parts of the rate: allowed: numbers above 0 and at most 2, such as 0.9", key="parts")
    if "shaper" in scenario.to_dict():
        message = "the scenario has a controller, which sets the shaper's rate; allowed: one without [shaper]"
        raise input_error(message, key="shaper")
    try:
        variants = {NONE: scenario.with_({GATEWAY: 0})}
    except InputError as error:
        if not any(one["key"].startswith("access") for one in error.diagnostics):
            raise
        message = f"the scenario has no access line; allowed: [access] in its file, or {spelled('line', 'NAME')}"
        raise input_error(message, key="access") from None
    variants |= {named(part): scenario.with_({GATEWAY: part}) for part in kept}
    shaped = variants[named(kept[0])].to_dict()
    variants[NONE] = _with_own_queues(variants[NONE], shaped)
    found = compare(variants, runs=runs, purpose="calls", jobs=jobs, progress=progress)
    rates = (amount(shaped[link]["rate"], "bit/s") / 1e6 / kept[0] for link in ("bottleneck", "reverse"))
    return Rates(kept, found, (next(rates), next(rates)))


def _with_own_queues(alone: Scenario, shaped: Mapping[str, Any]) -> Scenario:
    """Return a line without a shaper behind the queues of its modem and its ISP: what a file sets is the gateway's."""
    resolved = alone.to_dict()
    changed = {}
    for hop in shaped.get("hop", []):
        link = "bottleneck" if hop["direction"] == "forward" else "reverse"
        if hop["name"] in _OWN and resolved[link]["queue"] != hop["queue"]:
            changed[f"{link}.queue"] = hop["queue"]
    return alone.with_(changed) if changed else alone
