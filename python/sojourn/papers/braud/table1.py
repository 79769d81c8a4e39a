"""Table I: a real ADSL line, with the cells of ATM."""

from collections.abc import Mapping
from typing import Any

from sojourn import padding as equations
from sojourn.papers.braud.world import (
    DOWNLOAD,
    FREEBSD,
    GOODPUT,
    LINK,
    QUEUE_MS,
    SEEDS,
    UNDELAYED,
    UPLOAD,
    base,
    host,
    ms,
    near,
    padding,
    ratio,
)
from sojourn.papers.measures import Key, Results, check, measure, shown
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table

UP_KBPS, DOWN_KBPS, PACKETS, DOWN_PACKETS = 854.0, 3815.0, 30, 60
UDP = 125
# The paper tells neither the round-trip time nor the hosts. Said before the runs: 40 ms, delayed acknowledgements.
RTTS_MS, ASSUMED_MS = (20, 40, 60), 40
ACKS = {"delayed": FREEBSD, "every segment": UNDELAYED}
_ASSUMED = (ASSUMED_MS, "delayed")
# Said before the runs: ratios within 15 %; goodput of an upload alone within 0.5 % of the arithmetic of cells.
RATIO, CELLS = 0.15, 0.005
_SEGMENT, _PACKET = 1448, 1500
_PPPOA = 10
_PAPER = {
    "queue": 346.0,
    "queue_padded": 124.0,
    "up": 728.0,
    "up_padded": 660.0,
    "down": 3260.0,
    "both": 2800.0,
    "all": 3060.0,
}
_TWO_WAY = ("upload and download", "upload, download and UDP")
_CASES = ("upload", "upload and UDP", "download", *_TWO_WAY)


def table1(lab: Lab) -> Findings:
    """Return delay and goodput of an upload and a download, with and without 125 packets/s."""
    cases: dict[Key, Mapping[str, Any]] = {}
    for rtt in RTTS_MS:
        for acks, transport in ACKS.items():
            for case in _CASES:
                cases[case, rtt, acks] = {"group": _groups(case, rtt, transport)}
    line = base((UP_KBPS, DOWN_KBPS), (PACKETS, DOWN_PACKETS), host(UPLOAD))
    for direction in ("bottleneck", "reverse"):
        line[direction]["framing"] = "pppoa-vcmux"
    results = measure(lab, "table1", line, cases, seeds=SEEDS)
    found = Findings()
    rows = tuple((*key, *_row(results, key)) for key in cases)
    columns = (
        "case",
        "rtt_ms",
        "acknowledgements",
        "queue_ms",
        "p10_ms",
        "p90_ms",
        "upload_kbps",
        "download_kbps",
        "utilization",
    )
    found.tables.append(Table("table1", "Every case, with what the paper does not tell varied", columns, rows))
    found.checks = [*_alone(results), *_two_way(results)]
    with_, without = (results.number((case, *_ASSUMED), QUEUE_MS, UPLOAD) for case in ("upload and UDP", "upload"))
    found.verdict = (
        f"{UDP} packets of one byte a second take the queue from {without.text(0)} to {with_.text(0)} ms, for "
        f"{100 * (1 - _goodput(results, 'upload and UDP').mean / _goodput(results, 'upload').mean):.0f} % of the "
        "upload's goodput "
        f"(paper: {_PAPER['queue']:g} to {_PAPER['queue_padded']:g} ms for 9 %)."
    )
    found.text = (
        f"The paper tells neither the round-trip time nor the hosts: {ASSUMED_MS} ms and delayed acknowledgements "
        "here, both varied "
        "in the table. With both directions busy they matter more than the padding: where every segment is "
        "acknowledged, "
        "acknowledgements alone do what padding does."
    )
    return found


def _groups(case: str, rtt: int, transport: Mapping[str, Any]) -> list[dict[str, Any]]:
    like: dict[str, Any] = {"rtt": ms(rtt), "transport": transport}
    groups = []
    if "upload" in case:
        groups.append(host(UPLOAD, **like))
    if "download" in case:
        groups.append(host(DOWNLOAD, direction="reverse", **like))
    if "UDP" in case:
        groups.append(padding(UDP))
    return groups


