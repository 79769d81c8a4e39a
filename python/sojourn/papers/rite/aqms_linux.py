"""Figure 4.2 on the Linux kernel's own disciplines, beside the same in simulation."""

from collections.abc import Mapping
from typing import Any

from sojourn.papers.measures import Key, check, span
from sojourn.papers.rite.access import LEVELS, PAIRS, QUEUES, RATE_MBPS, RTTS_MS, TARGET_MS, base, place
from sojourn.papers.rite.aqms import QUANTILES, five
from sojourn.papers.rite.whiskers import PARTS, Five, Places, whiskers
from sojourn.papers.two_worlds import KERNEL, SIM, WORLDS, measure_both
from sojourn.study.lab import Lab
from sojourn.study.model import Findings, Item, Table

# The report's three and FQ-CoDel; the level in the middle. A kernel's second costs more than a simulated one.
COMPARED = ("ARED", "CoDel", "PIE", "FQ-CoDel")
LEVEL = "moderate"
TIMES = {"duration": "30 s", "warmup": "15 s"}
RUNS = {KERNEL: 1, SIM: 10}
# Said before the runs, as for every comparison of the two worlds: within a quarter or 5 ms.
WITHIN, WITHIN_MS = 0.25, 5.0


def cases() -> dict[Key, Mapping[str, Any]]:
    """Return every discipline at every base round-trip time."""
    return {
        (name, rtt): {"bottleneck.queue": QUEUES[name](TARGET_MS), **place(rtt, LEVEL)}
        for name in COMPARED
        for rtt in RTTS_MS
    }


def figure(lab: Lab) -> Findings:
    """Return the percentiles of delay in both worlds."""
    scenario = {**base(), **TIMES}
    both = measure_both(lab, "aqms", scenario, cases(), RUNS)
    delays: dict[Key, dict[str, Five]] = {
        key: {world: five(results, key) for world, results in both.found.items()} for key in cases()
    }
    found = Findings()
    shown: dict[str, Places] = {
        f"base RTT {rtt:g} ms": {name: delays[name, rtt] for name in COMPARED} for rtt in RTTS_MS
    }
    found.show(
        "fig4.2-linux",
        whiskers(shown, across="discipline", up="queueing delay [ms]"),
        "Per-packet queueing delay on the kernel and simulated: 10th, 25th, 50th, 75th and 90th percentile",
    )
    rows = tuple((world, *key, *fives[world]) for key, fives in delays.items() for world in WORLDS)
    columns = ("world", "queue", "base_rtt_ms", *(f"p{round(100 * part)}_ms" for part in PARTS))
    found.tables.append(Table("fig4.2-linux", "Percentiles of delay", columns, rows))
    alike = 0
    for name in COMPARED:
        far = [
            f"{rtt:g} ms: {' / '.join(f'{part:.1f}' for part in delays[name, rtt][KERNEL])} against "
            f"{' / '.join(f'{part:.1f}' for part in delays[name, rtt][SIM])} ms, the last of which is "
            f"{span(both.found[SIM].values((name, rtt), QUANTILES[-1]))} ms in single simulated runs"
            for rtt in RTTS_MS
            if not _alike(delays[name, rtt])
        ]
        alike += len(RTTS_MS) - len(far)
        found.checks.append(
            check(
                f"{name}: each percentile of delay is the kernel's",
                f"within {100 * WITHIN:.0f} % or {WITHIN_MS:g} ms",
                f"at {len(RTTS_MS) - len(far)} of {len(RTTS_MS)} base round-trip times",
                agrees=not far,
                why=f"Open; kernel against simulated, at a base RTT of {'; '.join(far)}",
            )
        )
    found.verdict = (
        f"On the Linux kernel's own disciplines all of {len(QUANTILES)} percentiles of delay are those simulated, "
        f"within {100 * WITHIN:.0f} % or {WITHIN_MS:g} ms, at {alike} of {len(delays)} places."
    )
    found.text = (
        f"The kernel has {RUNS[KERNEL]} run of each, so that chance is not excluded. PIE's timer counts in ticks of 10 "
        "ms there, so that its update comes every 30 ms instead of 15: simulated PIE has that, too. It matters at a "
        "base RTT of 500 ms, where 15 ms let the 90th percentile be about twice as long."
    )
    return found


def _alike(both: Mapping[str, Five]) -> bool:
    pairs = zip(both[KERNEL], both[SIM], strict=True)
    return all(abs(real - simulated) <= max(WITHIN * real, WITHIN_MS) for real, simulated in pairs)


ITEMS = (
    Item(
        "fig4.2-linux",
        "Figure 4.2 on the Linux kernel",
        f"{RATE_MBPS:g} Mbit/s, {PAIRS * LEVELS[LEVEL]} CUBIC flows, target {TARGET_MS:g} ms, behind the kernel's own "
        f"disciplines and simulated; {TIMES['duration']}, measured from {TIMES['warmup']} on; "
        f"{RUNS[KERNEL]} run on the kernel, {RUNS[SIM]} simulated",
        figure,
        needs_kernel=True,
    ),
)
