"""Other people's stacks behind Sojourn's queues, beside Sojourn's own senders; writes a page of docs/validation::

python -m benchmarks.stacks             # build the stacks, run all cells (a minute after the build)
python -m benchmarks.stacks --render    # only write the page, from the stored numbers
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sojourn
from benchmarks.common import ROOT, Document, load, paragraph, save, say, table, write_page

NAME = "stacks"
STACKS = {
    "quinn": {"newreno": "newreno", "cubic": "cubic", "bbr": "bbr"},
    "smoltcp": {"reno": "newreno", "cubic": "cubic"},
}
"""The controls of each, and Sojourn's of the same name."""
QUEUES = ("droptail", "red", "codel", "fq_codel", "pie", "cake")
DURATION_S, WARMUP_S, RTT_MS, LIMIT_PACKETS = 60, 10, 40, 100
_OWN = "sojourn"


def main() -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stacks", description="Stacks behind Sojourn's queues.")
    parser.add_argument("--render", action="store_true", help="only write the page, from the stored numbers")
    if not parser.parse_args().render:
        measure()
    write_page(f"validation/{NAME}", "\n\n".join(render(load(NAME))))
    return 0


def measure() -> None:
    """Build and run; keep what was measured."""
    found: dict[str, Any] = {"cells": {}, "wall_s": {}, "versions": {}}
    for stack, controls in STACKS.items():
        say(f"building {stack}")
        program = _built(stack)
        found["versions"][stack] = _version(stack)
        for control, own in controls.items():
            for queue in QUEUES:
                say(f"{stack} {control} {queue}")
                cell = {
                    where: {
                        _OWN: _simulated(_path(queue, own, beside=beside)),
                        stack: _ran(program, control, queue, beside),
                    }
                    for where, beside in (("alone", False), ("beside", True))
                }
                found["cells"][f"{stack} {control} {queue}"] = cell
        began = time.monotonic()
        _ran(program, "cubic", "droptail", beside=False, flows=2)
        found["wall_s"][stack] = time.monotonic() - began
    save(NAME, found)


def _built(stack: str) -> Path:
    """Build a stack; the program."""
    folder = ROOT / "stacks" / stack
    target = ROOT / "target" / "stacks"
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "--locked", "--target-dir", target], cwd=folder, check=True
    )
    return target / "release" / f"sojourn-stack-{stack}"


def _version(stack: str) -> str:
    """Return the version of what a stack is built from."""
    crate = {"quinn": "quinn-proto"}.get(stack, stack)
    lines = (ROOT / "stacks" / stack / "Cargo.lock").read_text(encoding="utf-8").splitlines()
    return lines[lines.index(f'name = "{crate}"') + 1].split('"')[1]


def _path(queue: str, control: str | None, *, beside: bool, flows: int = 1) -> dict[str, Any]:
    """Return the path with one sender, or with a stack's where there is no control, perhaps beside one of CUBIC."""
    limit = {} if queue == "cake" else {"limit": f"{LIMIT_PACKETS} packets"}
    common: dict[str, Any] = {"rtt": f"{RTT_MS} ms", "flows": flows}
    if control is None:
        program = {"traffic": "program", **common}
        groups = [{"name": "one", **program}, {"name": "back", "direction": "reverse", **program}]
    else:
        groups = [{"name": "one", "control": control, "transport": "linux", **common}]
    if beside:
        groups.append({"name": "other", "control": "cubic", "transport": "linux", "rtt": f"{RTT_MS} ms"})
    return {
        "name": NAME,
        "duration": f"{DURATION_S} s",
        "warmup": f"{WARMUP_S} s",
        "bottleneck": {"rate": "20 Mbit/s", "queue": {"kind": queue, **limit}},
        "group": groups,
    }


def _ran(program: Path, control: str, queue: str, beside: bool, flows: int = 1) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "path.toml"
        file.write_text(sojourn.scenario(_path(queue, None, beside=beside, flows=flows)).to_toml(), encoding="utf-8")
        said = subprocess.run([program, file, control], capture_output=True, text=True, check=True).stdout
    return _kept(json.loads(said))


def _simulated(tables: dict[str, Any]) -> dict[str, float]:
    return _kept(sojourn.scenario(tables).run(runs=1, series=False).runs[0])


def _kept(run: Mapping[str, Any]) -> dict[str, float]:
    one, link = run["groups"]["one"]["goodput_mbps"], run["bottleneck"]
    other = run["groups"]["other"]["goodput_mbps"] if "other" in run["groups"] else 0.0
    return {
        "queue_ms": link["queue_ms"]["mean"],
        "goodput_mbps": one,
        "drop_percent": 100 * (link["drop_rate"] or 0.0),
        "share_percent": 100 * one / max(one + other, 1e-9),
    }