def _row(results: Results, key: Key) -> tuple[Any, ...]:
    group = DOWNLOAD if key[0] == "download" else UPLOAD
    queue = [results.number(key, f"bottleneck_queue_ms_{part}", group).mean for part in ("mean", "p10", "p90")]
    goodputs = [
        results.number(key, GOODPUT, name).mean * 1e3 if name in str(key[0]) else None for name in (UPLOAD, DOWNLOAD)
    ]
    return (*queue, *goodputs, results.number(key, LINK, group).mean)


def _goodput(results: Results, case: str, group: str = UPLOAD) -> Any:
    return results.number((case, *_ASSUMED), GOODPUT, group)


def _alone(results: Results) -> list[Check]:
    queue, padded = (results.number((case, *_ASSUMED), QUEUE_MS, UPLOAD) for case in _CASES[:2])
    up, up_padded = (_goodput(results, case) for case in _CASES[:2])
    cells_kbps = UP_KBPS * _SEGMENT / equations.atm_bytes(_PACKET, _PPPOA)
    formula = equations.alpha(UP_KBPS * 125 / equations.atm_bytes(_PACKET, _PPPOA), UDP)
    return [
        check(
            "goodput of an upload alone is what the cells leave it",
            f"{cells_kbps:.1f} kbit/s by arithmetic, {_PAPER['up']:g} in the paper",
            f"{up.text(1, 1e3)} kbit/s",
            agrees=abs(1e3 * up.mean / cells_kbps - 1) <= CELLS,
        ),
        near(
            "queueing delay with over without padding",
            _PAPER["queue_padded"] / _PAPER["queue"],
            ratio(padded, queue),
            RATIO,
            3,
        ),
        near(
            "upload's goodput with over without padding",
            _PAPER["up_padded"] / _PAPER["up"],
            ratio(up_padded, up),
            RATIO,
            3,
        ),
        shown(
            "queueing delay of an upload alone, mean, and the 10th to 90th percentile",
            f"{_PAPER['queue']:g} ± 84 ms",
            f"{queue.text(0)} ms, {_spread(results, 'upload')}",
        ),
        shown(
            "the same with padding",
            f"{_PAPER['queue_padded']:g} ± 50 ms",
            f"{padded.text(0)} ms, {_spread(results, 'upload and UDP')}; equation 5 says {queue.mean / formula:.0f} ms",
        ),
        shown("upload's goodput with padding", f"{_PAPER['up_padded']:g} kbit/s", f"{up_padded.text(0, 1e3)} kbit/s"),
    ]


def _spread(results: Results, case: str) -> str:
    ends = (results.number((case, *_ASSUMED), f"bottleneck_queue_ms_{part}", UPLOAD).mean for part in ("p10", "p90"))
    return " to ".join(f"{end:.0f}" for end in ends)


def _two_way(results: Results) -> list[Check]:
    down = _goodput(results, "download", DOWNLOAD)
    both, padded = (_goodput(results, case, DOWNLOAD) for case in _TWO_WAY)
    return [
        near("goodput of a download alone [kbit/s]", _PAPER["down"], _scaled(down), CELLS, 0),
        near("download against an upload over alone", _PAPER["both"] / _PAPER["down"], ratio(both, down), RATIO, 3),
        near("the same with padding", _PAPER["all"] / _PAPER["down"], ratio(padded, down), RATIO, 3),
        check(
            "padding helps the download against the upload",
            f"{_PAPER['both']:g} to {_PAPER['all']:g} kbit/s",
            f"{both.text(0, 1e3)} to {padded.text(0, 1e3)} kbit/s",
            agrees=padded.surely_above(both),
        ),
    ]


def _scaled(number: Any) -> Any:
    return type(number)(1e3 * number.mean, 1e3 * number.sd, number.runs)


ITEMS = (
    Item(
        "table1",
        "Table I: an ADSL line",
        f"{UP_KBPS:g} kbit/s up and {DOWN_KBPS:g} down in cells (PPPoA), {PACKETS} packets up; NewReno; {UDP} "
        "packets/s of 29 B; "
        f"{SEEDS} runs of 300 s; {DOWN_PACKETS} packets down and {ASSUMED_MS} ms are assumed",
        table1,
    ),
)
