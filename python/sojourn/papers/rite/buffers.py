"""Section 4.1.2: AQMs in buffers of home gateways, and in multiples of the bandwidth-delay product."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from sojourn.papers.measures import UTILIZATION, Key, Results, check, measure
from sojourn.papers.rite.drawing import panels, points
from sojourn.papers.rite.plan import DISCIPLINES, NO_AQM, PACKET_BYTES, SINGLE_QUEUE_AQMS, bulk, link
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table

RUNS = 5
WARMUP_S, DURATION_S = 20, 80
TAIL = "bottleneck_queue_ms_p90"
# Criteria, from before the first run.
_SAME = 0.2
"""A tail that the buffer does not decide varies by no more than this part from the middle to the largest buffer."""
_FOLLOWS = 0.5
"""A tail that the buffer decides is at least this part of the time that the full buffer takes."""
_USED = 0.9
_SHORT_BUFFER = 0.25
"""Times the bandwidth-delay product."""


@dataclass(frozen=True)
class Access:
    """An access link, and the sizes of buffer that are tried on it."""

    name: str
    rate_mbps: float
    rtt_ms: float
    flows: int
    buffers_kb: tuple[float, ...]

    @property
    def bdp_kb(self) -> float:
        """Return the bandwidth-delay product.

        >>> Access("a link", 10.0, 100.0, 1, ()).bdp_kb
        125.0
        """
        return self.rate_mbps * self.rtt_ms / 8

    def full_ms(self, buffer_kb: float) -> float:
        """Return how long a full buffer takes to send.

        >>> Access("a link", 1.0, 50.0, 1, ()).full_ms(125.0)
        1000.0
        """
        return buffer_kb * 8 / self.rate_mbps


GATEWAY = Access("gateway's uplink", 1.0, 50.0, 4, (16.0, 32.0, 64.0, 94 * 1.024, 128.0, 256.0))
DOWNLINK = Access("downlink", 10.0, 100.0, 8, tuple(125.0 * part for part in (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)))
LINKS = (GATEWAY, DOWNLINK)


def results_of(lab: Lab, access: Access) -> Results:
    """Return the runs of all disciplines with all buffers."""
    rate, rtt = f"{access.rate_mbps:g} Mbit/s", f"{access.rtt_ms:g} ms"
    base = {
        "name": "rite-buffers",
        "duration": f"{DURATION_S} s",
        "warmup": f"{WARMUP_S} s",
        "bottleneck": link(rate, "100 packets"),
        "group": [bulk(access.flows, rtt)],
    }
    cases: dict[Key, Mapping[str, Any]] = {
        (name, size): {"bottleneck": link(rate, f"{1000 * size:g} B", queue)}
        for name, queue in DISCIPLINES.items()
        for size in access.buffers_kb
    }
    return measure(lab, f"buffers-{access.rate_mbps:g}", base, cases, seeds=RUNS)


def buffers(lab: Lab) -> Findings:
    """Compare delay and use of the link by the size of the buffer."""
    found = Findings()
    every = {access: results_of(lab, access) for access in LINKS}
    metrics = (("90th percentile of delay [ms]", TAIL, 1.0), ("utilization [%]", UTILIZATION, 100.0))
    plots = [(access, *metric) for access in LINKS for metric in metrics]

    def draw(index: int, axes: Axes) -> None:
        access, up, metric, scale = plots[index]
        for position, name in enumerate(DISCIPLINES):
            numbers = [every[access].number((name, size), metric) for size in access.buffers_kb]
            axes.errorbar(
                access.buffers_kb,
                [scale * number.mean for number in numbers],
                yerr=[scale * number.half for number in numbers],
                label=name,
                elinewidth=0.8,
                **points(position),
            )
        axes.set_xscale("log")
        axes.set_xticks(access.buffers_kb, [f"{size:.0f}" for size in access.buffers_kb])
        axes.minorticks_off()
        if metric == TAIL:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter("")
        axes.set_xlabel(f"buffer [kB]; the bandwidth-delay product is {access.bdp_kb:.4g} kB")
        axes.set_ylabel(up)

    titles = [f"{access.name}, {access.rate_mbps:g} Mbit/s, {access.rtt_ms:g} ms" for access, *_ in plots]
    found.show(
        "buffers",
        panels(titles, draw, rows=2, height_in=6.2, drop=0.22, ncols=3),
        "Delay and use of the link by the size of the buffer; means and 95 % intervals",
    )
    rows = []
    for access, results in every.items():
        found.checks += _checks(access, results)
        for name in DISCIPLINES:
            for size in access.buffers_kb:
                tail, used = results.numbers((name, size), (TAIL, UTILIZATION))
                numbers = (tail.mean, tail.half, used.mean, used.half)
                rows.append((access.name, name, size, size / access.bdp_kb, access.full_ms(size), *numbers))
    columns = (
        *("link", "discipline", "buffer_kb", "bdps", "full_ms"),
        *("queue_ms_p90", "half_ci95", "utilization", "half_ci95_utilization"),
    )
    found.tables.append(Table("buffers", "Delay and utilization by buffer", columns, tuple(rows)))
    large = every[GATEWAY]
    most = GATEWAY.buffers_kb[-1]
    tails = {name: large.number((name, most), TAIL).mean for name in DISCIPLINES}
    found.verdict = (
        f"Behind {most:g} kB at 1 Mbit/s the 90th percentile of delay is {tails[NO_AQM] / 1e3:.1f} s without an AQM "
        f"and {min(tails[name] for name in SINGLE_QUEUE_AQMS):.0f} to "
        f"{max(tails[name] for name in SINGLE_QUEUE_AQMS):.0f} ms with one in a single queue."
    )
    found.text = (
        "The gateway's buffers are doublings from 16 to 256 kB, and the 94 KiB that have been counted in a cable modem "
        "with an uplink of 2.5 Mbit/s (R. Mounce, Telstra EuroDOCSIS 3.0, CG3100D). The report names a survey of homes "
        "(DiCioccio and others, PAM 2012) without its sizes: how many homes have which is not claimed here."
    )
    return found


def _checks(access: Access, results: Results) -> Iterator[Check]:
    middle, most = access.buffers_kb[-3], access.buffers_kb[-1]
    tail = results.number((NO_AQM, most), TAIL)
    full = access.full_ms(most)
    yield check(
        f"{access.name}: without an AQM the largest buffer decides the delay: 90th percentile at least half of it",
        f"expected: half of {full:.0f} ms or more",
        f"{tail.text()} ms",
        agrees=tail.interval()[0] >= _FOLLOWS * full,
    )
    for name in SINGLE_QUEUE_AQMS:
        one, other = (results.number((name, size), TAIL) for size in (middle, most))
        low, high = results.difference((name, most), (name, middle), TAIL).interval()
        yield check(
            f"{access.name}: under {name} the buffer does not: {most:.0f} instead of {middle:.0f} kB change the "
            "90th percentile by less than a fifth",
            "expected",
            f"{one.text()} and {other.text()} ms",
            agrees=-_SAME * one.mean < low and high < _SAME * one.mean,
        )
    short = min(access.buffers_kb, key=lambda size: abs(size - _SHORT_BUFFER * access.bdp_kb))
    used = {name: results.number((name, short), UTILIZATION) for name in DISCIPLINES}
    yield check(
        f"{access.name}: with {short:.4g} kB ({short / access.bdp_kb:.2g} bandwidth-delay products, "
        f"{1000 * short / PACKET_BYTES:.0f} packets) every discipline still uses 90 % of the link",
        "expected of several flows",
        ", ".join(f"{name} {number.text(1, 100)}" for name, number in used.items()) + " %",
        agrees=all(number.interval()[0] > _USED for number in used.values()),
    )


ITEMS = (
    Item(
        "buffers",
        "Section 4.1.2: buffers of gateways, and multiples of the bandwidth-delay product",
        f"{GATEWAY.flows} CUBIC flows on an uplink of 1 Mbit/s and 50 ms, {DOWNLINK.flows} on a downlink of 10 Mbit/s "
        f"and 100 ms; {DURATION_S - WARMUP_S} s after {WARMUP_S} s; {RUNS} runs",
        buffers,
    ),
)
