"""`sojourn shell` beside Mahimahi and a kernel's queues, in one run; a section of the page of `benchmarks.programs`::

python -m benchmarks.emulators [--shells DIR]    # root, iperf3 and an idle machine; four minutes. DIR has Mahimahi
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import sojourn
from benchmarks.common import Document, paragraph, save, say, table
from benchmarks.emulators_ends import PACKETS_PER_S
from benchmarks.mahimahi import shell as mahimahi

NAME = "emulators"
DELAY_MS = 20
SECONDS, MANY = 5, 10_000_000
KINDS = {"idle": 100, "busy": 100, "packets": 1000, "tcp": 1000}
"""What is sent, and over how many Mbit/s."""
_ENDS = str(Path(__file__).with_name("emulators_ends.py"))
_LIMIT_PACKETS = 10_000
_PATIENCE_S = 60
_SETTLES_S = 1.0
_OPPORTUNITIES_MS = 3


class SkippedError(Exception):
    """An emulator cannot run here; the text says why."""


def main() -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.emulators", description="Emulators beside each other.")
    parser.add_argument("--shells", type=Path, metavar="DIR", help="where mm-delay and mm-link are; otherwise the PATH")
    shells = parser.parse_args().shells
    if shutil.which("iperf3") is None or os.geteuid() != 0:
        print("emulators: skipped: it needs root and iperf3", file=sys.stderr)
        return 1
    found: dict[str, Any] = {"kernel": platform.release(), "processors": os.cpu_count(), "load": os.getloadavg()[0]}
    found["emulators"] = {
        "sojourn shell": _measured(_sojourn),
        "Mahimahi": _measured(lambda kind, folder: _mahimahi(kind, folder, shells)),
        "tc": _measured(_kernel),
    }
    say("ten million packets")
    found["counted"] = count()
    save(NAME, found)
    from benchmarks import programs

    return programs.main(["--render"])


def _measured(run: Any) -> dict[str, Any]:
    """Return what an emulator did with all kinds of packets, or why it cannot run."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        say(f"{getattr(run, '__name__', 'emulator')} {kind}")
        with tempfile.TemporaryDirectory(prefix="sojourn-emulators-") as name:
            folder = Path(name)
            folder.chmod(0o777)
            try:
                found |= {"what": run(kind, folder)}
                found[kind] = _numbers(folder, kind)
            except SkippedError as error:
                return {"skipped": str(error)}
    return found


