"""Gong, Rossi, Testa, Valenti, Täht: low-priority congestion control meets active queue management."""

from sojourn.papers.gong import (
    capacity,
    disciplines,
    duty,
    fairness,
    grid,
    motivating,
    questions,
    scavengers,
    today,
    variation,
)
from sojourn.papers.gong.summary import summary
from sojourn.study.model import Study

GONG = Study(
    name="gong",
    title="Fighting the bufferbloat: on the coexistence of AQM and low priority congestion control",
    source="Gong, Rossi, Testa, Valenti, Täht, Computer Networks 65 (2014); workshop version at TMA 2013",
    items=(
        *motivating.ITEMS,
        *disciplines.ITEMS,
        *scavengers.ITEMS,
        *grid.ITEMS,
        *capacity.ITEMS,
        *duty.ITEMS,
        *fairness.ITEMS,
        *variation.ITEMS,
        *questions.ITEMS,
        *today.ITEMS,
    ),
    summary=summary,
    pictures=(("fig2", "fig2"), ("fig3", "fig3"), ("fig5", "fig5"), ("fig6", "fig6-50-ms"), ("today", "today-20")),
)
