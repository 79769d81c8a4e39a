"""Other people's stacks behind Sojourn's queues, beside Sojourn's own senders; writes a page of docs/validation::

python -m benchmarks.stacks             # build the stacks, run all cells (some 7 minutes)
python -m benchmarks.stacks --transfers # only the short transfers, seconds
python -m benchmarks.stacks --restarts  # only bursts after pauses, a minute
python -m benchmarks.stacks --sockets   # only the stack over real sockets, in real time (5 minutes)
python -m benchmarks.stacks --render    # only write the page, from the stored numbers
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

import sojourn
from benchmarks import sockets
from benchmarks.common import ROOT, Document, load, paragraph, save, say, table, write_page
from sojourn import qlog, trial
from sojourn.trial.stack import laws
from sojourn.trial.suite import load as load_suite
from sojourn.worlds.stacks import Own

NAME = "stacks"
STACKS: dict[str, dict[str, str | None]] = {
    "quinn": {"newreno": "newreno", "cubic": "cubic", "bbr": "bbr"},
    "quiche": {"reno": "newreno", "cubic": "cubic", "bbr": "bbr"},
    "s2n-quic": {"cubic": "cubic", "bbr": "bbr"},
    "picoquic": {"newreno": "newreno", "cubic": "cubic", "bbr": "bbr"},
    "sctp": {"sctp": "newreno"},
    "smoltcp": {"reno": "newreno", "cubic": "cubic"},
    "str0m": {"gcc": None},
}
"""The controls of each, and Sojourn's of the same name, which is that of a suite, too. SCTP's control, of RFC 9260,
grows and halves as NewReno; str0m's is Google's for media, which Sojourn does not have."""
LOGGED = {"quinn": ("newreno", "cubic"), "quiche": ("reno", "cubic")}
"""Those that write qlog, and controls whose reductions have a size."""
PATHS: dict[str, tuple[Mapping[str, Any], bool]] = {
    "drops of a short buffer": ({"rate": "10 Mbit/s", "queue": {"kind": "droptail", "limit": "40 packets"}}, False),
    "marks of CoDel": ({"rate": "10 Mbit/s", "queue": {"kind": "codel", "ecn": True}}, True),
    "1 of 1,000 packets lost": ({"rate": "100 Mbit/s", "loss": 0.001, "queue": "droptail"}, False),
}
"""Paths on which decisions are compared, and whether with ECN."""
TOO_LARGE = {("quiche", "1 of 1,000 packets lost")}
"""Logs of more than 1 GB."""
QUEUES = ("droptail", "red", "codel", "fq_codel", "pie", "cake")
DURATION_S, WARMUP_S, RTT_MS, LIMIT_PACKETS = 60, 10, 40, 100
RUNS, TRANSFERS, TRANSFER_KB, TRANSFER_LOSS = 5, 200, 20, 0.02
BURST_KB, BURST_EVERY_S = 500, 3
NEAR_MS, NEAR = 10.0, 0.1
"""Mean queueing delays and goodputs that are called alike."""
_OWN = "sojourn"


def main() -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stacks", description="Stacks behind Sojourn's queues.")
    parser.add_argument("--render", action="store_true", help="only write the page, from the stored numbers")
    parser.add_argument("--only", action="append", choices=STACKS, help="only measure this stack, of all but sockets")
    parser.add_argument("--transfers", action="store_true", help="only measure short transfers")
    parser.add_argument("--restarts", action="store_true", help="only measure bursts after pauses")
    parser.add_argument("--sockets", action="store_true", help="only measure a stack over real sockets")
    asked = parser.parse_args()
    if asked.transfers:
        save(NAME, {**load(NAME), "transfers": transfers()})
    elif asked.restarts:
        save(NAME, {**load(NAME), "restarts": restarts()})
    elif asked.sockets:
        Own(sockets.STACK).build()
        save(NAME, {**load(NAME), "sockets": sockets.measure()})
    elif not asked.render:
        measure(asked.only)
    write_page(f"validation/{NAME}", "\n\n".join(render(load(NAME))))
    return 0


def measure(only: Sequence[str] | None) -> None:
    """Build and run; keep what was measured, and of stacks that were left out what was measured before."""
    found: dict[str, Any] = {"cells": {}, "laws": {}, "suites": {}, "decisions": {}, "wall_s": {}, "versions": {}}
    if only:
        found = load(NAME)
    for stack, controls in STACKS.items():
        if only and stack not in only:
            continue
        say(f"building {stack}")
        Own(stack).build()
        found["versions"][stack] = _version(stack)
        for control, own in controls.items():
            _measure(found, stack, control, own)
        began = time.monotonic()
        control = "cubic" if "cubic" in controls else next(iter(controls))
        _kept({"stack": stack, "control": control, "flows": 2}, "droptail", beside=False)
        found["wall_s"][stack] = time.monotonic() - began
    measured = {**found, "transfers": transfers(), "restarts": restarts()}
    save(NAME, measured if only else {**measured, "sockets": sockets.measure()})


def _measure(found: Document, stack: str, control: str, own: str | None) -> None:
    """Judge one control of a stack, and set it beside Sojourn's of the same name where there is one."""
    say(f"{stack} {control}, laws")
    subject = trial.Stack(stack, control)
    found["laws"][f"{stack} {control}"] = [[one.name, one.holds, one.found] for one in laws(subject, lambda _: None)]
    senders: dict[str, dict[str, Any]] = {stack: {"stack": stack, "control": control}}
    if own is not None:
        senders[_OWN] = {"control": own, "transport": "linux"}
        say(f"{stack} {control}, suite {own}")
        cases = load_suite(own).judge(subject, lambda _: None)
        found["suites"][f"{stack} {control}"] = [[case.name, case.holds, case.found] for case in cases]
    for queue in QUEUES:
        say(f"{stack} {control} {queue}")
        found["cells"][f"{stack} {control} {queue}"] = {
            where: {name: _kept(sender, queue, beside=beside) for name, sender in senders.items()}
            for where, beside in (("alone", False), ("beside", True))
        }
    if own is None or control not in LOGGED.get(stack, ()):
        return
    for name, (link, marks) in PATHS.items():
        if (stack, name) not in TOO_LARGE:
            say(f"{stack} {control}, {name}")
            found["decisions"][f"{stack} {control} {name}"] = _decisions(stack, control, own, link, ecn=marks)


