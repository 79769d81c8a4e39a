"""Writes docs/performance.md from the raw numbers."""

from collections.abc import Sequence
from typing import Any

from benchmarks import aims, comparison, costs, kinds, machine, mix, queues, scaling
from benchmarks.common import Document, paragraph, table

# Timers that take so many times longer at 50,000 flows than at 10 go through flows.
TIMER_GROWTH = 100


def render(document: Document, instructions: Document) -> str:
    """Return the page."""
    parts = [
        "# How fast is Sojourn?",
        _answer(document),
        "Written by `make bench`; the raw numbers are in `benchmarks/results/performance.json`.",
        machine.sentence(document["machine"]),
        "## What people run",
        *_mix(document["mix"]),
        "## Against ns-2, ns-3 and htsim",
        *_comparison(document["comparison"]),
        *_bare(document.get("bare")),
        "## Which aims are reached?",
        aims.section(document),
        "## Campaigns",
        *_campaign(document["campaign"]),
        *_workers(document.get("workers")),
        "## Many flows",
        *_scaling(document["scaling"], document["idle"]),
        *_large(document.get("large")),
        *_media(document.get("media")),
        "## Queue disciplines, a packet at a time",
        *_queues(document["queues"], instructions),
        "## The scenario with each discipline and each control",
        *_kinds(document["kinds"]),
        "## Where the time goes",
        *_hotspots(document["hotspots"]),
        "## Start-up of the command",
        *_startup(document["startup"]),
    ]
    return "\n\n".join(parts)


def _answer(document: Document) -> str:
    """Return what a user wants to know first."""
    rows = document["comparison"]["newreno"]
    ours = next(row for row in rows if row["variant"] == scaling.DEFAULT)
    found = {
        name: [row["net_s"] / ours["net_s"] for row in rows if row["simulator"] == name]
        for name in comparison.SIMULATORS.values()
    }
    others = ", ".join(
        f"{' to '.join(f'{ratio:.1f}' for ratio in sorted({min(ratios), max(ratios)}))} times as long in {name}"
        for name, ratios in found.items()
        if ratios
    )
    minute_ms = 60e3 * ours["net_s"] / document["comparison"]["point"]["duration_s"]
    beside = f" The same scenario takes {others}." if others else ""
    return (
        f"A minute of ten flows on 4 Mbit/s takes {minute_ms:.1f} ms of one processor core with the default transport: "
        f"{ours['packet_ns']:.0f} ns for a packet and its acknowledgement.{beside}"
    )


def _mix(counted: Document) -> list[str]:
    """Return what the scenarios of the mix cost, here and in the peers."""
    if counted["rows"] is None:
        return ["Not counted: needs valgrind and cargo."]
    peers = list(comparison.SIMULATORS.values())
    rows = [
        [
            f"`{row['scenario']}`",
            row["what"],
            f"{row['instructions']:,.0f}",
            f"{row['ns']:.0f}",
            *(_beside(row["peers"].get(name)) for name in peers),
        ]
        for row in counted["rows"]
    ]
    heads = [f"{name}: instructions, ns>" for name in peers]
    return [
        paragraph(f"""Instructions and processor time for each {costs.PAYLOAD_BYTES:,} bytes that arrive, with all that
            this takes: acknowledgements, queues, repairs, statistics. The geometric mean of the first nine is
            {mix.mean(counted["rows"]):,.0f} instructions. Counted with valgrind and timed at commit
            {counted["commit"]}; times are medians of {costs.ROUNDS} rounds in which the simulators take turns."""),
        table(["Scenario", "What it has", "Instructions>", "ns>", *heads], rows),
        "A dash is a scenario that the peer cannot have:",
        "\n".join(f"- {reason}" for reason in mix.reasons(counted["rows"])),
    ]


def _beside(cost: dict[str, Any] | None) -> str:
    return "-" if cost is None else f"{cost['instructions']:,.0f}, {cost['ns']:,.0f}"


