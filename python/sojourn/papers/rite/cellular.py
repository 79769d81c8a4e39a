"""Figure 3.2: how long a page takes on a cellular link beside downloads of the same user."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sojourn.papers.measures import Key, Results, check, label, measure, shown
from sojourn.papers.rite.clusters import Clusters, clusters
from sojourn.papers.rite.mobile import (
    BUFFER,
    CONTROLS,
    LOADS,
    REPORT,
    RUNS,
    SYNTHETIC,
    WEB,
    WEB_BYTES,
    Link,
    alone,
    base,
    beside,
    sources,
)
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number

PAGE_MS = "page_ms_mean"
PAGES = "page_ms_count"
# Criteria, from before the first run. A rise by over 500 %: the mean at some pair and load is more than six times that
# without background. About twice: between one and a half and two and a half times.
_RISE = 6.0
_ABOUT_TWICE = (1.5, 2.5)
_ALONE = "none"
LOADED = 5
BUFFERS_KB = (128, 256, 512, 1024)


def page_times(lab: Lab, source: str, links: Sequence[Link]) -> Results:
    """Return the runs of all pairs of controls on some links."""
    cases: dict[Key, Mapping[str, Any]] = {}
    for link in links:
        for web in CONTROLS:
            cases[link.name, web, _ALONE, 0] = alone(link, web)
            for background in CONTROLS:
                for flows in LOADS:
                    cases[link.name, web, background, flows] = beside(link, web, background, flows)
    return measure(lab, f"cellular-{source}", base(), cases, seeds=RUNS)


def page(results: Results, key: Key) -> Number:
    """Return the time of a page in ms."""
    return results.number(key, PAGE_MS, WEB)


def fig32(lab: Lab) -> Findings:
    """Figure 3.2: response times of pages for all pairs of controls."""
    found = Findings()
    for source, links in sources().items():
        results = page_times(lab, source, links)
        found.show(
            f"fig3.2-{source}",
            clusters(
                {_title(link): _clusters(results, link) for link in links},
                across="control and number of the downloads in the background",
                up="web response time [s]",
                scale=1e-3,
            ),
            f"Mean web response time and its 95 % interval on {source} links, by the control of the web flow (legend)",
        )
        found.tables.append(_table(source, results, links))
        found.checks += _checks(source, results, links)
    table, by_buffer = _buffers(lab)
    found.tables.append(table)
    found.checks.append(by_buffer)
    found.verdict = _verdict(found.checks)
    found.text = (
        f"A page is one object of {WEB_BYTES // 1000} kB that is asked for at a random time of the recording; each of "
        f"the {RUNS} repetitions is a run with one page. All downloads share one queue of {BUFFER}, which a base "
        "station keeps for the user. The synthetic links come with Sojourn; recorded ones (Winstein, Sivaraman, "
        "Balakrishnan, NSDI 2013) are used where SOJOURN_CELLULAR names their folder. What the report calls 3G and "
        "3.5G is represented by the "
        "slower EVDO and the faster UMTS. A page that has not ended a minute or more after it could last begin is left "
        "out; the data say how many ended."
    )
    return found


def _title(link: Link) -> str:
    return f"{link.name} ({link.generation})"


def _clusters(results: Results, link: Link) -> Clusters:
    places = {_ALONE: {web: page(results, (link.name, web, _ALONE, 0)) for web in CONTROLS}}
    for flows in LOADS:
        for background in CONTROLS:
            places[f"{background}\n{flows}"] = {
                web: page(results, (link.name, web, background, flows)) for web in CONTROLS
            }
    return places


def _keys(links: Sequence[Link]) -> Iterator[Key]:
    for link, web in itertools.product(links, CONTROLS):
        yield link.name, web, _ALONE, 0
        yield from ((link.name, web, background, flows) for flows in LOADS for background in CONTROLS)


def _table(source: str, results: Results, links: Sequence[Link]) -> Table:
    columns = ("link", "web", "background", "flows", "page_ms", "half_ci95", "runs", "queue_ms_p50", "queue_ms_p90")
    rows = []
    for key in _keys(links):
        time = page(results, key)
        waits = [results.number(key, f"bottleneck_queue_ms_{part}", WEB).mean for part in ("p50", "p90")]
        # Where no page ended there is no time.
        numbers = (time.mean, time.half) if time.runs else (None, None)
        rows.append((*key, *numbers, time.runs, *waits))
    return Table(f"fig3.2-{source}", f"Web response times on {source} links", columns, tuple(rows))


def _checks(source: str, results: Results, links: Sequence[Link]) -> Iterator[Check]:
    for link in links:
        if link.generation != "4G":
            rises = _rises(results, link)
            pair = max(rises, key=rises.__getitem__)
            rise = rises[pair]
            yield check(
                f"{source}: {_title(link)}: background raises the web response time by over 500 % at some pair",
                "sometimes more than 500 %",
                f"up to {100 * (rise - 1):.0f} % ({pair})",
                agrees=rise > _RISE,
                why=_alone_long(results, link),
            )
    yield _fourth(source, results, links)
    for link in links:
        if link.generation != "4G":
            yield _twice(source, results, link)
    yield from _own(source, results, links)
    yield from _others(source, results, links)
    keys = list(_keys(links))
    missing = {key: RUNS - page(results, key).runs for key in keys}
    yield shown(
        f"{source}: pages that had not ended when their run did",
        "-",
        f"{sum(missing.values())} of {RUNS * len(keys)}"
        + "".join(f"; {label(key)}: {count}" for key, count in missing.items() if count),
    )


def _rises(results: Results, link: Link) -> dict[str, float]:
    """Return how many times longer a page takes beside five flows than alone, for the report's pairs."""
    return {
        f"{web} beside {background}": page(results, (link.name, web, background, LOADED)).mean
        / page(results, (link.name, web, _ALONE, 0)).mean
        for web in REPORT
        for background in REPORT
    }


