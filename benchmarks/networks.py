"""Networks beside ns-3 and on the Linux kernel, and what homes cost. Written to docs/validation/networks.md.

    python -m benchmarks.networks
    python -m benchmarks.networks --kernel
    python -m benchmarks.networks --phases
    python -m benchmarks.networks --speed
    python -m benchmarks.networks --render

The tolerance was chosen before the first run: the means of both simulators are within 10 %, or within two standard
errors of their difference.
"""

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.common import load, paragraph, save, say, table, write_page
from benchmarks.peers.builds import HERE, build_ns3
from sojourn import Scenario, scenario
from sojourn.exported.ns3 import TRANSPORT

NAME, PAGE = "networks", "validation/networks"
SOURCE = HERE / "ns3_network.cc"
SEEDS = range(1, 9)
RUNS = {"runs": len(SEEDS)}
PHASED, SHIFTS_MS = (2, 3, 4), (0.0, 0.1, 0.3, 0.6, 0.9)
RATE_MBPS, DELAY_MS, RTT_MS, LIMIT = 10.0, 5.0, 20.0, 50
WITHIN, ERRORS = 0.10, 2.0
CELLS = [
    *[(queue, "newreno", links) for queue in ("droptail", "codel", "fq_codel", "pie") for links in (1, 2, 3, 4)],
    *[("fq_codel", "cubic", links) for links in (1, 2, 3, 4)],
]
PACKET_MS = 1500 * 8 / RATE_MBPS / 1e3
"""Of the packet that ns-3's device holds behind each discipline: here a part of the path."""
KERNEL = "networks-kernel"
"""What the kernel did, which takes a quarter of an hour."""
KERNEL_RUNS = 5
BUSY = 0.5
"""The utilization from which on the delay of a link is compared."""
_LINKS = ("bottleneck", "hop.second", "hop.third", "hop.fourth")
_SHAPED = {"bottleneck.rate": "9500 kbit/s", "reverse.rate": "45 Mbit/s"}
_CODEL, _FQ_CODEL = (
    {f"{link}.queue": {"kind": kind, "preset": "linux"} for link in _LINKS} for kind in ("codel", "fq_codel")
)
ON_KERNEL: dict[str, tuple[str, dict[str, Any], str]] = {
    "lot, tail drop": ("parking-lot", {}, "htb"),
    "lot, CoDel": ("parking-lot", _CODEL, "htb"),
    "lot, FQ-CoDel": ("parking-lot", _FQ_CODEL, "htb"),
    "home": ("home-network", {}, "htb"),
    "home, shaped": ("home-network", _SHAPED, "htb"),
    "lot, CoDel, device": ("parking-lot", _CODEL, "device"),
    "home, shaped, device": ("home-network", _SHAPED, "device"),
}
"""What is run on the kernel: a ready scenario, changes, and what slows the links."""
TIMES = 5
"""How often each is timed; the least is told, since what else the machine does only adds."""
FEW, HOMES, FLOWS, HOME_MBPS = 50, 500, 4, 25
CORE_MBPS = 20
"""For each home: the core is narrower than all lines together."""


def lot(queue: str, control: str, links: int, shift_ms: float = 0.0, jitter_ms: float = 0.0) -> Scenario:
    """Return the parking lot as ns-3 has it; with a shift all round trips are longer by so much.

    With a jitter each packet takes up to so much longer on each link, drawn at random, and none overtakes.
    """
    kind: dict[str, Any] = {"kind": queue, "limit": f"{LIMIT - 1} packets"} | (
        {} if queue == "droptail" else {"preset": "ns3"}
    )
    kind |= {"perfect": True} if queue == "fq_codel" else {}
    link = {"rate": f"{RATE_MBPS:g} Mbit/s", "delay": f"{DELAY_MS:g} ms", "queue": kind}
    link |= {"jitter": f"{jitter_ms:g} ms"} if jitter_ms else {}
    names = ["bottleneck", *(f"link-{number}" for number in range(2, links + 1))]
    ends = [{"from": f"n{place}", "to": f"n{place + 1}"} for place in range(links)]

    def flow(name: str, path: Sequence[str]) -> dict[str, Any]:
        rtt = f"{RTT_MS + shift_ms + len(path) * PACKET_MS:g} ms"
        own = {
            "control": {"kind": control, "preset": "ns3"},
            "transport": dict(TRANSPORT),
            "start": {"uniform": ["0 s", "0.1 s"]},
        }
        return {"name": name, "path": list(path), "rtt": rtt, **own}

    hops = [{"name": name, **link, **end} for name, end in zip(names[1:], ends[1:], strict=True)]
    return scenario(
        {
            "duration": "60 s",
            "warmup": "10 s",
            "bottleneck": {**link, **ends[0]},
            **({"hop": hops} if hops else {}),
            "group": [flow("long", names), *(flow(f"one-{place}", [name]) for place, name in enumerate(names))],
        }
    )


