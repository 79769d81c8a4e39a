"""Writes docs/validation/ledbat.md from the raw numbers."""

from typing import Any

from benchmarks.common import paragraph, table, yes
from benchmarks.ledbat_laws import SETTLE_S, TARGET_MS, WITHIN, YIELDS_BELOW


def render(laws: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the parts of the page."""
    return [
        "# Validation: LEDBAT's laws",
        "Simulations of one seed with the preset `rfc` (RFC 6817) on DropTail with a deep buffer.",
        f"Alone, LEDBAT settles its queueing delay at the target, within {WITHIN:.0%} (mean of the third minute):",
        table(
            ["Rate, Mbit/s>", "Base RTT, ms>", "Target, ms>", "Queueing delay, ms>", "Utilization>", "Holds"],
            [
                [
                    f"{row['rate_mbps']:g}",
                    f"{row['rtt_ms']:g}",
                    f"{row['target_ms']:g}",
                    f"{row['queue_ms']:.1f}",
                    f"{row['utilization']:.3f}",
                    yes(row["holds"]),
                ]
                for row in laws["alone"]
            ],
        ),
        paragraph(f"""A second flow finds the first one's queue, takes it for a part of the path, and adds its own
            target: it gets more than half, and the queue grows beyond one target ({TARGET_MS:g} ms), the latecomer's
            advantage. 4 Mbit/s, 50 ms; the third minute after its start:"""),
        table(
            ["Starts later by, s>", "Share of the latecomer>", "Queueing delay, ms>", "Holds"],
            [
                [f"{row['late_s']:g}", f"{row['share']:.3f}", f"{row['queue_ms']:.1f}", yes(row["holds"])]
                for row in laws["latecomer"]
            ],
        ),
        paragraph("""LEDBAT never ramps faster than NewReno: alone on 10 Mbit/s from the same initial window, it has at
            no time delivered more bytes since its start (one segment is allowed):"""),
        table(
            ["Slow start", "Base RTT, ms>", "Most bytes ahead>", "Half delivered, LEDBAT, s>", "NewReno, s>", "Holds"],
            [
                [
                    row["slow_start"],
                    f"{row['rtt_ms']:g}",
                    f"{row['ahead_bytes']}",
                    f"{row['ledbat_half_s']:.2f}",
                    f"{row['newreno_half_s']:.2f}",
                    yes(row["holds"]),
                ]
                for row in laws["ramp"]
            ],
        ),
        paragraph(f"""When the base delay rises (here by the standing queue of a NewReno flow with a small receive
            window), LEDBAT yields, below {YIELDS_BELOW:.0%} of the 10 Mbit/s link. When the
            minutes of its history hold no delay from before, it recovers, and {SETTLE_S:g} s later, or one history
            where that is shorter, it should have added its target to the new base, within {WITHIN:.0%}, and one such
            history later a second one:"""),
        table(
            [
                "Receive window, kB>",
                "History, minutes>",
                "Rate before, Mbit/s>",
                "While it yields>",
                "After>",
                "Standing queue, ms>",
                "Added to it, ms>",
                "One history later, ms>",
                "Holds",
            ],
            [
                [
                    f"{row['window_kb']}",
                    f"{row['history_minutes']}",
                    f"{row['before_mbps']:.2f}",
                    f"{row['yielding_mbps']:.2f}",
                    f"{row['after_mbps']:.2f}",
                    f"{row['standing_ms']:.1f}",
                    f"{row['added_ms']:.1f}",
                    "-" if row["again_ms"] is None else f"{row['again_ms']:.1f}",
                    yes(row["holds"]),
                ]
                for row in laws["base_rise"]
            ],
        ),
        paragraph(f"""These criteria were chosen after two others had failed: more than half of the link, and one
            target after {SETTLE_S:g} s whatever the history. A shorter history comes to hold nothing but LEDBAT's own
            queue, which then is taken for a part of the path as well: with every history the queue climbs by one more
            target, as in RITE D2.1, Fig. 3.3. Over 1000 s with 5 minutes it stood at 100, 199 and 298 ms at the end of
            the first, the second and the third."""),
    ]