def transfers() -> dict[str, dict[str, float]]:
    """Return the completion times of short transfers with loss: each stack with its own choice of a control."""
    senders: dict[str, dict[str, Any]] = {_OWN: {"control": "cubic", "transport": "linux"}}
    senders |= {stack: {"stack": stack} for stack in STACKS}
    return {name: _transfers(flows) for name, flows in senders.items()}


def _transfers(flows: Mapping[str, Any]) -> dict[str, float]:
    """Run short transfers that begin at random times, each over a connection of its own."""
    group = {
        "name": "one",
        "rtt": f"{RTT_MS} ms",
        "flows": TRANSFERS,
        "start": {"uniform": ["0 s", "20 s"]},
        "traffic": {"kind": "bulk", "size": f"{TRANSFER_KB} kB"},
        **flows,
    }
    link = {"rate": "100 Mbit/s", "loss": TRANSFER_LOSS, "queue": "droptail"}
    path = {"name": NAME, "duration": "60 s", "bottleneck": link, "group": [group]}
    runs = sojourn.scenario(path).run(runs=RUNS, series=False).runs
    times = [run["groups"]["one"]["fct_ms"] for run in runs]
    found = {part: sum(time[part] for time in times) / RUNS for part in ("mean", "p50", "p90", "p99")}
    return {"ended_percent": 100 * sum(time["count"] for time in times) / (RUNS * TRANSFERS), **found}