def _comparison(numbers: dict[str, Any]) -> list[str]:
    point = numbers["point"]
    flows = point["flows_1"]
    packets = point["rate_bps"] * point["duration_s"] / 12_000
    engine = numbers["engine"]
    parts = [
        paragraph(f"""{flows} + {flows} NewReno flows on {point["rate_bps"] / 1e6:g} Mbit/s, {point["limit_packets"]}
            packets of DropTail, base RTT {point["rtt_s"] * 1e3:g} ms, {point["duration_s"]:g} simulated seconds:
            {packets:,.0f} packets and their acknowledgements. Is it the same traffic? Means of
            {numbers["rounds"]} seeds after {point["warmup_s"]:g} s:"""),
        _traffic(numbers["traffic"], point["rate_bps"]),
        paragraph("""The transport `rfc` acknowledges every second segment and has SACK and timestamps, which leave
            1,448 of 1,500 bytes for payload; all others here acknowledge every segment. htsim has no SACK;
            its retransmission timeout is 250 ms or more, and after one it sends all of its window again, also
            what has arrived. Those copies are the goodput that it has less. Its packets have no headers:
            1,460 of their 1,500 bytes are counted as payload. It keeps no distributions of delays."""),
        paragraph(f"""User + system time of the process, all on one core, without start-up (what a run costs that builds
            everything and simulates nothing); medians of {numbers["rounds"]} rounds in which the simulators take turns,
            each round with another seed. {_when(numbers["machine"])}"""),
        _timings(numbers["newreno"]),
        paragraph(f"""By its own clock the engine takes {engine["wall_s"] * 1e3:.1f} ms for a run with the transport
            `ns2` (median; least {engine["wall_s_least"] * 1e3:.1f} ms), {1e9 * engine["wall_s"] / packets:.0f} ns for a
            packet and its acknowledgement, {1e9 * engine["wall_s"] / engine["events"]:.0f} ns for an event."""),
        paragraph("""What the variants set up is in [the peers' README](../benchmarks/peers/README.md). ns-2 and ns-3
            keep no traces and no per-flow monitors here, which would slow them down; Sojourn always keeps its
            distributions of delay and RTT."""),
    ]
    if len(numbers["ledbat"]) > 1:
        parts += ["With LEDBAT as the second group (RFC 6817 in Sojourn, `TcpLedbat` in ns-3):"]
        parts += [_timings(numbers["ledbat"])]
    return parts


def _traffic(rows: Sequence[dict[str, Any]], rate_bps: float) -> str:
    heads = ["Utilization, %>", "Queue, packets>", "Drops, %>", "Goodput, % of the rate>", "Timeouts>"]
    lines = [
        [
            row["simulator"],
            f"{100 * row['utilization']:.2f}",
            f"{row['queue_packets_mean']:.1f}",
            f"{100 * row['drop_rate']:.3f}",
            f"{100 * row['goodput_bps'] / rate_bps:.2f}",
            "-" if row["timeouts"] is None else f"{row['timeouts']:.1f}",
        ]
        for row in rows
    ]
    return table(["Simulator", *heads], lines)


def _bare(numbers: dict[str, Any] | None) -> list[str]:
    if numbers is None:
        return []
    ratio = numbers["engine_ns"] / numbers["bare_ns"]
    return [
        "## Against a bare loop",
        paragraph(f"""The least that a simulator of this scenario can do is one event for each packet, its
            acknowledgement's arrival at the sender: departure and delivery follow by arithmetic. A loop that does only
            this, with ten AIMD flows, DropTail and distributions of RTT and queue delay, but without loss recovery,
            timers, headers and other instruments, takes {numbers["bare_ns"]:.1f} ns for a packet and its
            acknowledgement. The engine takes {numbers["engine_ns"]:.1f} ns in the same process, {ratio:.1f} times as
            long (shortest of {numbers["rounds"]} rounds in alternation)."""),
    ]


def _large(rows: Sequence[dict[str, Any]] | None) -> list[str]:
    if rows is None:
        return []
    heads = ["Flows>", "Rate, Gbit/s>", "Simulated, s>", "Packets>", "Processor time, s>", "ns per packet>"]
    lines = [
        [
            f"{row['flows']:,.0f}",
            f"{row['rate_bps'] / 1e9:g}",
            f"{row['duration_s']:g}",
            f"{row['packets']:,}",
            f"{row['cpu_s']:.2f}",
            f"{1e9 * row['cpu_s'] / row['packets']:.0f}",
            "-" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 1e6:.0f}",
        ]
        for row in rows
    ]
    return [
        "## Large runs",
        paragraph("""NewReno flows with a base RTT of 50 ms that start at random, over a DropTail buffer of one
            bandwidth-delay product; one run on one thread, with the building of the world and the record."""),
        table([*heads, "Peak memory, MB>"], lines),
    ]


