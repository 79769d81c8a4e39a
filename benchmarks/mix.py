"""Instructions that the engine takes in nine scenarios that people run, and in the one that is compared with ns-2.

Counted with valgrind, so that they depend neither on caches nor on what else the machine does.
"""

import re
import shutil
import tempfile
from math import exp, log
from typing import Any

from benchmarks import child
from benchmarks.common import ROOT, say
from benchmarks.hotspots import PROGRAM, build_program

PAYLOAD_BYTES = 1460
"""What one packet carries, for which a row gives the instructions."""
_READY, _OWN = ROOT / "scenarios", ROOT / "benchmarks" / "scenarios"
# Simulated seconds of two counts, whose difference is free of reading the file, building and starting.
_LENGTHS_S = (10, 30)
_SHORTER_S = {"ten-thousand": (4, 8)}
_CASES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("first", "NewReno beside LEDBAT, DropTail", {}),
    ("backups-beside-calls", "CUBIC uploads, LEDBAT and a call, DropTail", {}),
    ("gateway-and-modem", "home cable in both directions, CAKE at 90 %", {"access.gateway": "0.9"}),
    ("cubic-linux", "Linux's transport, CUBIC, FQ-CoDel", {}),
    ("bbr3-and-cubic", "BBRv3 beside CUBIC, DropTail", {}),
    ("wifi-home", "802.11n, two stations near and one far, FQ-CoDel", {}),
    ("web-pages", "pages of a browser beside an upload, slow return", {}),
    ("motivating-red", "NewReno and LEDBAT as in ns-2, RED", {}),
    ("ten-thousand", "10,000 NewReno flows with ten RTTs, DropTail", {}),
)
_PEERS: tuple[str, str, dict[str, str]] = ("motivating-droptail", "NewReno and LEDBAT as in ns-2, DropTail", {})


def count() -> list[dict[str, Any]] | None:
    """Return one row for each scenario, that of ns-2 last; None, with a line that says why, where that cannot be."""
    if shutil.which("valgrind") is None or shutil.which("cargo") is None:
        say("no instructions of what people run: needs valgrind and cargo")
        return None
    build_program()
    return [_row(*case) for case in (*_CASES, _PEERS)]


def mean(rows: list[dict[str, Any]]) -> float:
    """Return the geometric mean over what people run."""
    logs = [log(row["instructions"]) for row in rows if row["scenario"] != _PEERS[0]]
    return exp(sum(logs) / len(logs))


def _row(name: str, what: str, settings: dict[str, str]) -> dict[str, Any]:
    say(f"instructions of {name}")
    less, more = (_counted(name, seconds, settings) for seconds in _SHORTER_S.get(name, _LENGTHS_S))
    packets = (more[1] - less[1]) / PAYLOAD_BYTES
    return {"scenario": name, "what": what, "instructions": (more[0] - less[0]) / packets, "packets": packets}


def _counted(name: str, duration_s: int, settings: dict[str, str]) -> tuple[int, int]:
    """Return the instructions of a process, and the bytes that its run delivered."""
    file = next(path for folder in (_READY, _OWN) if (path := folder / f"{name}.toml").exists())
    changes = {"duration": f"{duration_s} s", "warmup": "0 s", "runs": "1", **settings}
    with tempfile.TemporaryDirectory() as folder:
        counting = [
            "valgrind",
            "--tool=cachegrind",
            "--cache-sim=no",
            f"--cachegrind-out-file={folder}/out",
            "--log-fd=1",
        ]
        text = child.run(
            [*counting, str(PROGRAM), str(file), *(f"{key}={value}" for key, value in changes.items())]
        ).text
    instructions, delivered = (re.findall(form, text) for form in (r"I +refs: +([\d,]+)", r"(\d+) bytes delivered"))
    return int(instructions[0].replace(",", "")), int(delivered[0])
