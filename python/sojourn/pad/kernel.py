"""`sojourn pad` beside an upload over a bloated uplink of real Linux: `python -m sojourn.pad.kernel FOLDER`.

::

    home  10.0.1.1 ──── 10.0.1.2  modem  10.0.2.1 ──── 10.0.2.2  isp  10.0.3.1 ──── 10.0.3.2  server
                                         the uplink's queue

Runs inside a kernel of the testbed, in namespaces that vanish with it. The folder holds plan.json: {"rate_bps",
"queue": words of tc, "control": the kernel's name, "duration_s", "pad": arguments of `sojourn pad`}. It writes
report.json: {"kernel", "code": exit code, "said": the tool's output, "session": as `--data` writes it, null where it
wrote none, "datagrams": how many left home in the 10 s before and after the tool was killed, where the plan says when
("kill_after_s"), "upload_began_s": on the session's clock, "delivered_bytes": of the upload by seconds}.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from sojourn import children
from sojourn.worlds.linux.inside import offload
from sojourn.worlds.linux.inside.endpoints import endpoints
from sojourn.worlds.linux.inside.namespace import batch, configure, entered, namespaces

SERVER = "10.0.3.2"
HOME = "10.0.1.1"
BEFORE_UPLOAD_S = 6.0
"""The tool sees the idle path this long before the upload begins."""
BIN_S = 1.0

_NAMES = ("home", "modem", "isp", "server")
_LINKS = (("home0", "modem0"), ("modem1", "isp0"), ("isp1", "server0"))
_GRACE_S = 30.0
_POLL_S = 0.2
_COUNTED_S, _GONE_S = 10.0, 0.5
_SETTINGS = {
    "net.ipv4.ip_forward": "1",
    # Only root's group is there for sure in a user namespace.
    "net.ipv4.ping_group_range": "0 0",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv6.conf.all.disable_ipv6": "1",
}


def main(folder: Path) -> int:
    """Run one case; see the module's text."""
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    with namespaces(_NAMES), endpoints(folder) as running:
        _build(plan)
        start_s = time.monotonic() + BEFORE_UPLOAD_S
        tool = _start_tool(folder, plan)
        run = {"start_at_s": start_s, "duration_s": plan["duration_s"], "bin_s": BIN_S}
        flow = {"id": 0, "kind": "tcp", "port": 5000, "control": plan["control"]}
        for name, role, local, peer in (("server", "receive", SERVER, HOME), ("home", "send", HOME, SERVER)):
            running.start(name, {**run, "flows": [{**flow, "role": role, "local": local, "peer": peer}]})
        killed = _kill(tool, plan["kill_after_s"]) if "kill_after_s" in plan else None
        said, _ = tool.communicate(timeout=plan["duration_s"] + BEFORE_UPLOAD_S + _GRACE_S)
        while running.check():
            time.sleep(_POLL_S)
        reports = running.reports()
    session = folder / "session.json"
    report = {
        "kernel": os.uname().release,
        "code": tool.returncode,
        "said": said,
        "session": json.loads(session.read_text(encoding="utf-8")) if session.exists() else None,
        "datagrams": killed,
        "upload_began_s": start_s,
        "delivered_bytes": reports["server"]["flows"][0]["delivered_bytes"],
    }
    (folder / "report.json").write_text(json.dumps(report), encoding="utf-8")
    return 0


def _start_tool(folder: Path, plan: dict[str, Any]) -> "subprocess.Popen[str]":
    words = children.module("sojourn", "pad", SERVER, "--yes", "--data", str(folder / "session.json"))
    with entered("home"):
        return subprocess.Popen(  # noqa: S603 (this very program)
            [*words, *plan["pad"]],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        )


def _kill(tool: "subprocess.Popen[str]", after_s: float) -> list[int]:
    """Kill the tool; return how many datagrams left in 10 s before, and from half a second after for 10 s."""
    time.sleep(after_s - _COUNTED_S)
    counts = [_datagrams()]
    time.sleep(_COUNTED_S)
    counts.append(_datagrams())
    tool.kill()
    time.sleep(_GONE_S)
    counts.append(_datagrams())
    time.sleep(_COUNTED_S)
    return [counts[1] - counts[0], _datagrams() - counts[2]]


def _datagrams() -> int:
    """Return how many UDP datagrams home has sent."""
    with entered("home"):
        # The namespace is the thread's, not the process's.
        text = Path("/proc/thread-self/net/snmp").read_text(encoding="ascii")
    names, values = (line.split() for line in text.splitlines() if line.startswith("Udp:"))
    return int(values[names.index("OutDatagrams")])


def _build(plan: dict[str, Any]) -> None:
    """Make the path and the uplink's queue."""
    batch("ip", [f"link add {a} netns {a[:-1]} type veth peer name {b} netns {b[:-1]}" for a, b in _LINKS])
    for name in _NAMES:
        with entered(name):
            configure(_SETTINGS)
        batch("ip", ["link set lo up"], name)
    for number, ends in enumerate(_LINKS, start=1):
        for host, device in enumerate(ends, start=1):
            name = device[:-1]
            batch("ip", [f"addr add 10.0.{number}.{host}/24 dev {device}", f"link set {device} up"], name)
            with entered(name):
                offload.switch_off(device)
    for name, gateway in (("home", "10.0.1.2"), ("modem", "10.0.2.2"), ("server", "10.0.3.1")):
        batch("ip", [f"route add default via {gateway}"], name)
    batch("ip", ["route add 10.0.1.0/24 via 10.0.2.1"], "isp")
    rate = f"{plan['rate_bps']}bit burst 1600 cburst 1600 quantum 1514"
    batch(
        "tc",
        [
            # The rate counts packets as IP sees them.
            "qdisc add dev modem1 root handle 1: stab overhead -14 htb default 1",
            f"class add dev modem1 parent 1: classid 1:1 htb rate {rate}",
            f"qdisc add dev modem1 parent 1:1 handle 10: {plan['queue']}",
        ],
        "modem",
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