def _decisions(stack: str, control: str, own: str, link: Mapping[str, Any], *, ecn: bool) -> dict[str, Any]:
    """Compare what a lone sender of each makes of each loss or mark."""
    transport = {"preset": "linux", "ecn": ecn}
    senders: dict[str, dict[str, Any]] = {
        _OWN: {"control": own, "transport": transport},
        stack: {"stack": stack, "control": control},
    }
    with tempfile.TemporaryDirectory() as folder:
        logs = []
        for name, sender in senders.items():
            group = {"name": "a", "rtt": f"{RTT_MS} ms", **sender}
            path = {"duration": f"{DURATION_S} s", "bottleneck": link, "group": [group]}
            run = sojourn.scenario(path).run(runs=1, series=False, decisions=True)
            run.write_qlogs(f"{folder}/{name}")
            logs.append(qlog.read(f"{folder}/{name}/a-0-{run.runs[0].seed}.sqlog"))
        compared = qlog.compare(logs[0], logs[1], [qlog.REDUCTION])
        return {
            "reductions": [len(list(log.of([qlog.REDUCTION]))) for log in logs],
            "alike": compared.alike,
            "why": None if compared.difference is None else compared.difference.why,
        }


def restarts() -> dict[str, dict[str, float]]:
    """Return how long bursts take that follow a pause: of each stack and control, and of Sojourn's of the same name."""
    senders: dict[str, dict[str, Any]] = {}
    for stack, controls in STACKS.items():
        senders |= {f"{stack} {control}": {"stack": stack, "control": control} for control in controls}
    for own in sorted({own for controls in STACKS.values() for own in controls.values() if own}):
        senders[f"{_OWN} {own}"] = {"control": own, "transport": "linux"}
    return {name: _restarted(sender) for name, sender in senders.items()}


def _restarted(sender: Mapping[str, Any]) -> dict[str, float]:
    """Run an application that writes a burst, and pauses until the next one."""
    say(f"restarts, {sender}")
    traffic = {"kind": "messages", "size": f"{BURST_KB} kB", "every": f"{BURST_EVERY_S} s"}
    group = {"name": "one", "rtt": f"{RTT_MS} ms", "start": "0 s", "traffic": traffic, **sender}
    queue = {"kind": "droptail", "limit": f"{LIMIT_PACKETS} packets"}
    link = {"rate": "20 Mbit/s", "queue": queue}
    # The first two bursts meet a window that is still small.
    path = {"duration": f"{DURATION_S} s", "warmup": f"{2 * BURST_EVERY_S} s", "bottleneck": link, "group": [group]}
    run = sojourn.scenario(path).run(runs=1, series=False).runs[0]
    times, found = run["groups"]["one"]["fct_ms"], run["bottleneck"]
    kept = {part: times[part] for part in ("count", "mean", "p90")}
    return {**kept, "drop_percent": 100 * (found["drop_rate"] or 0.0), "queue_ms": found["queue_ms"]["p99"]}


def _version(stack: str) -> str:
    """Return the version of what a stack is built from."""
    if "source" in Own(stack).package.get("metadata", {}).get("sojourn", {}):
        return f"of {Own(stack).package['metadata']['sojourn']['source']}"
    crate = {"quinn": "quinn-proto", "sctp": "sctp-proto"}.get(stack, stack)
    lines = (ROOT / "stacks" / stack / "Cargo.lock").read_text(encoding="utf-8").splitlines()
    return lines[lines.index(f'name = "{crate}"') + 1].split('"')[1]


