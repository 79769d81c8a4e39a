"""Braud, Heusse, Duda: small packets shorten a queue that counts packets."""

from sojourn.papers.braud import model, responses, table1, table2, table3
from sojourn.papers.study import Study

BRAUD = Study(
    name="braud",
    title="TCP over large buffers: when adding traffic improves latency",
    source="Braud, Heusse, Duda, Grenoble Institute of Technology, CNRS Grenoble Informatics Laboratory",
    items=(*model.ITEMS, *table1.ITEMS, *table2.ITEMS, *table3.ITEMS, *responses.ITEMS),
    pictures=(("model", "model"),),
)