def _media(numbers: dict[str, Any] | None) -> list[str]:
    if numbers is None:
        return []
    heads = ["Network", "A minute takes, ms>", "Least to most, ms>", "Events>", "ns per event>"]
    lines = [
        [
            row["network"],
            f"{1e3 * row['wall_s']:.0f}",
            f"{1e3 * row['wall_s_least']:.0f} to {1e3 * row['wall_s_most']:.0f}",
            f"{row['events']:,}",
            f"{row['event_ns']:.0f}",
        ]
        for row in numbers["rows"]
    ]
    return [
        "## WiFi",
        paragraph(f"""A simulated minute of a medium that stations share, on one thread. ns-3.37 takes 60 to 90 s
            for such a minute. {_when(numbers["machine"])}"""),
        table(heads, lines),
    ]


def _timings(rows: Sequence[dict[str, Any]]) -> str:
    ours = {row["variant"]: row for row in rows if row["simulator"] == "Sojourn"}
    ratios = [f"Times {name}>" for name in ours]
    return table(
        ["Simulator", "Variant", "Start-up, s>", "Run, s>", "Least to most, s>", "ns per packet>", *ratios],
        [
            [
                row["simulator"],
                row["means"],
                f"{row['startup_s']:.3f}",
                f"{row['net_s']:.4f}",
                f"{row['net_s_least']:.4f} to {row['net_s_most']:.4f}",
                f"{row['packet_ns']:,.0f}",
                *(f"{row['net_s'] / one['net_s']:.1f}" for one in ours.values()),
            ]
            for row in rows
        ],
    )


def _campaign(rows: Sequence[dict[str, Any]]) -> list[str]:
    one = rows[0]
    lines = [
        [
            str(row["jobs"]),
            {"local": "threads", "dask": "processes of a Dask cluster"}[row.get("how", "local")],
            f"{row['wall_s']:.1f}",
            f"{row['cpu_s']:.1f}",
            f"{row['runs'] / row['wall_s']:.0f}",
            f"{one['wall_s'] / row['wall_s']:.2f}",
        ]
        for row in rows
    ]
    text = (
        f"`sojourn paper gong table1`, one reading of its default round-trip time: {one['runs']} runs of 60 simulated "
        f"seconds at 0.25 to 10 Mbit/s, datasets written, shortest of several rounds. The Dask cluster runs "
        "already when its time begins, with the settings of `--cluster local:N`; its processor time includes its start."
    )
    return [
        text,
        table(["Jobs", "Where", "Wall time, s", "Processor time, s", "Runs per second", "Times one job"], lines),
    ]


def _workers(swept: dict[str, Any] | None) -> list[str]:
    if swept is None:
        return []
    loss = swept["wall_s"] / swept["best_s"] - 1
    most = swept["workers"] * swept["best_s"] / swept["cpu_s"]
    return [
        paragraph(f"""Is the scheduler the limit where there are many workers? {swept["runs"]:,} runs of that
            campaign are {swept["batches"]:,} batches, each {swept["batch_s"]:.2f} s of one processor. On
            {swept["workers"]} processes of a Dask cluster on this machine that rest for so long, and answer with the
            tables of a batch, the sweep takes {swept["wall_s"]:.0f} s with its dataset.
            {swept["best_s"]:.0f} s would be the least: {100 * loss:.0f} % are lost. Scheduler, client and the writing
            of parts use {swept["cpu_s"]:.0f} s of one processor, so they would be the limit from about
            {most:.0f} workers on.
            Measured by `python -m benchmarks.bench --only workers` at commit {swept["machine"]["commit"]} on
            {swept["machine"]["cpu"]}, {swept["machine"]["cores"]} cores."""),
    ]


def _when(where: dict[str, Any]) -> str:
    return f"Measured at commit {where['commit']}; load average before the start {where['load_before']:.1f}."