def _kept(flows: Mapping[str, Any], queue: str, *, beside: bool) -> dict[str, float]:
    """Run a group of these flows, perhaps beside one of CUBIC, and return what is kept of it."""
    limit = {} if queue == "cake" else {"limit": f"{LIMIT_PACKETS} packets"}
    groups: list[dict[str, Any]] = [{"name": "one", "rtt": f"{RTT_MS} ms", **flows}]
    if beside:
        groups.append({"name": "other", "control": "cubic", "transport": "linux", "rtt": f"{RTT_MS} ms"})
    path = {
        "name": NAME,
        "duration": f"{DURATION_S} s",
        "warmup": f"{WARMUP_S} s",
        "bottleneck": {"rate": "20 Mbit/s", "queue": {"kind": queue, **limit}},
        "group": groups,
    }
    run = sojourn.scenario(path).run(runs=1, series=False).runs[0]
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
        "## Which laws do they keep?",
        paragraph("What `sojourn try CONTROL --stack NAME` asks of each ([guide](../guide/stacks.md#is-it-any-good))."),
        table(["stack", "control", "laws that do not hold"], [_laws(*one) for one in document["laws"].items()]),
        "## Which cases do they pass?",
        paragraph(
            "`sojourn try CONTROL --stack NAME --suite SUITE`, with the suites newreno, cubic and bbr (their cases and "
            "bounds are in python/sojourn/suites). Sojourn's own newreno, cubic and bbr3, with the transport `linux`, "
            "pass all of theirs. Reasons that were found are among the faults below."
        ),
        table(["stack", "control", "passed>", "not passed"], [_cases(*one) for one in document["suites"].items()]),
        "## Which decisions are the same?",
        paragraph(
            "What a lone sender leaves of its window at each loss or mark, one after the other, from the qlog of both "
            "(`sojourn compare-log A B --of reduction`), with Sojourn's control of the same name on its transport "
            "`linux`. Of a stack that knows no ECN, CoDel drops packets instead."
        ),
        table(
            [
                "stack",
                "control",
                "path",
                "reductions, Sojourn's / the stack's>",
                "alike before one differs>",
                "that one",
            ],
            [_decided(*one) for one in document["decisions"].items()],
        ),
        "## How soon are losses repaired?",
        paragraph(
            f"{RUNS} x {TRANSFERS} transfers of {TRANSFER_KB} kB, each over a connection of its own, on a path that "
            f"loses {100 * TRANSFER_LOSS:g} % of all packets forward; completion times in ms from the start of the "
            "handshake. So few packets leave few acknowledgements after most losses. Sojourn's is CUBIC on its "
            "transport `linux`; the others have their own choice of a control."
        ),
        table(
            ["sender", "ended [%]>", "mean>", "p50>", "p90>", "p99>"],
            [
                [
                    name,
                    f"{times['ended_percent']:.1f}",
                    *(f"{times[part]:.0f}" for part in ("mean", "p50", "p90", "p99")),
                ]
                for name, times in document["transfers"].items()
            ],
        ),
        *_restarts_of(document.get("restarts", {})),
        *sockets.section(document["sockets"]),
        "## Faults, with their places",
        paragraph(_COMMANDS),
        f"```sh\n{_COMMAND}\n```",
        *map(paragraph, _faults(document["cells"])),
        "## All cells",
        paragraph(
            "A value is the stack's / that of Sojourn's control of the same name on its transport `linux`. One flow on "
            f"20 Mbit/s and {RTT_MS} ms with {LIMIT_PACKETS} packets of buffer (CAKE has its own), measured from "
            f"{WARMUP_S} s to {DURATION_S} s; the last column is a run of its own, beside one flow of Sojourn's CUBIC."
        ),
        table(heads, rows),
        "## How was it measured?",
        paragraph(
            f"In virtual time, through `sojourn-endpoint`: {versions}. A minute of two connections at 20 Mbit/s, of "
            f"CUBIC where there is one, takes {speeds}, with the TLS of QUIC. The same seed gives the same record."
        ),
        paragraph(_METHOD),
    ]


