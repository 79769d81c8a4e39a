"""Gong, Rossi, Testa, Valenti, Täht: low-priority congestion control meets active queue management."""

from sojourn.papers.gong import disciplines
from sojourn.papers.study import Study

GONG = Study(
    name="gong",
    title="Fighting the bufferbloat: on the coexistence of AQM and low priority congestion control",
    source="Gong, Rossi, Testa, Valenti, Täht, Computer Networks 65 (2014); workshop version at TMA 2013",
    items=(*disciplines.ITEMS,),
)