def _scaling(numbers: dict[str, Any], idle: dict[str, Any]) -> list[str]:
    rows = numbers["rows"]
    growth = {
        (name, own): aims.growth(rows, aims.MOST, own, name)
        for name in dict.fromkeys(row["simulator"] for row in rows)
        for own in (False, True)
    }
    parts = [
        paragraph(f"""NewReno flows that start at random in the first seconds; rate and buffer grow with their number,
            so that each keeps its share. Processor time of the runs, one thread; htsim's includes building its flows.
            Its one clock asks every flow for its timeout every 10 ms. {_when(numbers["machine"])}"""),
        table(
            ["Simulator", "Flows>", "RTTs", "Packets>", "Drop rate>", "ns per packet>", "Least to most>", "Peak, MB>"],
            [
                [
                    row["simulator"],
                    f"{row['flows']:,}",
                    "one each" if row["own_rtt"] else "equal",
                    f"{row['packets']:,}",
                    f"{row['drop_rate']:.3f}",
                    f"{row['packet_ns']:.0f}",
                    f"{row['packet_ns_least']:.0f} to {row['packet_ns_most']:.0f}",
                    "-" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 1e6:.0f}",
                ]
                for row in rows
            ],
        ),
        table(
            [f"From {aims.FEWEST} to {aims.MOST:,} flows", "RTTs", "Cost of a packet grows by>"],
            [
                [name, "one each" if own else "equal", "-" if ratio is None else f"{ratio:.2f}"]
                for (name, own), ratio in growth.items()
            ],
        ),
    ]
    if idle["bytes_each"] is not None:
        parts.append(
            f"A flow that does nothing costs {idle['bytes_each']:,.0f} bytes (resident memory of {idle['flows']:,} "
            f"such flows, with their rows in the record)."
        )
    return parts


def _hotspots(profiles: dict[str, list[dict[str, Any]]] | None) -> list[str]:
    if profiles is None:
        return ["Not measured: needs `perf`, binutils and cargo."]
    shares = {flows: {row["component"]: row["share"] for row in rows} for flows, rows in profiles.items()}
    first = next(iter(shares.values()))
    names = sorted({name for rows in shares.values() for name in rows}, key=lambda name: -first.get(name, 0.0))
    shown = [name for name in names if any(rows.get(name, 0.0) >= 0.005 for rows in shares.values())]  # noqa: PLR2004
    return [
        paragraph("""Share of processor time by part of the engine, from samples of `perf`, in the scenarios of the
            section above with equal RTTs. Inlined code counts for the file of the engine it comes from; code of the
            standard library counts for its caller."""),
        table(
            ["Part", *(f"{int(flows):,} flows, %>" for flows in shares)],
            [[name, *(f"{100 * rows.get(name, 0.0):.1f}" for rows in shares.values())] for name in shown],
        ),
    ]


def _queues(rows: Sequence[dict[str, Any]] | None, instructions: Document) -> list[str]:
    if rows is None:
        return ["Not measured: needs cargo."]
    return [
        paragraph("""Enqueue plus dequeue, without the rest of the simulator. Every flow keeps 4 packets of 64 to 1,500
            bytes waiting: a packet that leaves comes back. Parameters are the defaults, but flows have a queue each
            (`perfect`) and the limit is 32 times the backlog (with SFQ's limit of flows and SFB's thresholds raised
            alike), so that the backlog is there. A packet waits for half a millisecond, below every controller's
            target: controllers measure, and signal nothing. Each flow has hosts of its own; `cake` costs more where
            many share one ([its page](queues/cake.md)). Median of 51 batches of 10,000 packets."""),
        _queue_table(rows, instructions, "backlog", "ns per packet"),
        paragraph("""Overload: the limit is the backlog, and with each packet that comes back arrives another one of
            any flow, so that every other arrival is dropped: by a full buffer, by the controller, or from the longest
            queue. Half the time of two arrivals, a departure and a drop; a dash where the discipline refuses such
            limits."""),
        _queue_table(rows, instructions, "overload", "ns per arrival"),
        paragraph(f"""Instructions were counted with valgrind at commit {instructions["commit"]} (`python -m
            benchmarks.bench --count`); they know neither caches nor neighbours. Where their ratio is 1, what grows is
            the time of memory: at 50,000 flows 200,000 packets lie in it. Finding the shortest queue (sqf), or the
            longest for an overflow (sfq, drr, sqf, fq_codel), costs the logarithm of the number of flows; nothing scans
            flows or packets."""),
        *_timers(rows),
    ]