def _fourth(source: str, results: Results, links: Sequence[Link]) -> Check:
    """Compare the rise, pair by pair, on 4G with that on the others."""
    rises = {link.generation: _rises(results, link) for link in links}
    pairs = rises["4G"]
    below = sum(rise < min(rises["3G"][pair], rises["3.5G"][pair]) for pair, rise in pairs.items())
    return check(
        f"{source}: 4G suffers less than 3G and 3.5G (rise with five flows, pair by pair)",
        "less of a problem",
        f"less than on both for {below} of {len(pairs)} pairs; "
        + ", ".join(
            f"{name} {min(parts.values()):.1f} to {max(parts.values()):.1f} times" for name, parts in rises.items()
        ),
        agrees=below == len(pairs),
        why=" ".join(_alone_long(results, link) for link in links)
        + " The rise is relative: where a page alone is short, the same wait is many times as long.",
    )


def _alone_long(results: Results, link: Link) -> str:
    alone_s, beside_s = (
        page(results, (link.name, "CUBIC", *rest)).mean / 1e3 for rest in ((_ALONE, 0), ("CUBIC", LOADED))
    )
    return (
        f"On this {link.name} a page of CUBIC takes {alone_s:.1f} s alone and {beside_s:.1f} s beside five downloads."
    )


def _twice(source: str, results: Results, link: Link) -> Check:
    """Compare CUBIC with Westwood+ in the background."""
    ratios, surely = [], 0
    for web in REPORT:
        for flows in LOADS:
            cubic, westwood = (page(results, (link.name, web, name, flows)) for name in ("CUBIC", "Westwood+"))
            ratios.append(cubic.mean / westwood.mean)
            keys = [(link.name, web, name, flows) for name in ("CUBIC", "Westwood+")]
            surely += results.difference(keys[0], keys[1], PAGE_MS, WEB).interval()[0] > 0
    middle = sum(ratios) / len(ratios)
    return check(
        f"{source}: {_title(link)}: CUBIC in the background about doubles the response time against Westwood+",
        "roughly twice",
        f"{middle:.2f} times ({min(ratios):.2f} to {max(ratios):.2f}); more beyond chance at {surely} of {len(ratios)}",
        agrees=_ABOUT_TWICE[0] <= middle <= _ABOUT_TWICE[1] and surely > len(ratios) / 2,
        why="The ratio grows with the buffer, which the report does not give: see the last check.",
    )


