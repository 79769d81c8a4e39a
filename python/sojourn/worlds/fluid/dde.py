"""An integrator for differential equations that look back in time.

No maintained Python package does this without compiling code at run time (jitcdde) or losing the order of the method
(ddeint), so here is the textbook one: the classical Runge-Kutta method of fourth order with a fixed step, and the past
read from cubic Hermite polynomials through the steps taken (Bellen and Zennaro, "Numerical Methods for Delay
Differential Equations", 2003, ch. 5 and 6). It is of fourth order as long as the step is shorter than every delay and
the solution is smooth; `tests/test_fluid.py` measures that.


States are lists of floats: they have a handful of values, and at that size plain Python is several times as fast as
arrays.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_STEPS_PER_LOOK = 1000

State = list[float]
Past = Callable[[float], Sequence[float]]


@dataclass
class Solution:
    """The states at evenly spaced times, and between them by Hermite interpolation."""

    step: float
    history: State
    """The state before time 0, which is taken as constant."""
    states: list[State] = field(default_factory=list)
    """One for each time 0, step, 2 step ..."""
    slopes: list[State] = field(default_factory=list)

    def at(self, time: float) -> Sequence[float]:
        """Return the state at a time up to the last known one."""
        if time <= 0:
            return self.history
        place = time / self.step
        row = min(int(place), len(self.states) - 2)
        part = place - row
        rest = 1 - part
        both, step = part * rest, self.step
        # Hermite's cubic: the straight line, and what the slopes at both ends add to it.
        return [
            left + part * (right - left) + both * (rest * (step * a - right + left) + part * (right - left - step * b))
            for left, right, a, b in zip(
                self.states[row], self.states[row + 1], self.slopes[row], self.slopes[row + 1], strict=True
            )
        ]


def integrate(
    slope: Callable[[State, float, Past], State],
    initial: Sequence[float],
    duration: float,
    step: float,
    limit: Callable[[State], State] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Solution:
    """Integrate y' = slope(y, t, past) from y = initial, which is also the past before time 0.

    `past(t)` is y at an earlier time, at least one step back. `limit` puts a state back inside its bounds after
    each step. `progress` is told the done fraction now and then.
    """
    y = list(initial)
    solution = Solution(step, list(initial))
    solution.states.append(y)
    solution.slopes.append(slope(y, 0.0, solution.at))
    steps = math.ceil(duration / step - 1e-9)
    for row in range(steps):
        if progress is not None and row % _STEPS_PER_LOOK == 0:
            progress(row / steps)
        time, first = row * step, solution.slopes[row]
        second = slope(_moved(y, first, step / 2), time + step / 2, solution.at)
        third = slope(_moved(y, second, step / 2), time + step / 2, solution.at)
        fourth = slope(_moved(y, third, step), time + step, solution.at)
        y = [
            value + step / 6 * (a + 2 * b + 2 * c + d)
            for value, a, b, c, d in zip(y, first, second, third, fourth, strict=True)
        ]
        if limit is not None:
            y = limit(y)
        solution.states.append(y)
        solution.slopes.append(slope(y, time + step, solution.at))
    return solution


def _moved(y: State, slope: State, step: float) -> State:
    return [value + step * rise for value, rise in zip(y, slope, strict=True)]
