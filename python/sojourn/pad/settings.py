"""What a person asks of `sojourn pad`, and what it must keep to."""

from dataclasses import dataclass

from sojourn.padding import SMALLEST_PACKET_BYTES, ethernet_bytes

MAX_PPS = 1000.0
"""No one may ask for more packets per second."""
MAX_SHARE = 0.25
"""No one may ask for a larger share of the uplink."""
MAX_DURATION_S = 3600.0
"""No one may ask for a longer time."""
MAX_BEFORE_S = 600.0
"""No one may have it measure longer first."""
MAX_TARGET_S = 60.0
"""Largest target, and base, that means anything."""

PROBE_INTERVAL_S = 0.1
"""From one probe to the next, as in the simulation."""


@dataclass(frozen=True)
class Limits:
    """What is never exceeded."""

    most_pps: float
    share: float
    """Share of the uplink, each packet counted as the shortest Ethernet frame."""
    duration_s: float

    def rate_pps(self, uplink_bps: float) -> float:
        """Return the most packets per second on an uplink of this rate.

        >>> Limits(200, 0.1, 60).rate_pps(800e3)  # 0.1 * 800e3 / (8 * 84)
        119.04761904761905
        """
        return min(self.most_pps, self.share * uplink_bps / 8 / ethernet_bytes(SMALLEST_PACKET_BYTES))


@dataclass(frozen=True)
class Settings:
    """One session."""

    limits: Limits
    target_s: float
    """Queueing delay that nine probes in ten shall not exceed."""
    before_s: float
    """How long it only measures first."""
    uplink_bps: float | None = None
    """Rate of the uplink; taken from what this machine sends where None."""
    base_s: float | None = None
    """Round-trip time of the idle path, where it is known."""
    ttl: int | None = None
    """Time to live of the padding; found by tracing where None."""
    own_target: bool = False
    """Whether the target is this machine, whose own port padding may arrive at."""
