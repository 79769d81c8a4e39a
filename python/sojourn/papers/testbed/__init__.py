"""Gong, Rossi, Testa, Valenti, Täht: their testbed, on a Linux kernel of today."""

from sojourn.papers.study import Study
from sojourn.papers.testbed import tables

GONG_TESTBED = Study(
    name="gong-testbed",
    title="Fighting the bufferbloat: the testbed, on a Linux kernel of today",
    source="Gong, Rossi, Testa, Valenti, Täht, Computer Networks 65 (2014), section 5.1",
    items=tables.ITEMS,
    pictures=(("table3", "table3"),),
)
