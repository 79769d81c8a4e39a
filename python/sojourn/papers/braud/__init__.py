"""Braud, Heusse, Duda: small packets shorten a queue that counts packets."""

from sojourn.papers.braud import kernel, model, remedies, responses, table1, table2, table3
from sojourn.papers.braud.summary import summary
from sojourn.study.model import Study

BRAUD = Study(
    name="braud",
    title="TCP over large buffers: when adding traffic improves latency",
    source="Braud, Heusse, Duda, Grenoble Institute of Technology, CNRS Grenoble Informatics Laboratory",
    items=(
        *model.ITEMS,
        *table1.ITEMS,
        *table2.ITEMS,
        *table3.ITEMS,
        *kernel.ITEMS,
        *responses.ITEMS,
        *remedies.ITEMS,
    ),
    summary=summary,
    pictures=(
        ("model", "model"),
        ("table3", "fig6"),
        ("table3", "fig7"),
        ("testbed", "fig8-10"),
        ("testbed", "fig9-11"),
        ("adsl", "fig12-13"),
        ("adsl", "fig14"),
        ("today", "today"),
        ("remedies", "remedies"),
    ),
)