def homes(count: int, duration_s: float, *, as_chain: bool = False) -> Scenario:
    """Return homes behind one link; as a chain, all flows cross one further link that is never full."""
    core_mbps = CORE_MBPS * count
    core: dict[str, Any] = {"rate": f"{core_mbps} Mbit/s", "delay": "5 ms"}
    core["queue"] = {"kind": "droptail", "limit": "1000 packets"}
    line = {**core, "rate": f"{HOME_MBPS} Mbit/s", "queue": {"kind": "droptail", "limit": f"{LIMIT} packets"}}
    flow = {"name": "down", "flows": count * FLOWS, "control": "newreno", "rtt": "20 ms"}
    if as_chain:
        hop, way = {"name": "down", "at": "after", **core, "rate": f"{10 * core_mbps} Mbit/s"}, {}
    else:
        hop, way = {"name": "down", "count": count, "from": "b", "to": "home-*", **line}, {"from": "a", "to": "home-*"}
        core |= {"from": "a", "to": "b"}
    return scenario({"duration": f"{duration_s:g} s", "bottleneck": core, "hop": [hop], "group": [{**flow, **way}]})


def _ns3(program: Path, **keys: object) -> tuple[dict[str, Any], float, float]:
    """Return what a run printed, its processor time in s and its most memory in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(
        [str(program), *(f"--{key}={value}" for key, value in keys.items())], capture_output=True, text=True, check=True
    )
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(done.stdout), usage.ru_utime - before, usage.ru_maxrss / 1e3


def cell(program: Path, queue: str, control: str, links: int) -> dict[str, Any]:
    """Run one cell in both: goodputs of the flow over all links, and the mean of those over one, for each seed."""
    keys = {"links": links, "queue": queue, "control": control, "limit": LIMIT}
    with ThreadPoolExecutor(2) as pool:
        theirs = list(pool.map(lambda seed: _ns3(program, seed=seed, **keys)[0]["goodput_mbps"], SEEDS))
    result = lot(queue, control, links).with_(RUNS).run()
    ours = [[group.goodput_mbps for group in run.groups.values()] for run in result.runs]
    names = list(result.runs[0].groups)
    found: dict[str, Any] = {"queue": queue, "control": control, "links": links}
    for who, runs in (("sojourn", ours), ("ns3", theirs)):
        place = names.index("long") if who == "sojourn" else 0
        found[who] = {
            "long": [run[place] for run in runs],
            "one": [statistics.mean(value for index, value in enumerate(run) if index != place) for run in runs],
        }
    return found


def phases(jitter_ms: float = 0.0) -> dict[str, list[float]]:
    """Run the cells of DropTail with round trips that are longer by less than a packet's time."""

    def long(links: int, shift_ms: float) -> float:
        runs = lot("droptail", "newreno", links, shift_ms, jitter_ms).with_(RUNS).run().runs
        return statistics.fmean(float(run.groups["long"].goodput_mbps) for run in runs)

    return {f"{shift_ms:g}": [long(links, shift_ms) for links in PHASED] for shift_ms in SHIFTS_MS}


def both_phases() -> dict[str, dict[str, list[float]]]:
    """Run them as they are, and with a random time of up to a packet's for each packet, which dissolves phases."""
    return {"phases": phases(), "dissolved": phases(PACKET_MS)}


def on_kernel() -> dict[str, dict[str, dict[str, list[float]]]]:
    """Run the ready networks on both: for each the goodputs of its bulk flows, and the mean delays at busy links."""
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name, (ready, changed, shaper) in ON_KERNEL.items():
        given = Scenario.load(ready, changed)
        found[name] = {}
        for who, runs in (
            ("sojourn", given.run(runs=KERNEL_RUNS).runs),
            ("kernel", given.run(runs=KERNEL_RUNS, world="linux", series=False, shaper=shaper).runs),
        ):
            say(f"{name}: {who}")
            links = [{"bottleneck": run.bottleneck, **_reverse(run), **run.hops} for run in runs]
            busy = [link for link in links[0] if links[0][link].utilization > BUSY]
            bulk = [group["name"] for group in given.to_dict()["group"] if group["traffic"]["kind"] == "bulk"]
            found[name][who] = {
                **{f"{group} [Mbit/s]": [run.groups[group].goodput_mbps for run in runs] for group in bulk},
                **{f"{link}, queue [ms]": [each[link].queue_ms.mean for each in links] for link in busy},
            }
    return found


