"""Gong, Rossi, Testa, Valenti, Täht: their testbed, on a Linux kernel of today."""

from sojourn.papers.testbed import evolution, scan, tables, today, worlds
from sojourn.study.model import Study

GONG_TESTBED = Study(
    name="gong-testbed",
    title="Fighting the bufferbloat: the testbed, on a Linux kernel of today",
    source="Gong, Rossi, Testa, Valenti, Täht, Computer Networks 65 (2014), section 5.1",
    items=(*tables.ITEMS, *scan.ITEMS, *evolution.ITEMS, *today.ITEMS, *worlds.ITEMS),
    pictures=(("table3", "table3"), ("red", "red"), ("fig11", "fig11"), ("today", "today"), ("worlds", "worlds")),
)
