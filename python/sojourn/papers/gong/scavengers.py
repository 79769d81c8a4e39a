"""Figure 5: every low-priority control under every discipline."""

import itertools
from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes

from sojourn.figures.style import CAPACITY
from sojourn.papers.gong.drawing import look, panels
from sojourn.papers.gong.world import AQMS, PACKETS, QUEUES, base, queue
from sojourn.papers.measures import QUEUE_PACKETS, SEEDS, SHARE, UTILIZATION, Key, Number, check, measure, shown, span
from sojourn.study.lab import Lab
from sojourn.study.model import Findings, Item, Table

# From the least to the most aggressive, as the paper orders them. Of the three ns-2 brings TCP-LP only: its agent
# TCP/Linux compiles the module of Linux 2.6.22. The authors patched in LEDBAT and NICE, the latter of which is not
# published.
CONTROLS: dict[str, Any] = {
    "LEDBAT": "ledbat",
    "NICE": {"kind": "nice", "preset": "paper"},
    "TCP-LP": {"kind": "tcp_lp", "preset": "ns2"},
}
# The implementations that the paper may have had instead.
VARIANTS: dict[str, Any] = {
    "LEDBAT (RFC 6817)": {"kind": "ledbat", "preset": "rfc"},
    "NICE (Linux)": {"kind": "nice", "preset": "linux"},
    "TCP-LP (its paper)": {"kind": "tcp_lp", "preset": "paper"},
}
_STYLES = {"LEDBAT": "-", "NICE": "--", "TCP-LP": ":"}
# The same ten flows in ns-2.35, run for this comparison: shares of TCP with two seeds each.
_NS2_TCP_LP = "97 % under DropTail, 66 to 68 under RED, 69 under DRR, 66 under SFQ"
# "Near full" and "short" of 400 packets, a high share, and one slightly over half.
_FULL, _SHORT = 0.65, 0.1
_HIGH = 0.9
_HALF = (0.45, 0.6)


def controls(lab: Lab) -> dict[tuple[str, str], tuple[Number, Number, Number]]:
    """Return queue, share and utilization of each control under each discipline."""
    kinds = CONTROLS | VARIANTS
    cases: dict[Key, Mapping[str, Any]] = {
        (control, name): {"bottleneck.queue": queue(name), "group.background.control": kind}
        for control, kind in kinds.items()
        for name in QUEUES
    }
    results = measure(lab, "controls", base(), cases)
    metrics = (QUEUE_PACKETS, SHARE, UTILIZATION)
    return {
        (control, name): tuple(results.numbers((control, name), metrics))  # type: ignore[misc]
        for control in kinds
        for name in QUEUES
    }