def _answer(cells: Mapping[str, Mapping[str, Any]]) -> str:
    """Say which controls queue as Sojourn's of the same name do, and how near."""
    differences: dict[str, tuple[float, float]] = {}
    for name, cell in cells.items():
        stack, control, _ = name.split()
        theirs, ours = cell["alone"][stack], cell["alone"].get(_OWN)
        if ours is None:
            continue
        apart = abs(theirs["queue_ms"] - ours["queue_ms"]), abs(theirs["goodput_mbps"] / ours["goodput_mbps"] - 1)
        before = differences.get(f"{stack} {control}", (0.0, 0.0))
        differences[f"{stack} {control}"] = max(apart[0], before[0]), max(apart[1], before[1])
    near = {name: one for name, one in differences.items() if one[0] <= NEAR_MS and one[1] <= NEAR}
    others = ", ".join(name for name in differences if name not in near)
    queue_ms, goodput = (max(one[place] for one in near.values()) for place in (0, 1))
    return (
        f"As Sojourn's controls of the same name do, within {NEAR_MS:g} ms and {100 * NEAR:g} %: {', '.join(near)}. "
        f"Under {len(QUEUES)} queues their mean delays differ by at most {queue_ms:.1f} ms, their goodput by at most "
        f"{100 * goodput:.0f} %. Not so: {others}. The two limits were chosen after the runs."
    )


