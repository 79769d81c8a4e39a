"""WiFi: the standard's arithmetic of an exchange, and Bianchi's model of stations that all want to send."""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scipy.optimize import brentq

from benchmarks.answers.case import Case, Topic, record

_IP_BYTES, _PAYLOAD_BYTES = 1500, 1472
_LLC_BYTES, _FCS_BYTES = 8, 4
_MEAN_BACKOFF_SLOTS = 7.5
_SLOT_US = 9.0


@dataclass(frozen=True)
class Exchange:
    """The parts of an exchange, in microseconds (IEEE 802.11-2016, clauses 10, 17, 18, 19, 21)."""

    space: float
    """From an idle medium to the back-off: DIFS, or AIFS of best effort."""
    data: float
    sifs: float
    answer: float
    packets: int = 1

    @property
    def mbps(self) -> float:
        """Payload of a lone saturated sender."""
        whole = self.space + _MEAN_BACKOFF_SLOTS * _SLOT_US + self.data + self.sifs + self.answer
        return self.packets * _PAYLOAD_BYTES * 8 / whole


def _ofdm(payload_bytes: int, bits_per_symbol: int, extension: float) -> float:
    """Legacy OFDM: preamble and SIGNAL, and 16 service and 6 tail bits with the payload in symbols of 4 us."""
    return 20 + 4 * math.ceil((16 + 8 * payload_bytes + 6) / bits_per_symbol) + extension


def erp(bits_per_symbol: int, answer_bits: int) -> Exchange:
    """802.11g without stations of 802.11b: 2.4 GHz, so with 6 us of signal extension."""
    mpdu = 24 + _LLC_BYTES + _IP_BYTES + _FCS_BYTES
    return Exchange(10 + 2 * _SLOT_US, _ofdm(mpdu, bits_per_symbol, 6), 10, _ofdm(14, answer_bits, 6))


