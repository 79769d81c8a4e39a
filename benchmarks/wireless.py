"""WiFi and LTE against closed forms, a slotted model and ns-3: docs/validation/wireless.md.

`python -m benchmarks.wireless` runs every scenario of the page, and writes it and benchmarks/results/wireless.json; it
needs no other simulator. The reference numbers are results of formulas and of ns-3.37 that were computed once and are
listed here with their origin.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import sojourn
from benchmarks.common import say

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "validation" / "wireless.md"
RESULTS = ROOT / "benchmarks" / "results" / "wireless.json"

FORM, FORM_TOLERANCE = "closed form", 0.01
SLOTTED = "slotted model"
NS3, NS3_TOLERANCE = "ns-3.37", 0.02
ANOMALY_TOLERANCE = 0.07
TCP_TOLERANCE = 0.05
SELECTED_TOLERANCE = 0.07
"""As in the tests of the crate `sojourn-media`: Minstrel-HT samples with a frame alone every 20 ms."""
DEEP = {"kind": "droptail", "limit": "1000 packets"}
SHALLOW = {"kind": "droptail", "limit": "100 packets"}


@dataclass(frozen=True)
class Row:
    """A number beside its reference."""

    part: str
    case: str
    reference: str
    expected: float
    found: float
    tolerance: float
    unit: str = "Mbit/s"
    note: str = ""

    @property
    def off(self) -> float:
        """How far it is from the reference, as a part of it."""
        return self.found / self.expected - 1

    @property
    def holds(self) -> bool:
        """Whether that is within the tolerance."""
        return abs(self.off) <= self.tolerance


def main() -> None:
    """Run all, and write the page and the numbers."""
    rows = [*single(), *selected(), *several(), *anomaly(), *tcp(), *airtime(), *cells(), *shares(), *delays()]
    RESULTS.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    PAGE.write_text(render(rows))
    for row in rows:
        if not row.holds:
            say(
                f"{row.part}: {row.case}: {row.found:.4g} {row.unit}, {row.reference} {row.expected:g} ({row.off:+.1%})"
            )


# Standard, width, guard, rate, streams, most packets and bytes in an aggregate, closed form, ns-3.
_SINGLE = (
    ("802.11b", "20 MHz", "800 ns", "1 Mbit/s", 1, 1, 65535, 0.895, 0.889),
    ("802.11b", "20 MHz", "800 ns", "11 Mbit/s", 1, 1, 65535, 6.11, 6.06),
    ("802.11g", "20 MHz", "800 ns", "6 Mbit/s", 1, 1, 65535, 5.27, 5.23),
    ("802.11g", "20 MHz", "800 ns", "24 Mbit/s", 1, 1, 65535, 17.28, 17.15),
    ("802.11g", "20 MHz", "800 ns", "54 Mbit/s", 1, 1, 65535, 29.93, 29.70),
    ("802.11n", "20 MHz", "800 ns", "mcs0", 1, 2, 65535, 5.84, 5.83),
    ("802.11n", "20 MHz", "400 ns", "mcs0", 1, 64, 65535, 6.58, 6.57),
    ("802.11n", "20 MHz", "800 ns", "mcs7", 1, 1, 65535, 30.8, 30.7),
    ("802.11n", "20 MHz", "800 ns", "mcs7", 1, 64, 65535, 59.75, 59.6),
    ("802.11n", "20 MHz", "400 ns", "mcs15", 1, 1, 65535, 41.7, 41.8),
    ("802.11n", "20 MHz", "400 ns", "mcs15", 1, 64, 65535, 130.3, 130.2),
    ("802.11n", "40 MHz", "400 ns", "mcs15", 1, 64, 65535, 256.2, 255.9),
    ("802.11ac", "80 MHz", "400 ns", "mcs9", 2, 64, 65535, 613.0, 618.0),
    ("802.11ac", "80 MHz", "400 ns", "mcs9", 2, 64, 1048575, 674.0, 677.0),
)


def single() -> list[Row]:
    """One saturated sender of datagrams."""
    rows = []
    for standard, width, guard, rate, streams, aggregate, size, form, ns3 in _SINGLE:
        medium = _ns3(standard, width=width, guard=guard, aggregate=aggregate, aggregate_bytes=size)
        station = {"name": "s", "rate": rate, "streams": streams}
        record = _run(medium, [station], [_udp("a", "s", "reverse", 2 * form)], 20)
        found = record["groups"]["a"]["goodput_mbps"]
        case = f"{standard}, {width}, {guard}, {rate}" + (f", {streams} streams" if streams > 1 else "")
        case += f", {aggregate} packets" + (" of 1 MiB" if size > 65535 else "")  # noqa: PLR2004
        rows.append(Row("One sender", case, FORM, form, found, FORM_TOLERANCE))
        rows.append(Row("One sender", case, NS3, ns3, found, NS3_TOLERANCE))
    return rows


# Mean SNR, streams, and the rate that it allows: above what this one needs, below what the next one needs.
_SELECTED = ((5, 1, "mcs0"), (15, 1, "mcs3"), (30, 1, "mcs7"), (30, 2, "mcs15"))


def selected() -> list[Row]:
    """One saturated sender whose rate Minstrel-HT selects, beside the best fixed rate."""
    rows = []
    for snr_db, streams, best in _SELECTED:
        stations: dict[str, dict[str, Any]] = {
            "selected": {"snr_db": snr_db, "streams": streams},
            "fixed": {"rate": best},
        }
        for direction, way in (("forward", "down"), ("reverse", "up")):
            found, expected = (
                _run(
                    _ns3("802.11n", aggregate=32),
                    [{"name": "s", **stations[kind]}],
                    [_udp("a", "s", direction, 150)],
                    20,
                )["groups"]["a"]["goodput_mbps"]
                for kind in ("selected", "fixed")
            )
            case = f"802.11n, {snr_db} dB, {streams} stream{'s' if streams > 1 else ''}, {way}"
            rows.append(Row("Rates that are selected", case, f"{best}, fixed", expected, found, SELECTED_TOLERANCE))
    return rows


def several() -> list[Row]:
    """Stations of 802.11g that all send as much as they can."""
    rows = []
    for stations, slotted, ns3 in ((2, 30.1, 30.1), (5, 28.4, 27.4), (10, 26.5, 25.5)):
        station = {"name": "s", "rate": "54 Mbit/s", "count": stations}
        groups = [_udp("a", "s", "reverse", 40) | {"flows": stations}]
        found = _run(_ns3("802.11g"), [station], groups, 30)["groups"]["a"]["goodput_mbps"]
        case = f"{stations} stations at 54 Mbit/s"
        rows.append(Row("Several senders", case, SLOTTED, slotted, found, 0.02))
        note = "ns-3 takes acknowledgements at 1 Mbit/s as the lowest rate for EIFS" if stations > 2 else ""  # noqa: PLR2004
        rows.append(Row("Several senders", case, NS3, ns3, found, NS3_TOLERANCE, note=note))
    return rows


# An exchange of 802.11b with 1500 bytes: preamble and MPDU of 1536 bytes at 11 and 1 Mbit/s, SIFS, and an
# acknowledgement at 2 and 1 Mbit/s. With equal chances for each frame these are the shares of the air.
_FAST_US = 192 + 1536 * 8 / 11 + 10 + 192 + 14 * 8 / 2
_SLOW_US = 192 + 1536 * 8 + 10 + 192 + 14 * 8


def anomaly() -> list[Row]:
    """802.11b stations, the last of which is slower."""
    rows = []
    for fast, slow, form, ns3 in (
        (1, "11 Mbit/s", 3.36, 3.16),
        (1, "5.5 Mbit/s", 2.51, None),
        (1, "2 Mbit/s", 1.33, None),
        (1, "1 Mbit/s", 0.76, 0.755),
        (2, "11 Mbit/s", 2.21, None),
        (2, "5.5 Mbit/s", 1.79, None),
        (2, "2 Mbit/s", 1.07, None),
        (2, "1 Mbit/s", 0.66, 0.67),
    ):
        stations: list[dict[str, Any]] = [
            {"name": "fast", "rate": "11 Mbit/s", "count": fast},
            {"name": "slow", "rate": slow},
        ]
        groups = [_udp("fast", "fast", "reverse", 10) | {"flows": fast}, _udp("slow", "slow", "reverse", 10)]
        record = _run(_ns3("802.11b"), stations, groups, 120)
        case = f"a fast station beside {'another and ' if fast > 1 else ''}one of {slow}"
        found = record["groups"]["fast"]["goodput_mbps"] / fast
        rows.append(Row("Performance anomaly", case, FORM, form, found, ANOMALY_TOLERANCE))
        if ns3 is not None:
            rows.append(Row("Performance anomaly", case, NS3, ns3, found, ANOMALY_TOLERANCE))
        if slow == "1 Mbit/s":
            used = {name: of["air_up"] for name, of in record["stations"].items()}
            part = used["slow"] / sum(used.values())
            case = f"air time of the slow one of {fast + 1}"
            alike = _SLOW_US / (_SLOW_US + fast * _FAST_US)
            rows.append(Row("Performance anomaly", case, FORM, alike, part, 0.01, ""))
            note = "ns-3 is as far below the closed form of equal chances"
            ns3_part = 0.85 if fast == 1 else 0.76
            rows.append(Row("Performance anomaly", case, NS3, ns3_part, part, 0.05, "", note))
    return rows


def tcp() -> list[Row]:
    """One download over TCP."""
    rows = []
    for standard, width, guard, rate, streams, aggregate, size, ns3 in (
        ("802.11b", "20 MHz", "800 ns", "1 Mbit/s", 1, 1, 65535, 0.81),
        ("802.11b", "20 MHz", "800 ns", "11 Mbit/s", 1, 1, 65535, 4.95),
        ("802.11g", "20 MHz", "800 ns", "54 Mbit/s", 1, 1, 65535, 24.3),
        ("802.11n", "20 MHz", "800 ns", "mcs0", 1, 2, 65535, 5.03),
        ("802.11n", "20 MHz", "800 ns", "mcs7", 1, 64, 65535, 52.2),
        ("802.11n", "20 MHz", "400 ns", "mcs15", 1, 64, 65535, 115.3),
        ("802.11n", "40 MHz", "400 ns", "mcs15", 1, 64, 65535, 221.0),
        ("802.11ac", "80 MHz", "400 ns", "mcs9", 2, 64, 1048575, 548.0),
    ):
        # At low rates a deep buffer holds seconds, and repairing what it drops would take most of the run.
        driver, queue = (500, DEEP) if aggregate > 2 else (20, SHALLOW)  # noqa: PLR2004
        medium = _ns3(standard, width=width, guard=guard, aggregate=aggregate, aggregate_bytes=size, driver=driver)
        station = {"name": "s", "rate": rate, "streams": streams}
        group = {"name": "a", "control": "newreno", "rtt": "2 ms", "station": "s", "transport": "linux"}
        found = _run(medium, [station], [group], 90, warmup_s=20, queue=queue)["groups"]["a"]["goodput_mbps"]
        case = f"{standard}, {width}, {guard}, {rate}, {aggregate} packets"
        rows.append(Row("One download over TCP", case, NS3, ns3, found, TCP_TOLERANCE))
    return rows


def airtime() -> list[Row]:
    """Three stations of 802.11n, one of them slow, and downloads that overload all: one queue, and turns by air time.

    Høiland-Jørgensen et al., "Ending the Anomaly" (USENIX ATC 2017): the shares of the air of its Table 1.
    """
    stations: list[dict[str, Any]] = [{"name": "fast", "rate": "mcs15", "count": 2}, {"name": "slow", "rate": "mcs0"}]
    # At rates that keep packets from arriving in step, which a full queue would turn into shares of its own.
    to = (("a", "fast-0", 100), ("b", "fast-1", 101), ("c", "slow", 99))
    groups = [_udp(name, station, "forward", mbps) for name, station, mbps in to]
    rows = []
    for preset, reference, expected, tolerance in (
        ("ns3", NS3, (0.0468, 0.0457, 0.9075), 0.05),
        ("ath9k-2013", "Table 1 of the paper", (0.10, 0.11, 0.79), 0.1),
        ("mac80211", "Table 1 of the paper", (1 / 3, 1 / 3, 1 / 3), 0.03),
    ):
        medium = {"kind": "wifi", "preset": preset, "standard": "802.11n", "guard": "400 ns"}
        record = _run(medium, stations, groups, 30)
        used = {name: of["air_down"] for name, of in record["stations"].items()}
        why = "aggregates of 4.5, 5.1 and 1.9 packets were measured there; what limits its driver so is not known here"
        note = why if preset == "ath9k-2013" else ""
        for name, part in zip(("fast-0", "fast-1", "slow"), expected, strict=True):
            found = used[name] / sum(used.values())
            rows.append(Row("Shares of the air", f"{preset}: {name}", reference, part, found, tolerance, "", note))
        if preset == "ns3":
            for name, mbps in (("a", 6.06), ("b", 6.00), ("c", 5.96)):
                found = record["groups"][name]["goodput_mbps"]
                rows.append(Row("Shares of the air", f"{preset}: goodput of {name}", NS3, mbps, found, NS3_TOLERANCE))
    return rows


# Bandwidth, its resource blocks, bits of their transport blocks at CQI 15 (TS 36.213), the blocks that ns-3 uses, whose
# last incomplete group stays idle, and what it measured.
_CELLS = (
    ("1.4 MHz", 6, 4392, 6, 4.24),
    ("3 MHz", 15, 11064, 14, 9.96),
    ("5 MHz", 25, 18336, 24, 17.01),
    ("10 MHz", 50, 36696, 48, 34.07),
    ("15 MHz", 75, 55056, 72, 51.1),
    ("20 MHz", 100, 75376, 100, 73.1),
)
# CQI, and bits of the transport blocks of 50 resource blocks.
_QUALITIES = ((1, 1384), (3, 3624), (5, 6968), (7, 9912), (9, 15264), (11, 19848), (13, 27376))
_LTE_PART = "LTE: one station"


def _carried(bits: float) -> float:
    """Mbit/s of payload in transport blocks of `bits` each ms; 2 bytes of a block are headers, and 32 of each 1032."""
    return (bits - 16) / 1032


def cells() -> list[Row]:
    """One saturated station of a cell."""
    rows = []

    def row(case: str, reference: str, expected: float, cqi: int, direction: str, **medium: Any) -> None:
        station = {"name": "s", "cqi": cqi}
        record = _run(_lte(**medium), [station], [_datagrams("a", "s", direction, 1.3 * expected)], 10)
        rows.append(Row(_LTE_PART, case, reference, expected, record["groups"]["a"]["goodput_mbps"], FORM_TOLERANCE))

    for bandwidth, blocks, bits, used, measured in _CELLS:
        case = f"{bandwidth}, CQI 15"
        row(f"{case}, {blocks} blocks", FORM, _carried(bits), 15, "forward", bandwidth=bandwidth)
        row(f"{case}, {used} blocks", NS3, measured, 15, "forward", bandwidth=bandwidth, blocks=used)
    for cqi, bits in _QUALITIES:
        row(f"10 MHz, CQI {cqi}", FORM, _carried(bits), cqi, "forward")
    row("10 MHz, CQI 15, uplink", NS3, 35.6, 15, "reverse")
    return rows


def shares() -> list[Row]:
    """Two stations of a cell, near and far, each beside what it gets alone; and several alike."""
    rows = []
    near, far = {"name": "near", "cqi": 15}, {"name": "far", "cqi": 3}
    for scheduler in ("pf", "rr"):
        groups = [_datagrams(name, name, "forward", 60) for name in ("near", "far")]
        both = _run(_lte(scheduler=scheduler), [near, far], groups, 20)["groups"]
        for station, group, bits in ((near, groups[0], 36696), (far, groups[1], 3624)):
            name = str(station["name"])
            case = f"{scheduler}: {name} of two, beside half of what it has alone"
            rows.append(
                Row("LTE: shares", case, FORM, _carried(bits) / 2, both[group["name"]]["goodput_mbps"], TCP_TOLERANCE)
            )
        stations = [{"name": "s", "cqi": 9, "count": 8}]
        each = _run(_lte(scheduler=scheduler), stations, [_datagrams("a", "s", "forward", 20) | {"flows": 8}], 20)
        rows.append(
            Row(
                "LTE: shares",
                f"{scheduler}: fairness of 8 alike (Jain)",
                FORM,
                1,
                each["groups"]["a"]["jain"],
                0.01,
                "",
            )
        )
    # ns-3 measured 17.5 for the near one under proportional fair, of its 34.07 alone.
    pf = _run(_lte(blocks=48), [near, far], [_datagrams(name, name, "forward", 60) for name in ("near", "far")], 20)
    rows.append(Row("LTE: shares", "pf: near of two", NS3, 17.5, pf["groups"]["near"]["goodput_mbps"], TCP_TOLERANCE))
    return rows


def delays() -> list[Row]:
    """A small packet in an idle cell, and what a lost block costs."""
    station = {"name": "s", "cqi": 15}
    rows = []
    # Up: half the period of requests, from a request to its data, the block, and processing.
    requested = 10 / 2 + 8 + 1 + 2
    for case, direction, medium, reference, expected, tolerance in (
        ("64 bytes down", "forward", {}, NS3, 3.70, 0.1),
        ("64 bytes down", "forward", {}, FORM, 1 / 2 + 1 + 2, 0.02),
        ("64 bytes up, a request every 10 ms", "reverse", {"uplink": "requested"}, FORM, requested, 0.02),
    ):
        # At an interval that is no multiple of a slot or of the period of requests.
        traffic = {"kind": "train", "count": 1, "packet": "64 B", "spacing": "1 ms", "every": "103.137 ms"}
        group = {"name": "a", "station": "s", "direction": direction, "rtt": "2 us", "traffic": traffic}
        record = _run(_lte(**medium), [station], [group], 200)
        link = record["bottleneck"] if direction == "forward" else record["stations"]["s"]
        found = link["queue_ms"]["mean"] + link["access"]["ms"]["mean"]
        rows.append(Row("LTE: delay of an idle cell", case, reference, expected, found, tolerance, "ms"))
    group = _datagrams("a", "s", "forward", 60)
    record = _run(_lte(bler=0.1), [station], [group], 60)
    access = record["bottleneck"]["access"]
    part = access["retries"] / access["exchanges"]
    rows.append(Row("LTE: lost blocks", "part of transmissions that repeat a block", FORM, 0.1, part, 0.05, ""))
    left = 0.9 * _carried(36696)
    found = record["groups"]["a"]["goodput_mbps"]
    rows.append(
        Row("LTE: lost blocks", "goodput where a tenth of the blocks is lost", FORM, left, found, FORM_TOLERANCE)
    )
    return rows


def _lte(**keys: Any) -> dict[str, Any]:
    """Return a cell without lost blocks, as ns-3 has it unless `keys` say more."""
    return {"kind": "lte", "preset": "ns3"} | keys


def _datagrams(name: str, station: str, direction: str, mbps: float) -> dict[str, Any]:
    """Return a group of datagrams of 1000 bytes."""
    traffic = {"kind": "cbr", "rate": f"{mbps:.6g} Mbit/s", "packet": "1028 B"}
    return {"name": name, "station": station, "direction": direction, "rtt": "2 ms", "traffic": traffic}


def _ns3(standard: str, **keys: Any) -> dict[str, Any]:
    """Return a medium as ns-3 has it."""
    return {"kind": "wifi", "preset": "ns3", "standard": standard} | keys


def _udp(name: str, station: str, direction: str, mbps: float) -> dict[str, Any]:
    traffic = {"kind": "cbr", "rate": f"{mbps:g} Mbit/s", "packet": "1500 B"}
    return {"name": name, "station": station, "direction": direction, "rtt": "2 ms", "traffic": traffic}


def _run(
    medium: Mapping[str, Any],
    stations: Sequence[Mapping[str, Any]],
    groups: Sequence[Mapping[str, Any]],
    duration_s: float,
    warmup_s: float = 2,
    queue: Mapping[str, Any] = DEEP,
) -> Mapping[str, Any]:
    say(f"{medium.get('standard', medium['kind'])}: {', '.join(group['name'] for group in groups)}")
    queued = [{"queue": DEEP, **station} for station in stations]
    scenario = sojourn.scenario(
        {
            "name": "wireless",
            "duration": f"{duration_s} s",
            "warmup": f"{warmup_s} s",
            "bottleneck": {"medium": dict(medium), "queue": dict(queue)},
            "station": queued,
            "group": groups,
        }
    )
    return scenario.run(series=False).runs[0]


def render(rows: list[Row]) -> str:
    """Return the page."""
    failed = [row for row in rows if not row.holds]
    verdict = f"{len(rows) - len(failed)} of {len(rows)} numbers agree with their reference within its tolerance."
    parts = list(dict.fromkeys(row.part for row in rows))
    lines = [
        "# WiFi and LTE: are they true?",
        "",
        "<!-- Written by `python -m benchmarks.wireless`. Do not edit by hand. -->",
        "",
        f"{verdict} The references are closed forms of the standards' times and tables, a slotted model,",
        "measurements of ns-3.37, and a published table. Bianchi's model of saturated stations and his probabilities",
        "of collisions are tests of the crate `sojourn-media`: throughput within 2 % for 5 to 50 stations at three",
        "rates, collisions within 3 % from ten stations on. Rates that Minstrel-HT selects are beside the best fixed",
        "rate that the signal-to-noise ratio allows.",
        "",
        "| Part | Agree | Do not |",
        "|---|---|---|",
    ]
    for part in parts:
        of_part = [row for row in rows if row.part == part]
        lines.append(f"| {part} | {sum(row.holds for row in of_part)} | {sum(not row.holds for row in of_part)} |")
    for part in parts:
        lines += [
            "",
            f"## {part}",
            "",
            "| Case | Reference | Expected | Sojourn | Difference | Tolerance | Verdict |",
            "|---|---|---|---|---|---|---|",
        ]
        for row in (row for row in rows if row.part == part):
            unit = f" {row.unit}" if row.unit else ""
            word = "agrees" if row.holds else f"**differs**{': ' + row.note if row.note else ''}"
            lines.append(
                f"| {row.case} | {row.reference} | {row.expected:.4g}{unit} | {row.found:.4g}{unit} | {row.off:+.1%} "
                f"| {row.tolerance:.0%} | {word} |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
