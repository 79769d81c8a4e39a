"""Writes docs/validation/behaviour.md from the raw numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import behaviour as study
from benchmarks import explanations
from benchmarks.common import listed, paragraph, table, yes
from benchmarks.explanations import Explanation

Row = Mapping[str, Any]

# Milliseconds from which on a digit behind the point says nothing.
SHORT_FROM = 10

INTRODUCTION = f"""Every registered control with its own defaults and transport `rfc`, mean of {study.SEEDS} seeds
unless said; flows start within the first 0.1 s. The queue is DropTail, but two controls answer to marks and get a queue
that marks, ECN and exact feedback: `dctcp` CoDel with ECN, `prague` DualPI2. Below each table is what sources claim,
and whether it holds here. The claims were chosen, and limits such as "most" or "even" set where a source names none,
when a first run was known; no parameter of a control was. Sources "from memory" were not opened; how far the others
were read: [algorithms](../algorithms.md)."""
TOLD = {
    "alone": (
        "Alone",
        f"""One flow, a buffer of {study.BUFFER_BDP} bandwidth-delay products (BDP) but at least {study.MIN_BUFFER}
        packets; 60 s, measured from 20 s on. Each cell: utilization; mean and 99th percentile of the queueing delay in
        ms. Controls that know only loss fill whatever buffer there is; those that know delay keep to a target or to a
        few packets; BBR keeps to its model of the path.""",
    ),
    "together": (
        "Two of a kind",
        f"""10 Mbit/s, 50 ms, {study.PAIR_BUFFER} packets (300 ms). Jain's index while both run from the start on, and
        the share of a second flow that starts {study.LATE_S} s after the first, by the seconds since both are there. A
        control that takes the first flow's queue for a part of the path, as LEDBAT does, gives the latecomer most.""",
    ),
    "yielding": (
        "Yielding",
        f"""Five flows beside five of NewReno or CUBIC, 4 Mbit/s, 50 ms, DropTail of 400 packets, 60 s from the start
        on, {study.MANY_SEEDS} seeds: the setting of Gong et al. Share of the low-priority flows with the presets `ns2`
        or `linux` of transport and controls, where a control has one; below 0.5 it yields. The paper's order with the
        presets `linux` says little: there TCP-LP does not yield at all.""",
    ),
    "recovery": (
        "Recovery",
        f"""A low-priority flow on 10 Mbit/s, 50 ms, with a NewReno flow from {study.ARRIVES_S} to {study.LEAVES_S} s:
        its part of the link before, its share meanwhile, the seconds from then until it has {100 * study.BACK_AT:g} %
        of the link for one second, and its part of the link from {study.RECOVERY_S - study.ARRIVES_S} to
        {study.RECOVERY_S} s. How far a flow yields within 20 s and how soon it is back are two things: LEDBAT backs off
        by segments, not by halves, and its share falls from 0.6 to 0.25 only by the end of these 20 s.""",
    ),
    "unfairness": (
        "Unequal paths",
        f"""Two flows of one control with base RTTs of {study.SHORT_MS:g} and {study.LONG_MS:g} ms on 10 Mbit/s, 120 s,
        measured from 20 s on, {study.MANY_SEEDS} seeds: goodput of the short path over that of the long one, with the
        standard error of the mean. DropTail has {study.UNFAIR_BDP} BDP of the long path, 200 ms of queue, so that
        most RTTs are less unequal than the paths. FQ-CoDel gives each flow a queue, but not the will to fill it.""",
    ),
    "loss": (
        "Random loss",
        f"""One flow, {study.LOSS_MBPS:g} Mbit/s, {study.LOSS_MS:g} ms, every packet lost with a probability; 60 s,
        measured from 10 s on: utilization, by what is sent, lost or not. Controls that halve for a loss follow
        1/sqrt(p); only those that weigh a loss against their model of the path do not.""",
    ),
}


def render(behaviour: Mapping[str, Sequence[Row]]) -> list[str]:
    """Return the parts of the page."""
    parts = ["# Validation: behaviour of the controls", paragraph(INTRODUCTION)]
    for name, (title, text) in TOLD.items():
        of_table = [check for check in behaviour["checks"] if check["table"] in SHOWN_WITH.get(name, (name,))]
        parts += [f"## {title}", paragraph(text), *PARTS[name](behaviour), *_checked(of_table)]
    return [*parts, *_experiments(behaviour["experiments"])]


def failing(behaviour: Mapping[str, Sequence[Row]]) -> list[tuple[Row, Explanation | None]]:
    """Return the checks that fail, and why."""
    return [(check, explanations.of_behaviour(check)) for check in behaviour["checks"] if not check["agrees"]]


def unexplained(behaviour: Mapping[str, Sequence[Row]]) -> list[str]:
    """Name the checks that fail without an explanation."""
    return [f"behaviour: {check['claim']}: {check['measured']}" for check, why in failing(behaviour) if why is None]


def _checked(rows: Sequence[Row]) -> list[str]:
    heads = ["Claim", "Source", "Measured", "Agrees"]
    reasons: dict[str, list[str]] = {}
    for check in rows:
        if not check["agrees"]:
            why = explanations.of_behaviour(check)
            text = explanations.told(why) if why else "**open.**"
            if why and why.status == "narrowed":
                text = f"**open, but narrowed:** {text}"
            reasons.setdefault(text, []).append(check["claim"])
    body = [[check["claim"], check["source"], check["measured"], yes(check["agrees"])] for check in rows]
    return [table(heads, body), *(listed(reasons) if reasons else [])]