def _reverse(run: Any) -> dict[str, Any]:
    return {"reverse": run.reverse} if hasattr(run, "reverse") else {}


def speed(program: Path) -> list[dict[str, Any]]:
    """Measure homes in both, and the chain of as many flows here."""
    found: dict[str, dict[str, Any]] = {}
    cases = ((FEW, 1.0, False), (HOMES, 10.0, True), (HOMES, 10.0, False))
    for count, seconds, as_chain in cases * TIMES:
        run = homes(count, seconds, as_chain=as_chain)
        begin, result = time.process_time(), run.run(jobs=1)
        spent = time.process_time() - begin
        links = [result.runs[0].bottleneck, *result.runs[0].hops.values()]
        what = "chain" if as_chain else f"network, {count} homes"
        row = {"what": what, "simulated": seconds, "s": spent, "hops": sum(link.departures for link in links)}
        found[what] = min(row, found.get(what, row), key=lambda one: one["s"])
    say(f"ns-3: {FEW} homes")
    core = {"homes": FEW, "flows": FLOWS, "rate": CORE_MBPS * FEW * 1e6, "home_rate": HOME_MBPS * 1e6}
    keys = {**core, "warmup": 0, "limit": LIMIT}
    idle = _ns3(program, duration=0, **keys)[1]
    printed, spent, _ = _ns3(program, duration=1, **keys)
    return [
        *found.values(),
        {"what": f"ns-3, {FEW} homes", "simulated": 1.0, "s": spent - idle, "hops": printed["sent"]},
    ]


def agrees(one: Sequence[float], other: Sequence[float]) -> bool:
    """Tell whether two means are within the tolerance."""
    difference = abs(statistics.mean(one) - statistics.mean(other))
    error = math.hypot(*(statistics.stdev(values) / math.sqrt(len(values)) for values in (one, other)))
    return difference <= max(WITHIN * statistics.mean(other), ERRORS * error)


def _shown(values: Sequence[float]) -> str:
    return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"


def of_kernel(found: dict[str, Any]) -> list[str]:
    """Return the section on the kernel."""
    rows, held = [], 0
    for name, both in found.items():
        for what, ours in both["sojourn"].items():
            theirs = both["kernel"].get(what)
            good = theirs is not None and agrees(ours, theirs)
            held += good
            shown = _shown(theirs) if theirs is not None else f"under {100 * BUSY:.0f} % used"
            rows.append([name, what, _shown(ours), shown, "yes" if good else "**no**"])
    return [
        "## On the Linux kernel",
        paragraph(
            f"""Ready scenarios in namespaces of one user-mode kernel (`sojourn run parking-lot --world linux`) and
            simulated, {KERNEL_RUNS} runs each, with the tolerance above. Compared are all bulk flows' goodputs and the
            mean delay of each link that is used to more than {100 * BUSY:.0f} %. `home, shaped` is `home-network` with
            9.5 and 45 Mbit/s at the gateway."""
        ),
        paragraph(
            """The default shaper, HTB, hands a packet over when its transmission begins: a small packet that follows a
            large one is not met by that at the next link, and CoDel reckons without the packet in transmission. With
            `--shaper device` a packet leaves when it has been sent, as it does in a simulation."""
        ),
        f"**{held} of {len(rows)} numbers agree.**",
        table(["scenario", "what", "simulated>", "kernel>", "agree"], rows),
    ]


def _ratios(rows: dict[str, list[float]]) -> list[str]:
    """Return the most over the least of each column."""
    return [f"{max(means) / min(means):.1f}" for means in zip(*rows.values(), strict=True)]