def _numbers(folder: Path, kind: str) -> Any:
    """Return the delay added (median and 99th percentile, ms), packets per second, or Mbit/s."""
    deadline = time.monotonic() + _SETTLES_S
    while not (folder / "received.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    received = json.loads((folder / "received.json").read_text(encoding="ascii"))
    if kind == "tcp":
        return json.loads((folder / "sent.json").read_text(encoding="ascii"))["mbps"]
    if kind == "packets":
        return received["datagrams"] / SECONDS
    return [float(one) - DELAY_MS for one in np.percentile(received["delays_ms"], [50, 99])]


def _receive(folder: Path) -> list[str]:
    return [sys.executable, _ENDS, "receive", str(folder)]


def _send(host: str, kind: str, folder: Path, seconds: float = SECONDS) -> list[str]:
    return [sys.executable, _ENDS, "send", host, kind, str(folder), str(seconds)]


def _sojourn(kind: str, folder: Path) -> str:
    _behind_sojourn(kind, folder, SECONDS)
    return "FQ-CoDel"


def count() -> dict[str, int]:
    """Send ten million packets through the path; return how many, and of how many nothing is known."""
    with tempfile.TemporaryDirectory(prefix="sojourn-emulators-") as name:
        own = _behind_sojourn("packets", Path(name), MANY / PACKETS_PER_S)
        sent, received = (
            json.loads((Path(name) / one).read_text(encoding="ascii")) for one in ("sent.json", "received.json")
        )
    # One more says that this is the end.
    known = received["datagrams"] - 1 + own["lost"] + own["refused"] + own["dropped"]
    return {"sent": sent["packets"], "dropped": own["dropped"], "lost": own["lost"], "unknown": sent["packets"] - known}


def _behind_sojourn(kind: str, folder: Path, seconds: float) -> Document:
    """Run both ends behind the path; what the record says of packets and clock."""
    queue = {"kind": "fq_codel", "preset": "linux", "limit": f"{_LIMIT_PACKETS} packets"}
    link = {"rate": f"{KINDS[kind]} Mbit/s", "queue": queue}
    group = {"traffic": "program", "rtt": f"{2 * DELAY_MS} ms"}
    groups = [{"name": "sent", **group}, {"name": "received", "direction": "reverse", **group}]
    path = {
        "name": NAME,
        "duration": f"{_PATIENCE_S + seconds} s",
        "bottleneck": link,
        "reverse": link,
        "group": groups,
    }
    words = [" ".join(one) for one in (_send("10.77.0.1", kind, folder, seconds), _receive(folder))]
    found = sojourn.scenario(path).run(runs=1, series=False, world="shell", command=words[0], server=words[1])
    own: Document = found.runs[0]["shell"]
    return own


def _mahimahi(kind: str, folder: Path, shells: Path | None) -> str:
    try:
        found = mahimahi.find(shells)
    except mahimahi.ShellError as error:
        raise SkippedError(str(error)) from error
    with mahimahi.private(found) as place:
        (link := place / "link").write_text(opportunities(KINDS[kind]), encoding="ascii")
        queue = f"packets={_LIMIT_PACKETS}"
        plan = {
            "delay": [str(place / "mm-delay"), str(DELAY_MS)],
            "link": [
                *(str(place / "mm-link"), str(link), str(link)),
                *("--uplink-queue=droptail", f"--uplink-queue-args={queue}"),
                *("--downlink-queue=droptail", f"--downlink-queue-args={queue}", "--"),
            ],
            "beside": _receive(folder),
            "send": _send("PEER", kind, folder),
        }
        with _beside(["unshare", "--net", sys.executable, mahimahi.INSIDE, json.dumps(plan)]) as process:
            if process.wait(_PATIENCE_S):
                raise SkippedError(f"its shells ended with {process.returncode}")
    return "DropTail"


def opportunities(mbps: int) -> str:
    """Return a recording of a constant rate: a line for each 1504 bytes, with the ms at which they may leave."""
    per_ms = mbps * 1e6 / 8 / 1504 / 1000
    until = [round(per_ms * ms) for ms in range(_OPPORTUNITIES_MS + 1)]
    return "".join(f"{ms}\n" * (until[ms] - until[ms - 1]) for ms in range(1, _OPPORTUNITIES_MS + 1))


def _kernel(kind: str, folder: Path) -> str:
    """Send over a pair of devices of the kernel, each with its own queue, between two networks."""
    netem = f"netem delay {DELAY_MS}ms rate {KINDS[kind]}mbit limit {_LIMIT_PACKETS}"
    plain = f"tbf rate {KINDS[kind]}mbit burst 15kb limit {_LIMIT_PACKETS * 1500}"
    script = "\n".join(
        [
            "set -e",
            "ip link set lo up",
            # The other network is that of a process, which ends with this script.
            "unshare --net sleep 100 & other=$!",
            "trap 'kill $other' EXIT",
            "sleep 0.2",
            "ip link add k0 type veth peer name k1 netns $other",
            "ip address add 10.78.0.1/24 dev k0; ip link set k0 up",
            'there() { nsenter --net --target $other "$@"; }',
            "there ip link set lo up; there ip address add 10.78.0.2/24 dev k1; there ip link set k1 up",
            f"queue='{netem}'; tc qdisc add dev k0 root $queue 2> /dev/null || queue='{plain}'",
            "tc qdisc replace dev k0 root $queue; there tc qdisc replace dev k1 root $queue",
            f"there {' '.join(_receive(folder))} &",
            f"sleep {_SETTLES_S}",
            " ".join(_send("10.78.0.2", kind, folder)),
            f"echo ${{queue%% *}} > {folder}/queue",
        ]
    )
    with _beside(["unshare", "--net", "sh", "-c", script]) as process:
        if process.wait(_PATIENCE_S):
            raise SkippedError(f"tc or its path ended with {process.returncode}")
    queue = (folder / "queue").read_text(encoding="ascii").strip()
    if queue != "netem":
        _without_delay(folder)
    return queue


def _without_delay(folder: Path) -> None:
    """Count the delay that a queue alone does not have."""
    received = json.loads((file := folder / "received.json").read_text(encoding="ascii"))
    received["delays_ms"] = [one + DELAY_MS for one in received["delays_ms"]]
    file.write_text(json.dumps(received), encoding="ascii")


@contextmanager
def _beside(words: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(words) as process:
        try:
            yield process
        finally:
            process.kill()


def section(document: Document) -> list[str]:
    """Return what the page says of it, in paragraphs."""
    rows, skipped = [], []
    for name, one in document["emulators"].items():
        if "skipped" in one:
            skipped.append(f"{name} did not run: {one['skipped']}.")
            continue
        delays = [f"{value:.3f}" for kind in ("idle", "busy") for value in one[kind]]
        rows.append([f"{name}, {one['what']}", *delays, f"{one['packets']:,.0f}", f"{one['tcp']:.0f}"])
    return [
        "## How does it compare with Mahimahi and tc?",
        paragraph(_SECTION),
        table(
            [
                "emulator, queue",
                *("idle: p50 [ms]>", "p99 [ms]>", "50 Mbit/s: p50 [ms]>", "p99 [ms]>"),
                *("packets a second>", "TCP [Mbit/s]>"),
            ],
            rows,
        ),
        paragraph(
            f"Of {document['counted']['sent']:,} packets sent through FQ-CoDel, {document['counted']['dropped']:,} "
            f"came faster than they could be read, {document['counted']['lost']:,} were lost on the path, and "
            f"{document['counted']['unknown']:,} neither arrived nor were counted as lost."
        ),
        paragraph(
            f"{' '.join(skipped)} Linux {document['kernel']}, {document['processors']} processors, which both ends of "
            f"the path shared with the emulator; load average before: {document['load']:.1f}. "
            "`python -m benchmarks.emulators` repeats it."
        ),
    ]


_SECTION = f"""The delay that an emulator adds to {DELAY_MS} ms each way at 100 Mbit/s, from a program's system call to
    the arrival in the other end's kernel, on an idle path and beside 50 Mbit/s of packets of 1500 bytes; how many of
    {PACKETS_PER_S:,} packets of 200 bytes a second arrive, and what TCP with CUBIC gets, both at 1 Gbit/s. tc delays
    packets where the kernel has netem. With `tbf` there is no delay, and so no timer for each packet."""

if __name__ == "__main__":
    sys.exit(main())
