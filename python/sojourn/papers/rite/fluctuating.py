"""Sections 3.2 and 4.1.2: AQMs on cellular links, whose rate fluctuates."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sojourn.papers.measures import UTILIZATION, Key, Results, check, measure, shown, span
from sojourn.papers.rite.cellular import PAGE_MS, page
from sojourn.papers.rite.clusters import clusters
from sojourn.papers.rite.mobile import BACKGROUND, BUFFER, LOADS, RUNS, WEB, WEB_BYTES, Link, base, beside, sources
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number

WEB_CONTROL = "CUBIC"
DOWNLOADS = ("CUBIC", "Westwood+", "BBR")
_TAIL = "bottleneck_queue_ms_p90"
_PLAIN, _ARED = "no AQM", "ARED"
# Thresholds of ARED are amounts of data. Its paper's rule gives the least it allows, 5 and 15 packets, at these rates.
_THRESHOLDS = {"min": "5 packets", "max": "15 packets"}
QUEUES: dict[str, dict[str, Any]] = {
    _PLAIN: {"kind": "droptail"},
    _ARED: {"kind": "ared", "preset": "linux", **_THRESHOLDS},
    "PIE, rate": {"kind": "pie", "preset": "rfc", "estimator": "departure-rate"},
    "PIE, sojourn": {"kind": "pie", "preset": "linux"},
    "CoDel": {"kind": "codel", "preset": "linux"},
    "FQ-CoDel": {"kind": "fq_codel", "preset": "linux"},
}
SOJOURN = ("PIE, sojourn", "CoDel")
"""Those that measure the time in the one queue that ARED has, too."""


def results_of(lab: Lab, source: str, links: Sequence[Link]) -> Results:
    """Return the runs of all disciplines on some links."""
    cases: dict[Key, Mapping[str, Any]] = {
        (link.name, background, flows, name): {
            **beside(link, WEB_CONTROL, background, flows),
            "bottleneck.queue": {**queue, "limit": BUFFER},
        }
        for link in links
        for background in DOWNLOADS
        for flows in LOADS
        for name, queue in QUEUES.items()
    }
    return measure(lab, f"cellular-aqms-{source}", base(), cases, seeds=RUNS)


def aqms(lab: Lab) -> Findings:
    """Compare disciplines on fluctuating links."""
    found = Findings()
    for source, links in sources().items():
        results = results_of(lab, source, links)
        found.show(
            f"fluctuating-{source}",
            clusters(
                {
                    f"{link.name} ({link.generation})": {
                        f"{background}\n{flows}": {
                            name: page(results, (link.name, background, flows, name)) for name in QUEUES
                        }
                        for flows in LOADS
                        for background in DOWNLOADS
                    }
                    for link in links
                },
                across="control and number of the downloads in the background",
                up="web response time [s]",
                scale=1e-3,
            ),
            f"Mean web response time and its 95 % interval on {source} links, by discipline",
        )
        found.tables.append(_table(source, results, links))
        found.checks += _checks(source, results, links)
    found.verdict = _verdict(found.checks)
    found.text = (
        "PIE comes in two forms: with the delay that it computes from a measured departure rate, as in 2013, and with "
        "the time that packets really waited, as Linux has it now. ARED has thresholds of 5 and 15 packets: in time "
        "they are what the link makes of them. All have their default targets, which at 0.5 Mbit/s are less than a "
        "packet takes. A discipline is better here if a page takes less time beyond chance (95 %, runs with the same "
        "seed compared, whose pages begin at the same time); what it costs the downloads is shown beside."
    )
    return found


def _table(source: str, results: Results, links: Sequence[Link]) -> Table:
    columns = (
        *("link", "background", "flows", "discipline", "page_ms", "half_ci95", "pages"),
        *("queue_ms_p90", "half_ci95_queue", "utilization", "half_ci95_utilization", "background_mbps"),
    )
    rows = []
    for link, background, flows, name in itertools.product(links, DOWNLOADS, LOADS, QUEUES):
        key = (link.name, background, flows, name)
        time = page(results, key)
        tail, used = (results.number(key, metric, WEB) for metric in (_TAIL, UTILIZATION))
        rate = results.number(key, "goodput_mbps", BACKGROUND).mean
        numbers = (time.mean, time.half) if time.runs else (None, None)
        rows.append((*key, *numbers, time.runs, tail.mean, tail.half, used.mean, used.half, rate))
    return Table(f"fluctuating-{source}", f"Disciplines on {source} links", columns, tuple(rows))


def _checks(source: str, results: Results, links: Sequence[Link]) -> Iterator[Check]:
    for name in SOJOURN:
        yield _better(source, results, links, name, _ARED)
    yield _better(source, results, links, "PIE, sojourn", "PIE, rate")
    yield _steady(source, results, links)
    for name in QUEUES:
        if name != _PLAIN:
            yield _cost(source, results, links, name)


def _better(source: str, results: Results, links: Sequence[Link], name: str, than: str) -> Check:
    """Count where pages are faster, and where slower, beyond chance."""
    faster: list[str] = []
    slower: list[str] = []
    for link, background, flows in itertools.product(links, DOWNLOADS, LOADS):
        one, other = ((link.name, background, flows, queue) for queue in (name, than))
        low, high = results.difference(one, other, PAGE_MS, WEB).interval()
        if high < 0:
            faster.append(link.name)
        elif low > 0:
            slower.append(link.name)
    places = len(links) * len(DOWNLOADS) * len(LOADS)
    return check(
        f"{source}: pages are faster under {name} than under {than}",
        "expected of AQMs that measure sojourn times",
        f"at {len(faster)} of {places} places{_of(faster)}, slower at {len(slower)}{_of(slower)}",
        agrees=len(faster) > places / 2 and not slower,
        why=_WHY,
    )


_WHY = (
    "Under all of them most packets wait for less than a third of a second, of the seconds that a page takes. What is "
    "left is its share of the link, the link's pauses and the recovery from losses, and hides what they differ in. Who "
    "keeps the shorter queue depends on the link: see the check on the queue's 90th percentile."
)


def _of(names: Sequence[str]) -> str:
    counts = {name: names.count(name) for name in dict.fromkeys(names)}
    return f" ({', '.join(f'{name} {count}' for name, count in counts.items())})" if counts else ""


def _over(results: Results, link: Link, metric: str, queue: str) -> float:
    """Return a metric's mean over all backgrounds of a link."""
    keys = [(link.name, background, flows, queue) for background in DOWNLOADS for flows in LOADS]
    return Number.of([results.number(key, metric, WEB).mean for key in keys]).mean


