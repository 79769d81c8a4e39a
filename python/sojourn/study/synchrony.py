"""Whether flows lose packets at the same time."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class Synchrony:
    """How far flows lose together in a run."""

    share: float
    """Mean over congestion epochs of the share of the flows that lose in it (Hassayoun and Ros 2008). An epoch begins
    with a loss outside of one."""
    by_chance: float
    """The same share if each epoch's losses were dealt to the flows at random."""
    phi: float
    """Mean over pairs of flows of the correlation of losing in a window as long as an epoch: 0 where they are
    independent, 1 where they always lose together."""

    @classmethod
    def of(cls, losses: Sequence[tuple[float, int]], flows: int, epoch_s: float, start_s: float, end_s: float) -> Self:
        """Measure losses, each a time in seconds and the number of its flow, between two times; 0 without any."""
        measured = sorted(loss for loss in losses if start_s <= loss[0] < end_s)
        epochs: list[list[int]] = []
        until = start_s
        for time_s, flow in measured:
            if time_s >= until or not epochs:
                epochs.append([])
                until = time_s + epoch_s
            epochs[-1].append(flow)
        if not epochs:
            return cls(0.0, 0.0, 0.0)
        share = statistics.fmean(len(set(epoch)) / flows for epoch in epochs)
        chance = statistics.fmean(1 - (1 - 1 / flows) ** len(epoch) for epoch in epochs)
        return cls(share, chance, _phi(measured, flows, epoch_s, start_s, end_s))


def _phi(losses: Sequence[tuple[float, int]], flows: int, epoch_s: float, start_s: float, end_s: float) -> float:
    """Return the correlation over pairs of flows that sometimes lose and sometimes do not; 0 without any."""
    import numpy as np

    lost = np.zeros((flows, max(round((end_s - start_s) / epoch_s), 1)))
    for time_s, flow in losses:
        lost[flow, min(int((time_s - start_s) / epoch_s), lost.shape[1] - 1)] = 1
    varied = lost[lost.std(axis=1) > 0]
    if len(varied) <= 1:
        return 0.0
    return float(np.corrcoef(varied)[np.triu_indices(len(varied), 1)].mean())
