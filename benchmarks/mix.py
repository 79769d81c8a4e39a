"""What a packet costs in nine scenarios that people run, and in the dumbbell that every peer can have.

Beside it what the same costs in ns-2, ns-3 and htsim, or why they cannot have it.
"""

import dataclasses
import re
import shutil
import tempfile
from math import exp, log
from pathlib import Path
from typing import Any

import sojourn
from benchmarks import costs
from benchmarks.common import ROOT, say
from benchmarks.costs import Program
from benchmarks.hotspots import PROGRAM, build_program
from benchmarks.peers.builds import build_ns3
from benchmarks.peers.points import BENCH, Point
from benchmarks.peers.runs import COMMANDS
from sojourn.exported import ns3

PEERS = {"ns2": "ns-2", "ns3": "ns-3", "htsim": "htsim"}
"""Their keys, and how the page names them."""
_READY, _OWN = ROOT / "scenarios", ROOT / "benchmarks" / "scenarios"
_RUNS = 10
_FLOWS = 10_000
_MANY = Point(rate_bps=4e9, limit_packets=400_000, rtt_s=0.05, flows_1=_FLOWS, flows_2=0, warmup_s=0.0)


@dataclasses.dataclass(frozen=True)
class _Case:
    scenario: str
    what: str
    settings: dict[str, str] = dataclasses.field(default_factory=dict)
    lengths_s: tuple[int, int] = (10, 30)
    runs: int = _RUNS
    ns3_lengths_s: tuple[int, int] | None = (10, 30)
    """None where ns-3 is left out."""


_CASES = (
    _Case("first", "NewReno beside LEDBAT, DropTail"),
    _Case("backups-beside-calls", "CUBIC uploads, LEDBAT and a call, DropTail"),
    _Case("gateway-and-modem", "home cable in both directions, CAKE at 90 %", {"access.gateway": "0.9"}),
    _Case("cubic-linux", "Linux's transport, CUBIC, FQ-CoDel", ns3_lengths_s=(2, 3)),
    _Case("bbr3-and-cubic", "BBRv3 beside CUBIC, DropTail"),
    _Case("wifi-home", "802.11n, two stations near and one far, FQ-CoDel"),
    _Case("web-pages", "pages of a browser beside an upload, slow return"),
    _Case("motivating-red", "NewReno and LEDBAT as in ns-2, RED"),
    _Case("ten-thousand", "10,000 NewReno flows with ten RTTs, DropTail", {}, (4, 8), 1, None),
)
_RFC = {f"group.{group}.transport": "rfc" for group in ("one", "two")}
_DUMBBELL = (
    _Case("peers", "10 NewReno flows, DropTail, transport `rfc`", _RFC, (20, 60)),
    _Case("peers", "the same, transport `ns2`", {}, (20, 60)),
)
_LACKS = {
    "ns2": "ns-2.35 has no LEDBAT, CAKE, FQ-CoDel or BBRv3; it takes 44 s to build 500 flows, so not 10,000.",
    "htsim": "htsim has of all these only NewReno under DropTail, without delayed acknowledgements and SACK.",
}
_NS3_MANY = "left out for its time, 333,333 packets in each simulated second"


def count(have: set[str]) -> list[dict[str, Any]] | None:
    """Return one row for each scenario, the dumbbell last; None, with a line that says why, where that cannot be."""
    if shutil.which("valgrind") is None or shutil.which("cargo") is None:
        say("no costs of what people run: needs valgrind and cargo")
        return None
    build_program()
    with tempfile.TemporaryDirectory() as folder:
        return [_row(case, have, Path(folder)) for case in (*_CASES, *_DUMBBELL)]


def mean(rows: list[dict[str, Any]]) -> float:
    """Return the geometric mean of the instructions over what people run."""
    logs = [log(row["instructions"]) for row in rows if row["scenario"] != _DUMBBELL[0].scenario]
    return exp(sum(logs) / len(logs))


def reasons(rows: list[dict[str, Any]]) -> list[str]:
    """Return why peers are absent: what ns-3 refuses by scenario, and what the others lack."""
    refused = [f"ns-3, `{row['scenario']}`: {row['refused']}." for row in rows if row["refused"]]
    return [*_LACKS.values(), *refused]


def _row(case: _Case, have: set[str], folder: Path) -> dict[str, Any]:
    programs, refused = {"Sojourn": _engine(case)}, ""
    if case in _DUMBBELL:
        programs |= {PEERS[name]: _dumbbell(name) for name in PEERS if name in have}
    if case.scenario == "ten-thousand" and "htsim" in have:
        programs["htsim"] = _peer("htsim", _MANY, case.lengths_s, rtts=10, start_within_s=1.0)
    if case in _CASES and "ns3" in have:
        program, refused = _exported(case, folder)
        programs |= {"ns-3": program} if program else {}
    times = costs.nanoseconds(programs)
    found = {}
    for name, program in programs.items():
        say(f"instructions of {case.scenario} in {name}")
        found[name] = {"instructions": costs.instructions(program), **times[name]}
    row = {"scenario": case.scenario, "what": case.what, **found.pop("Sojourn")}
    return {**row, "peers": found, "refused": refused}


def _path(case: _Case) -> Path:
    return next(path for folder in (_READY, _OWN) if (path := folder / f"{case.scenario}.toml").exists())


def _engine(case: _Case) -> Program:
    settings = [f"{key}={value}" for key, value in {"warmup": "0 s", **case.settings}.items()]

    def command(seconds: int, runs: int) -> list[str]:
        return [str(PROGRAM), str(_path(case)), f"duration={seconds} s", f"runs={runs}", *settings]

    return Program(command, costs.engine_bits, case.lengths_s, case.runs)


def _dumbbell(peer: str) -> Program:
    point = dataclasses.replace(BENCH, warmup_s=0.0)
    return _peer(peer, point, _DUMBBELL[0].lengths_s)


def _peer(peer: str, point: Point, lengths_s: tuple[int, int], **options: Any) -> Program:
    more = {"monitor": False, **options} if peer == "htsim" else options

    def command(seconds: int, _: int) -> list[str]:
        return COMMANDS[peer](dataclasses.replace(point, duration_s=float(seconds)), 1, **more)

    return Program(command, costs.peer_bits, lengths_s)


def _exported(case: _Case, folder: Path) -> tuple[Program | None, str]:
    """Return the scenario as a program for ns-3, or why that cannot be."""
    if case.ns3_lengths_s is None:
        return None, _NS3_MANY

    def source(seconds: int) -> Path:
        return folder / f"{case.scenario}-{seconds}.cc"

    for seconds in case.ns3_lengths_s:
        changes = {"duration": f"{seconds} s", "warmup": "0 s", **case.settings}
        try:
            text = ns3.program(sojourn.Scenario.load(_path(case)).with_(changes)).text
        except sojourn.InputError as error:
            return None, re.split(r"; allowed|\n", str(error))[0]
        source(seconds).write_text(text, encoding="utf-8")

    def command(seconds: int, _: int) -> list[str]:
        return [str(build_ns3(source=source(seconds)))]

    return Program(command, costs.exported_bits, case.ns3_lengths_s), ""