def page(found: dict[str, Any]) -> str:
    """Return the page."""
    rows, held = [], 0
    for one in found["cells"]:
        good = {flow: agrees(one["sojourn"][flow], one["ns3"][flow]) for flow in ("long", "one")}
        held += all(good.values())
        numbers = [_shown(one[who][flow]) for flow in ("long", "one") for who in ("sojourn", "ns3")]
        said = (
            "yes"
            if all(good.values())
            else f"**no**: {' and '.join(flow for flow, is_good in good.items() if not is_good)}"
        )
        rows.append([one["queue"], one["control"], str(one["links"]), *numbers, said])
    theirs = {one["links"]: one["ns3"]["long"] for one in found["cells"] if one["queue"] == "droptail"}
    each = {row["what"]: row["s"] / row["hops"] * 1e9 for row in found["speed"]}
    speeds = [
        [
            *(row["what"], f"{row['simulated']:g}", f"{row['s']:.2f}", f"{row['hops']:,}"),
            *(f"{each[row['what']]:,.0f}", f"{each[row['what']] / each['chain']:.1f}"),
        ]
        for row in found["speed"]
    ]
    return "\n\n".join(
        [
            "# Networks beside ns-3 and on Linux",
            "<!-- Written by `python -m benchmarks.networks`. Do not edit by hand. -->",
            paragraph(
                f"""The same parking lot in both: links of {RATE_MBPS:g} Mbit/s and {DELAY_MS:g} ms in a row, one bulk
                flow over all of them and one over each, {RTT_MS:g} ms beside the links, queues of {LIMIT} packets. 50
                s are measured after 10 s, {len(SEEDS)} runs in each. Chosen before the first run: means agree within
                {100 * WITHIN:.0f} %, or within two standard errors of their difference."""
            ),
            f"**{held} of {len(rows)} cells agree.** Goodput in Mbit/s, mean and standard deviation over runs.",
            table(
                ["queue", "control", "links>", "long, Sojourn>", "long, ns-3>", "one, Sojourn>", "one, ns-3>", "agree"],
                rows,
            ),
            "## Why tail drop differs",
            paragraph(
                """Which flow meets a full buffer is decided by when its packets come, within a packet's time (Floyd and
                Jacobson, On traffic phase effects in packet-switched gateways, 1991). Below all round trips are
                longer by less than the 1.2 ms of a packet: what the long flow gets changes as much as from one
                simulator to the other. A managed queue does not drop by the buffer, and agrees."""
            ),
            paragraph(
                f"""Their remedy is a random time of up to a packet's for each packet. With up to {PACKET_MS:g} ms of
                jitter on each link the same shifts change far less, as the last columns say: much of it is phase.
                Whether all is, is open, since ns-3 has no such jitter here. `python -m benchmarks.networks --phases`
                runs these rows."""
            ),
            table(
                [
                    "round trips longer by",
                    *(f"{links} links, Mbit/s>" for links in PHASED),
                    *(f"{links} links with jitter>" for links in PHASED),
                ],
                [
                    *(
                        [f"{shift} ms", *(f"{mean:.2f}" for mean in (*means, *found["dissolved"][shift]))]
                        for shift, means in found["phases"].items()
                    ),
                    ["in ns-3", *(f"{statistics.mean(theirs[links]):.2f}" for links in PHASED), *["-"] * len(PHASED)],
                    ["most over least", *_ratios(found["phases"]), *_ratios(found["dissolved"])],
                ],
            ),
            *of_kernel(load(KERNEL)),
            "## Many homes",
            paragraph(
                f"""Homes with lines of {HOME_MBPS} Mbit/s and {FLOWS} bulk flows each, behind a core of {CORE_MBPS}
                Mbit/s for each home, on one core of the machine, the least of {TIMES} times. A packet-hop is a
                packet that a link has sent. The chain has as many flows as {HOMES} homes, over two links. ns-3 has
                fewer homes: its search for routes grows faster than they do."""
            ),
            table(
                ["topology", "simulated [s]>", "processor time [s]>", "packet-hops>", "ns each>", "times the chain's>"],
                speeds,
            ),
        ]
    )


def main(arguments: Sequence[str]) -> None:
    """Run what is asked, and write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.networks", description="Networks beside ns-3 and on the Linux kernel."
    )
    parser.add_argument("--render", action="store_true", help="write the page from the numbers of the last run")
    parser.add_argument("--kernel", action="store_true", help="run those on the kernel alone")
    parser.add_argument("--phases", action="store_true", help="run those with other phases, alone")
    parser.add_argument("--speed", action="store_true", help="measure what homes cost, alone")
    asked = parser.parse_args(arguments)
    whole = not (asked.render or asked.kernel or asked.phases or asked.speed)
    if whole or asked.kernel:
        save(KERNEL, on_kernel())
    if whole:
        program = build_ns3(source=SOURCE)
        cells = []
        for queue, control, links in CELLS:
            say(f"{queue}, {control}, {links} links")
            cells.append(cell(program, queue, control, links))
        save(NAME, {"cells": cells, **both_phases(), "speed": speed(program)})
    elif asked.phases:
        save(NAME, {**load(NAME), **both_phases()})
    elif asked.speed:
        save(NAME, {**load(NAME), "speed": speed(build_ns3(source=SOURCE))})
    write_page(PAGE, page(load(NAME)))


if __name__ == "__main__":
    main(sys.argv[1:])
