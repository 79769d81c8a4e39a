"""RITE D2.1: what queues do to flows for which time matters, and what the low-latency AQMs do about it."""

from sojourn.papers.rite import (
    aqms,
    buffers,
    cellular,
    cures,
    drift,
    early,
    fluctuating,
    gradient,
    sensitivity,
    short,
    web,
)
from sojourn.papers.rite.summary import summary
from sojourn.papers.study import Study

RITE = Study(
    name="rite",
    title="Network systems analysis and preliminary development report",
    source="RITE (Reducing Internet Transport Latency, EU FP7 317700), deliverable D2.1, November 2013",
    items=(
        *drift.ITEMS,
        *cures.ITEMS,
        *short.ITEMS,
        *web.ITEMS,
        *gradient.ITEMS,
        *cellular.ITEMS,
        *fluctuating.ITEMS,
        *aqms.ITEMS,
        *sensitivity.ITEMS,
        *early.ITEMS,
        *buffers.ITEMS,
    ),
    summary=summary,
    pictures=(
        ("drift", "drift"),
        ("cures", "cures"),
        ("short", "short"),
        ("short", "aqm"),
        ("web", "web"),
        ("cdg-backoff", "backoffs"),
        ("fig3.2", "fig3.2-synthetic"),
        ("fluctuating", "fluctuating-synthetic"),
        ("fig4.2", "fig4.2"),
        ("fig4.4", "fig4.4"),
        ("sensitivity", "sensitivity"),
        ("buffers", "buffers"),
        ("table4.1", "table4.1"),
        ("aggressive", "aggressive"),
    ),
)