def _steady(source: str, results: Results, links: Sequence[Link]) -> Check:
    """Compare how much the tail of the delay depends on the link."""
    tails = {name: [_over(results, link, _TAIL, name) for link in links] for name in (_ARED, *SOJOURN)}
    ratios = {name: max(parts) / min(parts) for name, parts in tails.items()}
    return check(
        f"{source}: the queue's 90th percentile depends less on the link if sojourn times are measured than under ARED",
        "expected: ARED assumes a fixed rate",
        ", ".join(f"{name} {span(parts)} ms, {ratios[name]:.1f} times" for name, parts in tails.items()),
        agrees=all(ratios[name] < ratios[_ARED] for name in SOJOURN),
    )


def _cost(source: str, results: Results, links: Sequence[Link], name: str) -> Check:
    """Show page time, tail of the delay, and use of the link against no AQM, mean over all places of a link."""

    def both(link: Link, metric: str, scale: float) -> str:
        now, then = (scale * _over(results, link, metric, queue) for queue in (name, _PLAIN))
        return f"{now:.3g} ({then:.3g})"

    parts = [
        f"{link.name} {both(link, PAGE_MS, 1e-3)} s, {both(link, _TAIL, 1)} ms, {both(link, UTILIZATION, 100)} %"
        for link in links
    ]
    claim = f"{source}: {name}, and no AQM in brackets: page time, 90th percentile of the queue, utilization"
    return shown(claim, "-", "; ".join(parts))


def _verdict(checks: Sequence[Check]) -> str:
    return "; ".join(f"{one.claim} {one.measured}" for one in checks if one.agrees is not None) + "."


ITEMS = (
    Item(
        "fluctuating",
        "Section 4.1.2: AQMs on links whose rate fluctuates",
        f"one page of {WEB_BYTES // 1000} kB of {WEB_CONTROL} beside 1 and 5 downloads of {', '.join(DOWNLOADS)} on "
        f"the links of Fig. 3.2; {RUNS} runs",
        aqms,
    ),
)
