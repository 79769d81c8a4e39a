"""Where the model comes to rest: the queue from one equation, the windows in closed form."""

import math
from dataclasses import dataclass

from sojourn.worlds.fluid.model import Class, Model


@dataclass(frozen=True)
class Equilibrium:
    """A state in which nothing changes."""

    queue_packets: float
    drop_probability: float
    windows_packets: tuple[float, ...]
    """Of a flow of each class."""
    shares: tuple[float, ...]
    """Of each class in what is delivered, 0 to 1."""


def equilibrium(model: Model) -> Equilibrium | None:
    """Return the model's equilibrium; None where none exists below the buffer's limit.

    W* = sqrt(D a / p) with a packets gained each round trip (1 for TCP, (tau - q)/tau for LEDBAT, not below 0) and
    D the decrease's divisor; q* makes the sum of all rates, thinned by p, equal to the capacity. The left side falls
    with q, so there is one root, found by bracketing (Brent).
    """
    from scipy.optimize import brentq

    low = model.red.min_packets
    high = min(model.limit_packets, (2 if model.red.gentle else 1) * model.red.max_packets)
    # At the lower threshold nothing is dropped and windows grow without bound; just above it they are finite.
    lowest, highest = low + 1e-9 * (high - low), high - 1e-9 * (high - low)
    if _surplus(model, lowest) < 0 or _surplus(model, highest) > 0:
        return None
    queue = float(brentq(lambda q: _surplus(model, q), lowest, highest, xtol=1e-10))
    probability = model.red.probability(queue)
    windows = tuple(window(model, one, queue, probability) for one in model.classes)
    rates = [one.flows * w / model.rtt_s(one, queue) for one, w in zip(model.classes, windows, strict=True)]
    return Equilibrium(queue, probability, windows, tuple(rate / sum(rates) for rate in rates))


def window(model: Model, one: Class, queue_packets: float, probability: float) -> float:
    """Return the window at which a class neither grows nor shrinks."""
    gained = max(one.increase(queue_packets / model.packets_per_s), 0.0)
    floor = model.ledbat_floor_packets if one.control == "ledbat" else 0.0
    return max(math.sqrt(model.decrease * gained / probability), floor)


def _surplus(model: Model, queue_packets: float) -> float:
    """Return what arrives at a queue at rest beyond what the link carries, in packets/s."""
    probability = model.red.probability(queue_packets)
    rate = sum(
        one.flows * window(model, one, queue_packets, probability) / model.rtt_s(one, queue_packets)
        for one in model.classes
    )
    return rate * (1 - probability) - model.packets_per_s
