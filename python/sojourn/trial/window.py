"""A control's congestion window over time: alone, and when a NewReno flow joins."""

from typing import TYPE_CHECKING

from sojourn.trial.laws import droptail, lab

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from sojourn.result import Result

OWN = "mine"
"""The group of the control on trial."""
JOINING, JOINS_S = "newreno", 20
DURATION_S = 40
# The bandwidth-delay product of the lab's 10 Mbit/s and 40 ms.
BUFFER_PACKETS = 34
BIN_S = 0.1
_BARS = "▁▂▃▄▅▆▇█"


def window(name: str) -> "Result":
    """Run one flow of a control for 20 s alone and for 20 s beside a NewReno flow, under DropTail."""
    groups = {OWN: {"control": name, "title": name}, JOINING: {"control": "newreno", "start": f"{JOINS_S} s"}}
    return lab(droptail(BUFFER_PACKETS), groups, duration=f"{DURATION_S} s", warmup="0 s").run(bin_s=BIN_S)


def windows(result: "Result", group: str, places: int) -> "npt.NDArray[np.float64]":
    """Return a group's mean window in segments in so many equal parts of the run; nan where there was none."""
    import numpy as np
    import pyarrow.compute as pc

    flows = result.table("flows")
    mine = flows.filter(pc.equal(pc.cast(flows["group"], "string"), group))
    times = mine["time_s"].to_numpy()
    values = mine["cwnd_packets"].to_numpy()
    # Before a flow starts its window is what it will start with.
    values = np.where((group == JOINING) & (times < JOINS_S), np.nan, values)
    place = np.minimum((times / (DURATION_S / places)).astype(int), places - 1)
    means = np.full(places, np.nan)
    for one in range(places):
        here = values[(place == one) & ~np.isnan(values)]
        if len(here):
            means[one] = here.mean()
    return means


def bars(values: "npt.NDArray[np.float64]", most: float) -> str:
    """Draw values as a line of bars, of which the tallest is `most`; a blank where there is none."""
    import numpy as np

    def bar(value: float) -> str:
        if np.isnan(value):
            return " "
        return _BARS[min(int(value / most * len(_BARS)), len(_BARS) - 1)] if most > 0 else _BARS[0]

    return "".join(bar(float(value)) for value in values)