def render(document: Document) -> list[str]:
    """Return the page, in paragraphs."""
    versions = ", ".join(f"{stack} {version}" for stack, version in document["versions"].items())
    speeds = ", ".join(f"{wall_s:.1f} s with {stack}" for stack, wall_s in document["wall_s"].items())
    rows = [_row(name, cell) for name, cell in document["cells"].items()]
    heads = [
        "stack",
        "control",
        "queue",
        "mean queue [ms]>",
        "goodput [Mbit/s]>",
        "dropped [%]>",
        "share beside CUBIC [%]>",
    ]
    return [
        "# What do other people's stacks do behind the same queues?",
        "<!-- Written by `python -m benchmarks.stacks`. Do not edit by hand. -->",
        paragraph(_answer(document["cells"])),
        "## Two faults, each with its command",
        *_faults(document["cells"]),
        "## All cells",
        paragraph(
            "A value is the stack's / that of Sojourn's control of the same name on its transport `linux`. One flow on "
            f"20 Mbit/s and {RTT_MS} ms with {LIMIT_PACKETS} packets of buffer (CAKE has its own), measured from "
            f"{WARMUP_S} s to {DURATION_S} s; the last column is a run of its own, beside one flow of Sojourn's CUBIC."
        ),
        table(heads, rows),
        "## How was it measured?",
        paragraph(
            f"In virtual time, through `sojourn-endpoint`: {versions}. A minute of two CUBIC flows at 20 Mbit/s takes "
            f"{speeds}, TLS included. The same seed gives the same record."
        ),
        paragraph(_METHOD),
    ]


def _answer(cells: Mapping[str, Mapping[str, Any]]) -> str:
    """Say how far a stack that works is from Sojourn's own."""
    near = [
        cell["alone"] for name, cell in cells.items() if name.split()[:2] in (["quinn", "newreno"], ["quinn", "cubic"])
    ]
    queue_ms = max(abs(one["quinn"]["queue_ms"] - one[_OWN]["queue_ms"]) for one in near)
    goodput = max(abs(one["quinn"]["goodput_mbps"] / one[_OWN]["goodput_mbps"] - 1) for one in near)
    return (
        f"NewReno and CUBIC of quinn queue as Sojourn's do: in {len(near)} cells mean delays differ by at most "
        f"{queue_ms:.1f} ms, goodput by at most {100 * goodput:.0f} %. Quinn's BBR and smoltcp's TCP do not."
    )


def _faults(cells: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return each fault with the command that shows it."""
    red = cells["quinn bbr red"]
    alone = red["alone"]
    bbr = _BBR.format(
        most=alone["quinn"]["drop_percent"],
        own=alone[_OWN]["drop_percent"],
        share=red["beside"]["quinn"]["share_percent"],
    )
    window = _WINDOW.format(drops=cells["smoltcp cubic droptail"]["alone"]["smoltcp"]["drop_percent"])
    found = []
    for text, stack, control in ((bbr, "quinn", "bbr"), (window, "smoltcp", "cubic")):
        found += [paragraph(text), f"```sh\n{_COMMAND.format(stack=stack, control=control)}\n```"]
    return found


def _row(name: str, cell: Mapping[str, Mapping[str, Document]]) -> list[str]:
    stack, control, queue = name.split()

    def both(where: str, what: str, digits: int) -> str:
        return " / ".join(f"{cell[where][who][what]:.{digits}f}" for who in (stack, _OWN))

    shown = [both("alone", "queue_ms", 1), both("alone", "goodput_mbps", 2), both("alone", "drop_percent", 2)]
    return [stack, control, queue, *shown, both("beside", "share_percent", 0)]


_BBR = """**quinn's BBR** drops {most:.0f} % of its packets under RED, where Sojourn's BBR drops {own:.2f} %, and
    takes {share:.0f} % of the link beside CUBIC. Its maintainers call it highly experimental (quinn issue 2156),
    users found it broken (noq issue 475). Why was not looked for."""
_WINDOW = """**smoltcp's congestion window** does not bound what is in flight: `seq_to_transmit` in src/socket/tcp.rs
    compares it with what may be sent at once, and what was sent before is not subtracted (RFC 5681 section 3.1). So
    CUBIC and Reno give the same run, and {drops:.0f} % of their packets are dropped behind DropTail; only the
    receiver's window holds them back. In a copy that subtracts it the two
    controls differ and CUBIC loses next to nothing; no command of the project does that."""
_COMMAND = "cargo run --release --manifest-path stacks/{stack}/Cargo.toml -- path.toml {control}"
_METHOD = """Quinn's datagrams have up to 1480 bytes with their IP and UDP headers, Sojourn's segments 1500. Smoltcp
    has no SACK and no ECN here; quinn has both, so that queues which mark do not drop its packets. Smoltcp's buffers
    have 256 KiB, more than the path holds. Each stack paces, or does not, as it does by default."""

if __name__ == "__main__":
    sys.exit(main())
