"""How much padding shortens a queue limited in packets, and what it costs: equations 1 to 7 of Braud, Heusse and Duda.

The paper is "TCP over Large Buffers: When Adding Traffic Improves Latency". An upload of large packets at `upload_pps`
packets a second shares the queue with `padding_pps` small ones. Rates are in packets per second, sizes in bytes,
capacities in bit/s. Every function raises `ValueError` for values that mean nothing, such as a size of zero.
"""

SMALLEST_PACKET_BYTES = 29
"""IPv4 and UDP headers and one byte."""

ETHERNET_SMALLEST_BYTES = 84
"""The shortest Ethernet frame with its preamble and the gap after it: 64 + 8 + 12."""

ETHERNET_OVERHEAD_BYTES = 38
"""Header, check sequence, preamble and gap: 14 + 4 + 8 + 12."""


def upload_rate(capacity_bps: float, packet_bytes: float) -> float:
    """Return R_T, the packets per second that leave a link kept busy by packets of one size.

    >>> round(upload_rate(800e3, 1500), 1)
    66.7
    """
    _positive(capacity_bps=capacity_bps, packet_bytes=packet_bytes)
    return capacity_bps / 8 / packet_bytes


def growth(upload_pps: float, capacity_bps: float, packet_bytes: float, seconds: float) -> float:
    """Return by how many packets a queue grows while an upload alone sends `upload_pps` into it (equation 1)."""
    _not_negative(upload_pps=upload_pps, seconds=seconds)
    return (upload_pps - upload_rate(capacity_bps, packet_bytes)) * seconds


def mean_size(upload_pps: float, padding_pps: float, packet_bytes: float, padding_bytes: float) -> float:
    """Return S, the mean size of a packet of both flows (equation 3)."""
    _positive(upload_pps=upload_pps, packet_bytes=packet_bytes, padding_bytes=padding_bytes)
    _not_negative(padding_pps=padding_pps)
    return (padding_pps * padding_bytes + upload_pps * packet_bytes) / (padding_pps + upload_pps)


def growth_with_padding(
    upload_pps: float,
    padding_pps: float,
    capacity_bps: float,
    packet_bytes: float,
    padding_bytes: float,
    seconds: float,
) -> float:
    """Return by how many packets a queue grows while both flows send into it (equation 2, without approximation)."""
    _not_negative(seconds=seconds)
    size = mean_size(upload_pps, padding_pps, packet_bytes, padding_bytes)
    return (upload_pps + padding_pps - upload_rate(capacity_bps, size)) * seconds


def alpha(upload_pps: float, padding_pps: float) -> float:
    """Return by which factor padding speeds up the growth of a queue, and divides the delay of a full one.

    This is equation 5, which neglects the bytes of the padding (equation 4).

    >>> alpha(66.7, 66.7)
    2.0
    """
    _positive(upload_pps=upload_pps)
    _not_negative(padding_pps=padding_pps)
    return (padding_pps + upload_pps) / upload_pps


def padding_rate(upload_pps: float, factor: float) -> float:
    """Return R_U, the padding that divides the delay by `factor` (equation 6).

    >>> padding_rate(66.7, 2)
    66.7
    """
    _positive(upload_pps=upload_pps)
    _at_least_one(factor)
    return upload_pps * (factor - 1)


def overhead(factor: float, packet_bytes: float = 1500, padding_bytes: float = SMALLEST_PACKET_BYTES) -> float:
    """Return OH_U, the share of the capacity that such padding takes (equation 7).

    >>> f"{overhead(10):.1%}"
    '14.8%'
    """
    _positive(packet_bytes=packet_bytes, padding_bytes=padding_bytes)
    _at_least_one(factor)
    return (factor - 1) / (factor - 1 + packet_bytes / padding_bytes)


def ethernet_bytes(packet_bytes: float) -> float:
    """Return what a packet takes of an Ethernet link, with header, check sequence, preamble, gap and filling.

    >>> ethernet_bytes(29), ethernet_bytes(1500)
    (84, 1538)
    """
    _positive(packet_bytes=packet_bytes)
    return max(packet_bytes + ETHERNET_OVERHEAD_BYTES, ETHERNET_SMALLEST_BYTES)


def atm_bytes(packet_bytes: float, overhead_bytes: float = 8) -> float:
    """Return what a packet takes of an ATM link: whole cells of 53 bytes for every 48 of packet and overhead.

    The overhead is that of AAL5's trailer alone; encapsulations, such as PPPoE, add theirs.

    >>> atm_bytes(29), atm_bytes(1500)
    (53, 1696)
    """
    _positive(packet_bytes=packet_bytes)
    _not_negative(overhead_bytes=overhead_bytes)
    cells = -(-(packet_bytes + overhead_bytes) // 48)
    return 53 * cells


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name} is {value}; it is above 0")


def _not_negative(**values: float) -> None:
    for name, value in values.items():
        if not value >= 0:
            raise ValueError(f"{name} is {value}; it is not below 0")


def _at_least_one(factor: float) -> None:
    if not factor >= 1:
        raise ValueError(f"factor is {factor}; it is at least 1: padding lengthens no queue")
