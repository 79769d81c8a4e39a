"""Probing the path between this host and one of your own, where `sojourn agent` runs."""

from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

import numpy as np

from sojourn import api
from sojourn.detect.log import EMPTY, Log, of_table
from sojourn.detect.plan import FULL, FULL_COUNT, SMALL, SMALL_COUNT, Path, Stage
from sojourn.worlds.world import WorldError

NOMINAL_MBPS = 100.0
"""What `sojourn agent` allows at most unless told otherwise; the links of the stages have this rate on paper."""
DIRECTIONS = ("forward", "reverse")
_LINK = {"rate": f"{NOMINAL_MBPS:g} Mbit/s", "queue": "droptail"}
_PATH = {
    direction: Path(
        {"bottleneck": _LINK, "reverse": _LINK},
        "20 ms",
        control={"kind": "cubic", "preset": "linux"},
        direction=direction,
    )
    for direction in DIRECTIONS
}
# The packets of a train are sent in one go; the next train comes a quarter of a second later, or more.
_LONGEST_TRAIN_S = 0.1


class HeldUpError(WorldError):
    """A host was too busy to send the probe as planned."""


@dataclass
class Between:
    """The path between two hosts, and what was seen of it beside the probe."""

    peer: str
    """ADDRESS or ADDRESS:PORT of the agent."""
    secret_file: File | None = None
    direction: str = DIRECTIONS[0]
    """Whether the probe runs to the agent (forward) or from it (reverse)."""
    base_ms: float | None = None
    """The least round-trip time of the pings so far, where the agent's host answers them."""

    def send(self, stage: Stage) -> Log:
        """Send a stage.

        Raises
        ------
        HeldUpError
            A train was not sent in one go.
        WorldError
            The hosts cannot be reached, or do not do what was asked.
        InputError
            The agent does not allow it.
        """
        scenario = api.scenario(stage.scenario(_PATH[self.direction], seed=1))
        how: dict[str, Any] = {"peer": self.peer, "secret_file": self.secret_file}
        result = scenario.run(series=False, packets=True, jobs=1, world="hosts", **how)
        base_ms = result.runs[0].bottleneck.ping_ms.base
        if base_ms is not None:
            self.base_ms = base_ms if self.base_ms is None else min(base_ms, self.base_ms)
        log = of_table(result.packets)
        check_trains(log)
        return log


def check_trains(log: Log) -> None:
    """Raise HeldUpError where the packets of a train were not sent in one go."""
    for name, count in ((FULL, FULL_COUNT), (SMALL, SMALL_COUNT)):
        sent_s = log.get(name, EMPTY).sent_s
        trains = sent_s[: len(sent_s) // count * count].reshape(-1, count)
        if len(trains) and float(np.ptp(trains, axis=1).max()) > _LONGEST_TRAIN_S:
            raise HeldUpError(
                "a host was held up while it sent the probe's trains, or its agent allows less than the path carries "
                "(its option --max-rate). Run it again when the host is idle"
            )
