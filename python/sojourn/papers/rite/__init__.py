"""RITE D2.1: what queues do to flows for which time matters, and what the low-latency AQMs do about it."""

from sojourn.papers.rite import cures, drift, gradient, short, web
from sojourn.papers.study import Study

RITE = Study(
    name="rite",
    title="Network systems analysis and preliminary development report",
    source="RITE (Reducing Internet Transport Latency, EU FP7 317700), deliverable D2.1, November 2013",
    items=(*drift.ITEMS, *cures.ITEMS, *short.ITEMS, *web.ITEMS, *gradient.ITEMS),
    pictures=(
        ("drift", "drift"),
        ("cures", "cures"),
        ("short", "short"),
        ("short", "aqm"),
        ("web", "web"),
        ("cdg-backoff", "backoffs"),
    ),
)