def _own(source: str, results: Results, links: Sequence[Link]) -> Iterator[Check]:
    """Test how much the web flow's own control matters."""
    for link in links:
        if link.generation == "4G":
            continue
        differ = total = same_seed = 0
        for background, flows in itertools.product(REPORT, LOADS):
            for one, other in itertools.combinations(REPORT, 2):
                keys = [(link.name, web, background, flows) for web in (one, other)]
                differ += not _holds_zero(page(results, keys[0]).minus(page(results, keys[1])))
                same_seed += not _holds_zero(results.difference(keys[0], keys[1], PAGE_MS, WEB).interval())
                total += 1
        slow = link.generation == "3G"
        yield check(
            f"{source}: {_title(link)}: the web flow's own control " + ("matters" if slow else "does not matter"),
            "significant impact" if slow else "no significant differences",
            f"95 % intervals of the difference exclude zero for {differ} of {total} pairs ({same_seed} where runs "
            "with the same seed are compared)",
            # One in twenty does so by chance.
            agrees=(differ > total / 20) == slow,
            why="As in the report, the difference of means is held against the whole spread of the repetitions, most "
            "of which is the link's: the number in brackets has it removed.",
        )


def _holds_zero(interval: tuple[float, float]) -> bool:
    return interval[0] <= 0 <= interval[1]


def _buffers(lab: Lab) -> tuple[Table, Check]:
    """Return how CUBIC's and Westwood+'s effect on a page depends on the buffer."""
    (link,) = (link for link in SYNTHETIC if link.generation == "3.5G")
    names = ("CUBIC", "Westwood+")
    cases: dict[Key, Mapping[str, Any]] = {
        (kilobytes, name): {
            **beside(link, "CUBIC", name, LOADED),
            "bottleneck.queue": {"kind": "droptail", "limit": f"{kilobytes} kB"},
        }
        for kilobytes in BUFFERS_KB
        for name in names
    }
    results = measure(lab, "cellular-buffers", base(), cases, seeds=RUNS)
    times = {key: page(results, key) for key in cases}
    rows = tuple((*key, time.mean, time.half, time.runs) for key, time in times.items())
    ratios = [times[kilobytes, names[0]].mean / times[kilobytes, names[1]].mean for kilobytes in BUFFERS_KB]
    columns = ("buffer_kB", "background", "page_ms", "half_ci95", "pages")
    return (
        Table("buffers", f"A page of CUBIC beside five downloads, {_title(link)}, by the buffer", columns, rows),
        shown(
            f"synthetic: {_title(link)}: response time beside five CUBIC over that beside five Westwood+, by buffer",
            "-",
            ", ".join(f"{size} kB {ratio:.2f}" for size, ratio in zip(BUFFERS_KB, ratios, strict=True)),
        ),
    )


def _others(source: str, results: Results, links: Sequence[Link]) -> Iterator[Check]:
    """Show what the report has not: BBR and LEDBAT++ in the background."""
    for link in links:
        times = {background: page(results, (link.name, "CUBIC", background, LOADED)) for background in CONTROLS}
        yield shown(
            f"{source}: {_title(link)}: a page of CUBIC beside five downloads",
            "-",
            ", ".join(f"{name} {time.mean / 1e3:.1f} ± {time.half / 1e3:.1f} s" for name, time in times.items())
            + f" (alone {page(results, (link.name, 'CUBIC', _ALONE, 0)).mean / 1e3:.1f} s; 95 % intervals)",
        )


def _verdict(checks: Sequence[Check]) -> str:
    rises = "; ".join(f"{one.claim.split(': background')[0]} {one.measured}" for one in checks if "500 %" in one.claim)
    return f"Background downloads raise the web response time: {rises}."


ITEMS = (
    Item(
        "fig3.2",
        "Fig. 3.2: web response times on cellular links",
        f"one page of {WEB_BYTES // 1000} kB beside 0, 1, 5 downloads on 3G, 3.5G and 4G links, {BUFFER} of buffer, "
        f"all pairs of {', '.join(CONTROLS)}; {RUNS} runs",
        fig32,
    ),
)
