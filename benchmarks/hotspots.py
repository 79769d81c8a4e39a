"""Where the time of a run goes, by source file: samples of `perf`, resolved through inlined calls.

Needs perf, binutils and cargo (the Python module is built without symbols); without them there is no profile.
"""

import json
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks import child, scaling
from benchmarks.common import ROOT, say

TOOLS = ("perf", "addr2line", "nm", "cargo")
PROGRAM = ROOT / "target" / "release" / "examples" / "run"
SAMPLES_PER_S = 5000
# Long enough for some thousand samples.
CASES = ((10, 12_000.0), (10_000, 60.0))

COMPONENTS = {
    "agenda.rs": "agenda: which event is next",
    "world.rs": "event loop and routing between parts",
    "ends.rs": "event loop and routing between parts",
    "line.rs": "delay lines",
    "link.rs": "link and its queue's bookkeeping",
    "special.rs": "link and its queue's bookkeeping",
    "ring.rs": "rings of packets and segments",
    "droptail.rs": "queue discipline",
    "red.rs": "queue discipline",
    "fifo.rs": "queue discipline",
    "meter.rs": "meters and histograms",
    "times.rs": "meters and histograms",
    "series.rs": "meters and histograms",
    "flow.rs": "flow: packets and counters",
    "counts.rs": "flow: packets and counters",
    "packet.rs": "flow: packets and counters",
    "segment.rs": "flow: packets and counters",
    "sender.rs": "sender",
    "ack.rs": "sender",
    "ecn.rs": "sender",
    "handshake.rs": "sender",
    "idle.rs": "sender",
    "recovery.rs": "sender",
    "by_count.rs": "sender",
    "by_time.rs": "sender",
    "pacing.rs": "sender",
    "probe.rs": "sender",
    "rack.rs": "sender",
    "reduction.rs": "sender",
    "usage.rs": "sender",
    "sending.rs": "sender",
    "short.rs": "sender",
    "undo.rs": "sender",
    "fast_path.rs": "sender",
    "scoreboard.rs": "sender: scoreboard",
    "late.rs": "sender: scoreboard",
    "rtt.rs": "sender: RTT and timers",
    "timer.rs": "sender: RTT and timers",
    "receiver.rs": "receiver",
    "newreno.rs": "congestion control",
    "control.rs": "congestion control",
    "events.rs": "congestion control",
}


def build() -> bool:
    """Build the program that is profiled; False, with a line that says why, where that cannot be."""
    absent = [tool for tool in TOOLS if shutil.which(tool) is None]
    if absent:
        say(f"no profile: {', '.join(absent)} not found")
        return False
    say("building the program that is profiled")
    build_program()
    return True


def build_program() -> None:
    """Build what runs a scenario without Python, with the line tables that a profile needs."""
    lines = 'profile.release.debug="line-tables-only"'
    build = ["cargo", "build", "--config", lines, "--release", "--locked", "--quiet"]
    child.run([*build, "--example", "run", "-p", "sojourn-sim"])


def measure() -> dict[str, Any] | None:
    """Return the share of time of each component at few and at many flows; None where perf may not sample."""
    try:
        return {str(flows): _profile(flows, duration_s) for flows, duration_s in CASES}
    except (child.ChildError, subprocess.CalledProcessError) as error:
        say(f"no profile: {error}")
        return None


def _profile(flows: int, duration_s: float) -> list[dict[str, Any]]:
    say(f"profile at {flows} flows")
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "scenario.toml"
        scenario.write_text(_toml(scaling.scenario(flows, own_rtt=False, duration_s=duration_s)))
        data = str(Path(folder) / "samples")
        record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(SAMPLES_PER_S), "-o", data]
        child.run([*record, "--", str(PROGRAM), str(scenario)])
        script = child.run(["perf", "script", "-i", data, "--no-demangle", "-F", "sym,ip,symoff,dso"])
    places = Counter(_place(line) for line in script.text.splitlines() if line.strip())
    named = _components(places)
    total = sum(named.values())
    return [{"component": name, "share": count / total} for name, count in named.most_common()]


def _toml(scenario: dict[str, Any]) -> str:
    """Return the few kinds of values of such a scenario as TOML."""
    group = scenario["group"][0]
    tables = {"": {k: v for k, v in scenario.items() if isinstance(v, str)}, "[bottleneck]": scenario["bottleneck"]}
    lines = []
    for head, table in {**tables, "[[group]]": group}.items():
        lines += [head, *(f"{key} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


def _place(line: str) -> tuple[str, int] | str:
    """Return symbol and offset of a sample in the program, or what else it was in."""
    found = re.match(r"\s*[0-9a-f]+\s+(\S+)\+0x([0-9a-f]+)\s+\((.*)\)", line)
    if found is None:
        return "unknown"
    if Path(found[3]).name != PROGRAM.name:
        return "kernel" if "kernel" in found[3] else "C library (copies, allocation)"
    return found[1], int(found[2], 16)


def _components(places: "Counter[tuple[str, int] | str]") -> "Counter[str]":
    symbols = _symbols()
    named: Counter[str] = Counter()
    addresses: Counter[int] = Counter()
    for place, count in places.items():
        if isinstance(place, str):
            named[place] += count
        elif place[0] in symbols:
            addresses[symbols[place[0]] + place[1]] += count
        else:
            named["unknown"] += count
    for address, component in _resolve(list(addresses)).items():
        named[component] += addresses[address]
    return named


def _symbols() -> dict[str, int]:
    rows = [line.split() for line in child.run(["nm", str(PROGRAM)]).text.splitlines()]
    return {row[2]: int(row[0], 16) for row in rows if len(row) == 3}  # noqa: PLR2004


def _resolve(addresses: list[int]) -> dict[int, str]:
    """Map addresses to the innermost file of the engine that was inlined there."""
    order = "\n".join(f"{address:#x}" for address in addresses)
    answer = child.run(["addr2line", "-a", "-i", "-e", str(PROGRAM)], order).text
    found: dict[int, str] = {}
    address = 0
    for line in answer.splitlines():
        if line.startswith("0x"):
            address = int(line, 16)
            continue
        path = line.rpartition(":")[0]
        if "crates/sojourn-" in path and address not in found:
            found[address] = COMPONENTS.get(Path(path).name, "the rest of the engine")
    return {address: found.get(address, "outside the engine") for address in addresses}