def _alone(behaviour: Mapping[str, Sequence[Row]]) -> list[str]:
    rows = behaviour["alone"]
    capacities = [(rate, study.MIDDLE_MS) for rate in study.CAPACITIES_MBPS]
    paths = [(study.MIDDLE_MBPS, rtt) for rtt in study.RTTS_MS]
    return [
        f"RTT {study.MIDDLE_MS:g} ms:",
        _grid(rows, capacities, [f"{rate:g} Mbit/s>" for rate, _ in capacities]),
        f"{study.MIDDLE_MBPS:g} Mbit/s:",
        _grid(rows, paths, [f"{rtt:g} ms>" for _, rtt in paths]),
    ]


def _grid(rows: Sequence[Row], paths: Sequence[tuple[float, float]], heads: Sequence[str]) -> str:
    cells = {(row["control"], row["rate_mbps"], row["rtt_ms"]): _cell(row) for row in rows}
    body = [[f"`{control}`", *(cells[control, *path] for path in paths)] for control in _controls(rows)]
    return table(["Control", *heads], body)


def _cell(row: Row) -> str:
    mean, tail = (row[f"bottleneck_queue_ms_{name}"] for name in ("mean", "p99"))
    return f"{row['bottleneck_utilization']:.2f}; {_short(mean)}, {_short(tail)}"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= SHORT_FROM else f"{value:.1f}"


def _pairs(behaviour: Mapping[str, Sequence[Row]]) -> list[str]:
    windows = [f"{begin} to {end} s" for begin, end in study.WINDOWS_S]
    jain, share = (
        {(row["control"], row["from_s"]): row[metric] for row in behaviour[name]}
        for name, metric in (("together", "jain_all"), ("latecomer", "share"))
    )
    body = [
        [f"`{control}`", *(f"{found[control, begin]:.3f}" for found in (jain, share) for begin, _ in study.WINDOWS_S)]
        for control in _controls(behaviour["together"])
    ]
    heads = [*(f"Jain, {window}>" for window in windows), *(f"Latecomer, {window}>" for window in windows)]
    return [table(["Control", *heads], body)]


def _yielding(behaviour: Mapping[str, Sequence[Row]]) -> list[str]:
    rows = behaviour["yielding"]
    columns = [(transport, best) for best in study.BEST_EFFORT for transport in study.TRANSPORTS]
    shares = {(row["control"], row["transport"], row["best"]): row["share"] for row in rows}
    body = [
        [_named(control), *(f"{shares[control, *column]:.3f}" for column in columns)] for control in _controls(rows)
    ]
    return [table(["Control", *(f"beside {best}, `{transport}`>" for transport, best in columns)], body)]


def _recovery(behaviour: Mapping[str, Sequence[Row]]) -> list[str]:
    body = [
        [
            f"`{row['control']}`",
            f"{row['before']:.2f}",
            f"{row['share']:.3f}",
            "never" if row["back_s"] is None else f"{row['back_s']:.1f}",
            f"{row['after']:.2f}",
        ]
        for row in behaviour["recovery"]
    ]
    return [table(["Control", "Before>", "Share>", "Back after, s>", "At the end>"], body)]


def _unfairness(behaviour: Mapping[str, Sequence[Row]]) -> list[str]:
    rows = behaviour["unfairness"]
    ratios = {(row["control"], row["queue"]): f"{row['ratio']:.2f} ± {row['error']:.2f}" for row in rows}
    body = [[f"`{control}`", ratios[control, "shared"], ratios[control, "fq_codel"]] for control in _controls(rows)]
    return [table(["Control", "DropTail (or the queue that marks)>", "FQ-CoDel>"], body)]


def _loss(behaviour: Mapping[str, Sequence[Row]]) -> list[str]:
    rows = behaviour["loss"]
    used = {(row["control"], row["loss"]): row["bottleneck_utilization"] for row in rows}
    body = [
        [f"`{control}`", *(f"{used[control, probability]:.3f}" for probability in study.LOSSES)]
        for control in _controls(rows)
    ]
    return [table(["Control", *(f"{100 * probability:g} %>" for probability in study.LOSSES)], body)]


def _experiments(rows: Sequence[Row]) -> list[str]:
    body = [
        [
            row["experiment"],
            f"ratio {row['ratio']:.2f} ± {row['error']:.2f}"
            if "ratio" in row
            else f"utilization {row['bottleneck_utilization']:.2f}, "
            f"queue {row['bottleneck_queue_packets_mean']:.1f} packets",
        ]
        for row in rows
    ]
    return [
        "## Experiments",
        paragraph("""What the explanations above rest on: the scenarios of "Alone" and of "Unequal paths" with something
            changed."""),
        table(["Control, path and change", "Measured"], body),
    ]


PARTS = {
    "alone": _alone,
    "together": _pairs,
    "yielding": _yielding,
    "recovery": _recovery,
    "unfairness": _unfairness,
    "loss": _loss,
}
SHOWN_WITH = {"together": ("together", "latecomer")}


def _controls(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["control"] for row in rows))


def _named(control: str) -> str:
    name, _, variant = control.partition(", ")
    return f"`{name}`, {variant}" if variant else f"`{name}`"