def _queue_table(rows: Sequence[dict[str, Any]], instructions: Document, load: str, unit: str) -> str:
    costs = {(row["discipline"], row["flows"]): row["packet_ns"] for row in rows if row["load"] == load}
    counts = {row["discipline"]: row for row in instructions["rows"] if row["load"] == load}
    flows = sorted({flows for _, flows in costs})
    few, many = queues.FEW, queues.MANY
    lines = []
    for name in dict.fromkeys(row["discipline"] for row in rows):
        cost = {number: costs.get((name, number)) for number in flows}
        count = counts.get(name)
        lines.append(
            [
                f"`{name}`",
                *("-" if cost[number] is None else f"{cost[number]:.0f}" for number in flows),
                _ratio(cost[many], cost[few]),
                "-" if count is None else f"{count['few']:,.0f}",
                "-" if count is None else f"{count['many']:,.0f}",
                "-" if count is None else _ratio(count["many"], count["few"]),
            ]
        )
    heads = [f"1 flow, {unit}>", *(f"{number:,}>" for number in flows[1:])]
    return table(
        ["Discipline", *heads, f"{many:,} to {few}>", f"Instructions at {few}>", f"at {many:,}>", "ratio>"], lines
    )


def _ratio(large: float | None, small: float | None) -> str:
    return "-" if large is None or small is None else f"{large / small:.2f}"


def _timers(rows: Sequence[dict[str, Any]]) -> list[str]:
    calls = {(row["discipline"], row["flows"]): row["timer_ns"] for row in rows if row["load"] == "backlog"}
    timed = [name for name, flows in calls if flows == queues.FEW and calls[name, flows]]
    growing = [name for name in timed if calls[name, queues.MANY] > TIMER_GROWTH * calls[name, queues.FEW]]
    return [
        paragraph(f"""Timers are not in these numbers. That of `{name}` goes through the queues whose controller is
            not at rest: {calls[name, queues.FEW] / queues.FEW:.0f} ns each at {queues.FEW} flows,
            {calls[name, queues.MANY] / queues.MANY:.0f} ns at {queues.MANY:,}, once in its `update`; that of every
            other discipline takes the same time however many flows there are.""")
        for name in growing
    ]


def _kinds(numbers: dict[str, Any]) -> list[str]:
    return [
        paragraph(f"""The scenario of the first section, ten flows on 4 Mbit/s and a limit of {kinds.LIMIT}, with each
            discipline instead of DropTail, and with each control for all ten flows instead of NewReno; all else, such
            as parameters and transport, as it is. Processor time of {numbers["rounds"]} rounds in which the kinds take
            turns in one process, each round with another seed; ratios are medians of those within a round."""),
        _kind_table("Discipline", numbers["disciplines"], kinds.PLAIN_QUEUE),
        _kind_table("Control", numbers["controls"], kinds.PLAIN_CONTROL),
        paragraph("""What a dropped packet costs in the sender's and the receiver's recovery is in its discipline's
            time."""),
    ]


def _kind_table(head: str, rows: Sequence[dict[str, Any]], plain: str) -> str:
    heads = ("Run, ms>", "Packets>", "Drops>", "Utilization>", "ns per packet>")
    compared = (f"Time to `{plain}`'s>", "Per packet>", "Least to most>")
    return table([head, *heads, *compared], [_kind(row) for row in rows])


def _kind(row: dict[str, Any]) -> list[str]:
    if "refused" in row:
        return [f"`{row['name']}`", "refused here", *["-"] * 7]
    return [
        f"`{row['name']}`",
        f"{row['cpu_s'] * 1e3:.1f}",
        f"{row['packets']:,.0f}",
        f"{row['drops']:,.0f}",
        f"{row['utilization']:.3f}",
        f"{row['packet_ns']:.0f}",
        f"{row['time_ratio']:.2f}",
        f"{row['packet_ratio']:.2f}",
        f"{row['packet_ratio_least']:.2f} to {row['packet_ratio_most']:.2f}",
    ]


def _startup(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [
        table(
            ["Command", "Wall time, s>", "Least processor time, s>"],
            [
                [f"`{row['command']}`", f"{row['wall_s']:.3f}", f"{row['cpu_s']:.3f}" if "cpu_s" in row else "-"]
                for row in rows
            ],
        ),
    ]
