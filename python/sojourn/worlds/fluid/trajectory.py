"""How the model moves: windows, queue and average queue over time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sojourn.worlds.fluid.dde import Past, State, integrate
from sojourn.worlds.fluid.model import Model

# Steps in the shortest base round trip: the error of a step is then far below that of the model.
_STEPS_PER_RTT = 10
_LONGEST_STEP_S = 0.01


@dataclass(frozen=True)
class Trajectory:
    """The model's states at evenly spaced times."""

    model: Model
    times_s: npt.NDArray[np.float64]
    windows_packets: npt.NDArray[np.float64]
    """A column for each class: the window of one of its flows."""
    queue_packets: npt.NDArray[np.float64]
    average_packets: npt.NDArray[np.float64]

    @property
    def probabilities(self) -> npt.NDArray[np.float64]:
        """Drop probability at each time."""
        return np.array([self.model.red.probability(average) for average in self.average_packets])

    @property
    def rates_packets_per_s(self) -> npt.NDArray[np.float64]:
        """Rate at which each class sends, all its flows together: a column for each class."""
        rtts = [one.base_rtt_s + self.queue_packets / self.model.packets_per_s for one in self.model.classes]
        flows = np.array([one.flows for one in self.model.classes])
        return np.asarray(self.windows_packets / np.array(rtts).T * flows)


def trajectory(
    model: Model,
    duration_s: float,
    *,
    initial_windows: float = 1.0,
    step_s: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Trajectory:
    """Integrate the model from an empty queue; `step_s` is chosen from the base round-trip times where it is None."""
    shortest = min(one.base_rtt_s for one in model.classes)
    step = step_s or min(shortest / _STEPS_PER_RTT, _LONGEST_STEP_S)
    floors = [model.ledbat_floor_packets if one.control == "ledbat" else 0.0 for one in model.classes]

    def limit(y: State) -> State:
        windows = [max(value, floor) for value, floor in zip(y, floors, strict=False)]
        return [*windows, min(max(y[-2], 0.0), model.limit_packets), y[-1]]

    initial = [initial_windows] * len(model.classes) + [0.0, 0.0]
    states = np.array(integrate(_Equations(model).slope, initial, duration_s, step, limit, progress).states)
    times = step * np.arange(len(states), dtype=np.float64)
    return Trajectory(model, times, states[:, :-2], states[:, -2], states[:, -1])


class _Equations:
    """The equations of the paper; the state is one window for each class, the queue and its average."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.capacity = model.packets_per_s
        self.average_per_s = model.average_per_s

    def slope(self, y: State, time: float, past: Past) -> State:
        model, capacity = self.model, self.capacity
        queue, average = y[-2], y[-1]
        delay = queue / capacity
        found = []
        rate = 0.0
        for index, one in enumerate(model.classes):
            rtt = one.base_rtt_s + delay
            then = past(time - rtt)
            # What is lost now left one round trip ago, at that time's rate.
            losses = then[index] / model.rtt_s(one, then[-2]) * model.red.probability(then[-1])
            found.append(one.increase(delay) / rtt - y[index] / model.decrease * losses)
            rate += one.flows * y[index] / rtt
        growth = rate * (1 - model.red.probability(average)) - capacity
        if (queue <= 0 and growth < 0) or (queue >= model.limit_packets and growth > 0):
            growth = 0.0
        return [*found, growth, self.average_per_s * (queue - average)]