def high_throughput(
    preamble: float, bits_per_symbol: int, symbol_us: float, most: int, *, tail_bits: int = 6, short: bool = False
) -> Exchange:
    """802.11n or ac at 5 GHz: as many packets as 64 KiB and 5.484 ms allow, and a block acknowledgement."""
    mpdu = 26 + _LLC_BYTES + _IP_BYTES + _FCS_BYTES

    def time(psdu: int) -> float:
        symbols = math.ceil((16 + 8 * psdu + tail_bits) / bits_per_symbol)
        return preamble + (4 * math.ceil(symbols * symbol_us / 4) if short else symbols * symbol_us)

    if most == 1:
        packets, psdu, answer = 1, mpdu, _ofdm(14, 96, 0)
    else:
        # A delimiter of 4 B before each, and padding to a multiple of 4 B.
        sub = 4 + -(-mpdu // 4) * 4
        packets = max(n for n in range(1, most + 1) if n * sub <= 65535 and time(n * sub) <= 5484)  # noqa: PLR2004
        psdu, answer = packets * sub - (sub - 4 - mpdu), _ofdm(32, 96, 0)
    return Exchange(16 + 3 * _SLOT_US, time(psdu), 16, answer, packets)


_ALONE: Mapping[str, tuple[Exchange, Mapping[str, Any], Mapping[str, Any]]] = {
    "802.11g, 54 Mbit/s": (erp(216, 96), {"standard": "802.11g"}, {"rate": "54 Mbit/s"}),
    "802.11g, 6 Mbit/s": (erp(24, 24), {"standard": "802.11g"}, {"rate": "6 Mbit/s"}),
    "802.11n, mcs7, single packets": (
        high_throughput(36, 260, 4.0, 1),
        {"standard": "802.11n", "aggregate": 1},
        {"rate": "mcs7"},
    ),
    "802.11n, mcs7, aggregates": (high_throughput(36, 260, 4.0, 64), {"standard": "802.11n"}, {"rate": "mcs7"}),
    "802.11n, mcs15, short guard, aggregates": (
        high_throughput(40, 520, 3.6, 64, short=True),
        {"standard": "802.11n", "guard": "400 ns"},
        {"rate": "mcs15"},
    ),
    "802.11ac, 80 MHz, mcs9, two streams, aggregates": (
        high_throughput(44, 3120, 3.6, 64, tail_bits=12, short=True),
        {"standard": "802.11ac", "width": "80 MHz", "guard": "400 ns"},
        {"rate": "mcs9", "streams": 2},
    ),
}


def _run(
    medium: Mapping[str, Any], station: Mapping[str, Any], flows: int, mbps: float, seconds: int
) -> Mapping[str, Any]:
    """Run uploads of more than their stations can send."""
    deep = {"kind": "droptail", "limit": "1000 packets"}
    traffic = {"kind": "cbr", "rate": f"{mbps:.6g} Mbit/s", "packet": f"{_IP_BYTES} B"}
    group = {"name": "a", "station": "s", "direction": "reverse", "rtt": "2 ms", "flows": flows, "traffic": traffic}
    tables = {
        "duration": f"{seconds} s",
        "warmup": "2 s",
        "bottleneck": {"medium": {"kind": "wifi", "preset": "ns3", **medium}, "queue": deep},
        "station": [{"name": "s", "count": flows, "queue": deep, **station}],
        "group": [group],
    }
    return record(tables)


def _alone(name: str) -> float:
    exchange, medium, station = _ALONE[name]
    return float(_run(medium, station, 1, 2 * exchange.mbps, 12)["groups"]["a"]["goodput_mbps"])


ARITHMETIC = Topic(
    "An exchange of WiFi by the standard's times",
    "IEEE 802.11-2016: interframe spaces, a mean back-off of 7.5 slots of 9 us, preambles, symbols of the frame, and "
    "the acknowledgement at the highest mandatory rate. Packets of 1,500 B of IP, of which 1,472 B are payload. One "
    "station sends as much as it can.",
    tuple(
        Case(name, lambda one=name: _ALONE[one][0].mbps, functools.partial(_alone, name), 0.005, "Mbit/s")  # type: ignore[misc]
        for name in _ALONE
    ),
)

_WINDOW, _DOUBLINGS = 16, 6


def bianchi(stations: int) -> tuple[float, float]:
    """Return goodput in Mbit/s and the probability that a frame collides (Bianchi 2000, equations 7, 9 and 13).

    A collision takes the longest frame and EIFS: an acknowledgement at the lowest rate, SIFS and DIFS.
    """
    exchange = erp(216, 96)

    def sends(collides: float) -> float:
        series = sum((2 * collides) ** k for k in range(_DOUBLINGS))
        return 2 / (1 + _WINDOW + collides * _WINDOW * series)

    found = float(brentq(lambda p: p - 1 + (1 - sends(p)) ** (stations - 1), 1e-9, 1 - 1e-9))
    chance = sends(found)
    idle = (1 - chance) ** stations
    alone = stations * chance * (1 - chance) ** (stations - 1)
    success = exchange.data + exchange.sifs + exchange.answer + exchange.space
    collision = exchange.data + exchange.sifs + _ofdm(14, 24, 6) + exchange.space
    slot = idle * _SLOT_US + alone * success + (1 - idle - alone) * collision
    return alone * _PAYLOAD_BYTES * 8 / slot, found


@functools.cache
def _many(stations: int) -> tuple[float, float]:
    found = _run({"standard": "802.11g"}, {"rate": "54 Mbit/s"}, stations, 40, 32)
    counts = [station["access"] for station in found["stations"].values()]
    collided = sum(one["collisions"] for one in counts) / sum(one["exchanges"] for one in counts)
    return float(found["groups"]["a"]["goodput_mbps"]), collided


MANY = Topic(
    "Saturated stations by Bianchi's model",
    "G. Bianchi, IEEE JSAC 18(3), 2000: the fixed point of the chance to send and the chance to collide, for 802.11g "
    "at 54 Mbit/s, where a collision is followed by EIFS. The model takes back-offs of different stations as "
    "independent, which is right to about 2 %, and to 3 % for collisions from ten stations on.",
    tuple(
        Case(
            f"{stations} stations, goodput of all",
            lambda n=stations: bianchi(n)[0],  # type: ignore[misc]
            lambda n=stations: _many(n)[0],  # type: ignore[misc]
            0.02,
            "Mbit/s",
        )
        for stations in (5, 10, 20)
    )
    + tuple(
        Case(
            f"{stations} stations, part of the exchanges that collide",
            lambda n=stations: bianchi(n)[1],  # type: ignore[misc]
            lambda n=stations: _many(n)[1],  # type: ignore[misc]
            0.03,
        )
        for stations in (10, 20)
    ),
)

TOPICS = (ARITHMETIC, MANY)