def fig5(lab: Lab) -> Findings:
    """Queue and share of the product of controls and disciplines."""
    measured = controls(lab)
    found = Findings()
    rows = [
        (control, name, queue.mean, queue.sd, 100 * share.mean, 100 * share.sd, 100 * used.mean, 100 * used.sd)
        for (control, name), (queue, share, used) in measured.items()
    ]
    columns = (
        *("control", "discipline", "queue_packets", "sd_queue", "tcp_share_percent", "sd_share"),
        *("utilization_percent", "sd_utilization"),
    )
    found.tables.append(Table("controls", "Low-priority controls under all disciplines", columns, tuple(rows)))

    def draw(index: int, axes: Axes) -> None:
        for control, style in zip((CONTROLS, VARIANTS)[index], _STYLES.values(), strict=True):
            for name in QUEUES:
                packets, share, _ = measured[control, name]
                label = name if style == "-" else None
                axes.plot([0, 1], [packets.mean / PACKETS, share.mean], linestyle=style, label=label, **look(name))
        # The paper's ideal: a short queue, and priorities as under DropTail.
        axes.fill_between([0, 1], [0, _HIGH], [_SHORT, 1], color=CAPACITY, zorder=0, label="ideal")
        axes.set_xticks([0, 1], ["mean queue / buffer", "TCP's share"])
        axes.set_xlim(-0.2, 1.15)
        axes.set_ylim(0, 1.02)

    titles = ("LEDBAT -, NICE - -, TCP-LP ...", "the same; RFC 6817, NICE of Linux, TCP-LP's paper")
    found.show("fig5", panels(titles, draw, height_in=3.2), "Each line is a low-priority control under a discipline")
    tail = {control: measured[control, "DropTail"] for control in CONTROLS}
    pairs = [(control, name) for control in CONTROLS for name in AQMS]
    outside = [f"{c} under {n} {100 * measured[c, n][1].mean:.0f} %" for c, n in pairs if not _fair(measured[c, n][1])]
    shares = [measured[pair][1].mean for pair in pairs]
    shorter = [measured[pair][0].mean / PACKETS for pair in pairs]
    found.checks = [
        check(
            "under DropTail the queue is nearly full, with every control",
            "full",
            ", ".join(f"{control} {packets.text(0)}" for control, (packets, _, _) in tail.items()) + " packets",
            agrees=all(packets.mean >= _FULL * PACKETS for packets, _, _ in tail.values()),
            why="Five NewReno flows that lose together halve together, so that the mean lies well below the limit; the "
            "paper's own numbers (77 times RED's queue) make it about 290 of 400.",
        ),
        check(
            "under DropTail TCP has most of the link, with every control",
            "high",
            ", ".join(f"{control} {share.text(1, 100)} %" for control, (_, share, _) in tail.items()),
            agrees=all(share.mean >= _HIGH for _, share, _ in tail.values()),
        ),
        _order("under DropTail TCP's share is largest against LEDBAT, then NICE, then TCP-LP", measured, CONTROLS),
        check(
            "under every AQM the queue is short, with every control",
            "short",
            f"{span(shorter, 1, 100)} % of the buffer",
            agrees=max(shorter) <= _SHORT,
        ),
        check(
            "under every AQM TCP has slightly over half of the link, with every control",
            "slightly over half",
            f"{span(shares, 0, 100)} %" + (f"; outside of 45 to 60 %: {', '.join(outside)}" if outside else ""),
            agrees=not outside,
            why="NICE and TCP-LP measure delay against the range they have seen, not against 100 ms, and so still "
            "see the short queue of an AQM: they yield further than LEDBAT does. ns-2.35 itself, with its own TCP-LP "
            f"beside five NewReno flows, leaves TCP {_NS2_TCP_LP} (run by hand: no command of the project repeats it): "
            "what the paper calls slightly over half is "
            "read from lines close to each other. NICE's rules, by its paper, empty queues of its own flows; a port to "
            "Linux that never goes below two segments yields less (last check).",
        ),
        check(
            "under every AQM TCP has less than under DropTail, with every control",
            "less",
            f"{span(shares, 0, 100)} against {span([share.mean for _, share, _ in tail.values()], 0, 100)} %",
            agrees=all(tail[c][1].above(measured[c, n][1]) for c, n in pairs),
        ),
    ]
    found.checks.append(
        shown(
            "the last but one with other implementations: " + ", ".join(VARIANTS),
            "slightly over half",
            "; ".join(
                f"{control} {span([measured[control, name][1].mean for name in AQMS], 0, 100)} %"
                for control in VARIANTS
            ),
        )
    )
    least = min(pairs, key=lambda pair: measured[pair][1].mean)
    most = max(pairs, key=lambda pair: measured[pair][1].mean)
    less = sum(tail[c][1].above(measured[c, n][1]) for c, n in pairs)
    found.verdict = (
        f"In {less} of {len(pairs)} pairs of control and AQM TCP has less than under DropTail: from "
        f"{100 * measured[least][1].mean:.0f} % ({least[0]} under {least[1]}) to {100 * measured[most][1].mean:.0f} % "
        f"({most[0]} under {most[1]})."
    )
    return found


def _fair(share: Number) -> bool:
    return _HALF[0] <= share.mean <= _HALF[1]


def _order(
    claim: str, measured: Mapping[tuple[str, str], tuple[Number, Number, Number]], order: Mapping[str, Any]
) -> Any:
    shares = {control: measured[control, "DropTail"][1] for control in order}
    numbers = list(shares.values())
    ranked = sorted(shares, key=lambda control: -shares[control].mean)
    return check(
        claim,
        " > ".join(order),
        " > ".join(f"{control} ({shares[control].text(1, 100)})" for control in ranked),
        agrees=all(more.above(less) for more, less in itertools.pairwise(numbers)),
        why="All three yield almost everything, and the order of what is left depends on the implementation: with "
        "NICE as it was ported to Linux, of which a flow keeps two segments, TCP has "
        f"{measured['NICE (Linux)', 'DropTail'][1].text(1, 100)} %, less than beside LEDBAT.",
    )


ITEMS = (
    Item(
        "fig5",
        "Fig. 5: any low-priority control under any discipline",
        f"5 NewReno and 5 low-priority flows, 4 Mbit/s, {PACKETS} packets, 50 ms, 60 s, {SEEDS} runs; LEDBAT and "
        "TCP-LP of ns-2, NICE as its paper describes it",
        fig5,
    ),
)