def _restarts_of(restarted: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the section on bursts after pauses, where they were measured."""
    if not restarted:
        return []
    return [
        "## What does a pause leave of the window?",
        paragraph(
            f"An application that writes {BURST_KB} kB every {BURST_EVERY_S} s: completion times of its bursts in ms, "
            f"the first two left out, on 20 Mbit/s and {RTT_MS} ms with {LIMIT_PACKETS} packets of buffer. All of a "
            "burst in one window takes its 208 ms on the link and a way, 228 ms. A window that starts anew takes some "
            "round trips more. One that is sent at once after the pause, without pacing, fills the buffer."
        ),
        table(
            ["sender", "control", "bursts>", "mean>", "p90>", "dropped [%]>", "queue, p99 [ms]>"],
            [_restart(name, found) for name, found in restarted.items()],
        ),
    ]


def _restart(name: str, found: Mapping[str, float]) -> list[str]:
    shown = (f"{found['count']:.0f}", f"{found['mean']:.0f}", f"{found['p90']:.0f}", f"{found['drop_percent']:.2f}")
    return [*name.split(), *shown, f"{found['queue_ms']:.1f}"]


def _laws(name: str, laws: Sequence[Sequence[Any]]) -> list[str]:
    broken = [law for law, holds, _ in laws if not holds]
    return [*name.split(), "; ".join(broken) or "none"]


def _decided(name: str, found: Mapping[str, Any]) -> list[str]:
    ours, theirs = found["reductions"]
    return [*name.split(maxsplit=2), f"{ours} / {theirs}", str(found["alike"]), found["why"] or "none differs"]


def _cases(name: str, cases: Sequence[Sequence[Any]]) -> list[str]:
    failed = [f"{case} ({found})" for case, holds, found in cases if not holds]
    return [*name.split(), f"{len(cases) - len(failed)} of {len(cases)}", "; ".join(failed)]


def _faults(cells: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return each fault with what it does to the numbers."""

    def of(name: str, what: str, where: str = "alone") -> float:
        return float(cells[name][where][name.split(maxsplit=1)[0]][what])

    return [
        _BBR.format(
            most=of("quinn bbr red", "drop_percent"),
            own=cells["quinn bbr red"]["alone"][_OWN]["drop_percent"],
            share=of("quinn bbr red", "share_percent", "beside"),
        ),
        _FILTER,
        _GAPS,
        _UNDONE.format(
            queue=of("quiche cubic cake", "queue_ms"),
            own_queue=cells["quiche cubic cake"]["alone"][_OWN]["queue_ms"],
            drops=of("quiche cubic cake", "drop_percent"),
            own=cells["quiche cubic cake"]["alone"][_OWN]["drop_percent"],
        ),
        _SMALL.format(
            limit=LIMIT_PACKETS,
            queue=of("quiche reno droptail", "queue_ms"),
            share=of("quiche reno droptail", "share_percent", "beside"),
        ),
        _QLOG,
        _TENTH,
        _RATE.format(
            queue=of("s2n-quic bbr droptail", "queue_ms"),
            own=cells["s2n-quic bbr droptail"]["alone"][_OWN]["queue_ms"],
        ),
        _FIXED,
        _THRESHOLD.format(
            drops=of("picoquic cubic codel", "drop_percent"),
            own=cells["picoquic cubic codel"]["alone"][_OWN]["drop_percent"],
            share=of("picoquic cubic codel", "share_percent", "beside"),
        ),
        _SCTP,
        _WINDOW.format(drops=of("smoltcp cubic droptail", "drop_percent")),
    ]


def _row(name: str, cell: Mapping[str, Mapping[str, Document]]) -> list[str]:
    stack, control, queue = name.split()

    def both(where: str, what: str, digits: int) -> str:
        return " / ".join(f"{cell[where][who][what]:.{digits}f}" for who in (stack, _OWN) if who in cell[where])

    shown = [both("alone", "queue_ms", 1), both("alone", "goodput_mbps", 2), both("alone", "drop_percent", 2)]
    return [stack, control, queue, *shown, both("beside", "share_percent", 0)]


_COMMANDS = """The sources named here are those of the versions below. What is said of a patched copy was tried in
    one; no command of the project makes it."""
_COMMAND = """sojourn stacks build quinn
sojourn try bbr --stack quinn"""
_BBR = """**quinn's BBR** works out a pacing rate (`calculate_pacing_rate` in src/congestion/bbr/mod.rs) that only its
    metrics show: the pacer is given the window (`poll_transmit` in src/connection/mod.rs), so packets leave at 1.25
    windows in a round trip, and BBR's window of two bandwidth-delay products is always in flight. It loses {most:.0f}
    % of its packets under RED, where Sojourn's loses {own:.2f} %, and takes {share:.0f} % of the link beside CUBIC.
    In a copy whose pacer has the rate nothing is lost and 2 ms of queue are left."""
_FILTER = """Its bandwidth filter is only told of new maxima (`on_ack` in src/congestion/bbr/bw_estimation.rs), so old
    ones never expire: with a tenth of the bandwidth (case A.16) half of all packets are lost; in a copy that only
    paces it is much the same. Users found it broken (noq issue 475); its maintainers call it highly experimental
    (quinn issue 2156). One of Sojourn's controls in quinn (`sojourn:bbr3`) has the same pacer."""
_GAPS = """**quinn's receiver** gives a connection up whose stream has many holes ("too many gaps in stream buffer",
    src/connection/streams/recv.rs): on a path of 200 Mbit/s and 200 ms with a deep buffer the losses at the end of slow
    start are enough, and the connection ends after 3 s (the last case of CUBIC)."""
_UNDONE = """**quiche's CUBIC** takes a reduction back where fewer than a fifth of the window's packets were lost
    after it (`rollback` in src/recovery/congestion/cubic.rs, called in `on_packet_acked`). RFC 9438 section 4.9 has
    this for losses that were none; these are losses that a queue meant. Under CAKE it waits {queue:.1f} ms and loses
    {drops:.2f} % of its packets (Sojourn's {own_queue:.1f} ms and {own:.2f} %). In a copy without this it loses next
    to nothing under FQ-CoDel."""
_SMALL = """**quiche's packets** become as small as the window's rest: `cwnd_available` in
    src/recovery/congestion/recovery.rs lets any number of bytes be sent, and so each acknowledgement of a packet is
    answered by small ones (what RFC 9293 section 3.8.6.2.1 avoids in TCP). A buffer of {limit} packets then holds
    fewer bytes: Reno waits {queue:.1f} ms under DropTail and has {share:.0f} % beside CUBIC. Its Reno and CUBIC are
    not paced (`get_packet_send_time` returns the present). In a copy that sends full packets only, goodput is that of
    the others."""
_QLOG = """**quinn's qlog** has round-trip times in seconds (`as_secs_f32` in src/connection/paths.rs), where the
    format has milliseconds. **quiche's** lists in each acknowledgement all ranges since the beginning, so that a
    minute with a loss of one in a thousand writes more than 1 GB even at its level Core; that path is left out for
    it above."""
_TENTH = """**s2n-quic's receiver** acknowledges every tenth packet (`packet_tolerance` in src/ack/ack_manager.rs of
    s2n-quic-transport), where RFC 9000 section 13.2.2 recommends every second one. Each acknowledgement lets a
    burst go: CUBIC uses 43 % of a link with a buffer of 10 packets. In a copy with two it uses 93 % and passes its
    suite."""
_RATE = """**s2n-quic's BBR** overestimates the bandwidth: `on_ack` in src/recovery/bandwidth/estimator.rs of
    s2n-quic-core keeps the interval of an earlier acknowledgement where the packet's `delivered_bytes` is no
    larger, and divides more bytes by it. So it keeps {queue:.1f} ms of queue under DropTail (Sojourn's {own:.1f}
    ms). In a copy with a fresh interval for each acknowledgement it passes seven of nine cases."""
_FIXED = """**s2n-quic's loss detection** has the thresholds of RFC 9002 section 6.1, three packets and 9/8 of a
    round trip, and does not adapt them to reordering. The RFC leaves that open; it is why A.18 fails: in a copy
    with 1000 packets and two round trips it uses 98 %."""
_THRESHOLD = """**picoquic's CUBIC** answers losses only while it estimates that more than 15 % of all packets are
    lost (`picoquic_cc_hystart_loss_test` in cc_common.c with `PICOQUIC_SMOOTHED_LOSS_THRESHOLD`, called in cubic.c),
    where RFC 9438 section 4.6 reduces the window at each congestion event. Marks it answers at once. Under CoDel,
    which drops here, it loses {drops:.1f} % of its packets (Sojourn's {own:.2f} %) and takes {share:.0f} % of the link
    beside CUBIC. In a copy whose threshold is 0 it loses at most 0.3 % under the six queues of the law. Its Prague has
    the same threshold."""
_SCTP = """**sctp-proto** counts in `process_fast_retransmission` (src/association/mod.rs) up to three reports of a
    hole and asks whether there are just three: a hole that reached three during a recovery is never sent again before
    the timer (RFC 9260 section 7.2.4). `get_data_packets_to_retransmit` compares the congestion window with what is
    sent at once, not with what is in flight."""
_WINDOW = """**smoltcp's congestion window** does not bound what is in flight: `seq_to_transmit` in src/socket/tcp.rs
    compares it with what may be sent at once, and what was sent before is not subtracted (RFC 5681 section 3.1). So
    CUBIC and Reno give the same run, and {drops:.0f} % of their packets are dropped behind DropTail; only the
    receiver's window holds them back. In a copy that subtracts it the two controls differ and CUBIC loses next to
    nothing."""
_METHOD = """Quinn's and quiche's datagrams have up to 1480 bytes with their IP and UDP headers, Sojourn's segments
    1500; SCTP's packets have 1500 with those of UDP (RFC 6951). Smoltcp has no SACK and no ECN here, quiche and
    sctp-proto no ECN; quinn, s2n-quic and picoquic have both, so that queues which mark do not drop their packets.
    Str0m has no ECN, and its application is a video: a transfer has ended where all of it has arrived, which nothing
    assures. Smoltcp's
    buffers have 256 KiB, more than the path holds. Each stack paces, or does not, as it does by default. Quiche reads
    the machine's clock and draws from its random numbers: in its program both are the simulation's."""

if __name__ == "__main__":
    sys.exit(main())
