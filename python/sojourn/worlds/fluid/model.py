"""The model: classes of like flows, one link, one RED queue."""

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Red:
    """RED's drop probability as a function of the average queue (Floyd and Jacobson 1993; gentle: Floyd 2000)."""

    min_packets: float
    max_packets: float
    max_p: float
    weight: float
    """Weight of a new sample in the average (w_q)."""
    gentle: bool = False

    def probability(self, average_packets: float) -> float:
        """Return the drop probability at an average queue.

        >>> Red(10, 100, 0.1, 0.002).probability(55)
        0.05
        """
        if average_packets < self.min_packets:
            return 0.0
        if average_packets < self.max_packets:
            return self.max_p * (average_packets - self.min_packets) / (self.max_packets - self.min_packets)
        if self.gentle and average_packets < 2 * self.max_packets:
            return self.max_p + (1 - self.max_p) * (average_packets - self.max_packets) / self.max_packets
        return 1.0

    def slope(self, average_packets: float) -> float:
        """Return the derivative of the drop probability, per packet."""
        if self.min_packets <= average_packets < self.max_packets:
            return self.max_p / (self.max_packets - self.min_packets)
        if self.gentle and self.max_packets <= average_packets < 2 * self.max_packets:
            return (1 - self.max_p) / self.max_packets
        return 0.0


@dataclass(frozen=True)
class Class:
    """Like flows: their control, number, and base round-trip time."""

    name: str
    control: Literal["newreno", "ledbat"]
    flows: int
    base_rtt_s: float
    target_s: float = math.inf
    """LEDBAT's target queueing delay."""
    gain: float = 1.0
    """LEDBAT's gain: packets per round trip at an empty queue."""

    def increase(self, delay_s: float) -> float:
        """Return how many packets the window grows in a round trip without loss, at a queueing delay.

        >>> Class("a", "ledbat", 1, 0.05, target_s=0.1).increase(0.05)
        0.5
        """
        if self.control == "newreno":
            return 1.0
        return self.gain * (self.target_s - delay_s) / self.target_s


@dataclass(frozen=True)
class Model:
    """Classes of flows on one link of `packets_per_s` with one RED queue."""

    packets_per_s: float
    limit_packets: float
    red: Red
    classes: tuple[Class, ...]
    decrease: float = 2.0
    """A lost packet takes window / decrease from the window: 2 in the paper, 1.5 in its refinement."""
    ledbat_floor_packets: float = 0.0
    """Smallest LEDBAT window: 0 in the paper, 1 in its refinement."""

    def rtt_s(self, one: Class, queue_packets: float) -> float:
        """Return the round-trip time of a class: R = Tp + q/C."""
        return one.base_rtt_s + queue_packets / self.packets_per_s

    @property
    def average_per_s(self) -> float:
        """How fast the average follows the queue: -ln(1 - w) for each packet time."""
        return -math.log1p(-self.red.weight) * self.packets_per_s
