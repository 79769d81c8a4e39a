"""Tables II and III on the Linux kernel: pfifo in packets, with the kernel's NewReno, Vegas and CUBIC."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.papers.braud import table3
from sojourn.papers.braud.table2 import (
    DOWN_PACKETS,
    ELSEWHERE,
    HALVED,
    PAPER_KBPS,
    PAPER_RTT_MS,
    PRINTED,
    RATES_KBPS,
    UDP,
    WITHIN,
)
from sojourn.papers.braud.world import (
    DOWNLOAD,
    GOODPUT,
    LINK,
    QUEUE_MS,
    RTT,
    RTT_MS,
    UP_MS,
    UPLOAD,
    base,
    host,
    ms,
    padding,
    ratio,
    tail,
)
from sojourn.papers.measures import Key, check, shown, span
from sojourn.papers.two_worlds import KERNEL, SIM, WORLDS, Both, measure_both
from sojourn.study.lab import Effort, Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number

NEWRENO, VEGAS, CUBIC = "NewReno", "Vegas", "CUBIC"
CONTROLS = {name: {"kind": name.lower(), "preset": "linux"} for name in (NEWRENO, VEGAS, CUBIC)}
# Table II's measured time is a third of what is simulated elsewhere: a kernel's second costs more than a simulated one.
TABLE2_TIMES = {"duration": "150 s", "warmup": "50 s"}
# As printed, and what agrees in simulation (see table2).
SETTINGS = ((PRINTED, RTT_MS), (ELSEWHERE, UP_MS))
_PAD = (False, True)
# Said before the runs: a simulated mean is the kernel's within this part of it.
ALIKE = 0.10


@dataclass(frozen=True)
class Extent:
    """What of the tables is run on the kernel: its runs take most of the study's time."""

    controls: tuple[str, ...]
    runs: Mapping[str, int]
    """Of each case, by world."""


EXTENTS = {
    Effort.USUAL: Extent((NEWRENO,), {KERNEL: 2, SIM: 10}),
    Effort.LONG: Extent(tuple(CONTROLS), {KERNEL: 3, SIM: 10}),
}


def linux(control: str) -> dict[str, Any]:
    """Return what a flow has of the kernel's TCP."""
    return {"control": CONTROLS[control], "transport": "linux"}


def _measure(lab: Lab, name: str, scenario: Mapping[str, Any], cases: Mapping[Key, Mapping[str, Any]]) -> Both:
    long = "-long" if lab.effort is Effort.LONG else ""
    return measure_both(lab, f"{name}{long}", scenario, cases, EXTENTS[lab.effort].runs)


def table2_cases(controls: Sequence[str]) -> dict[Key, dict[str, Any]]:
    """Return an upload by each control, in both readings of the setting, with and without padding."""
    cases: dict[Key, dict[str, Any]] = {}
    for packets, rtt in SETTINGS:
        for control in controls:
            for padded in _PAD:
                flow = host(UPLOAD, rtt=ms(rtt), **linux(control))
                groups = [flow, padding(UDP)] if padded else [flow]
                cases[packets, rtt, control, padded] = {"bottleneck.queue": tail(packets), "group": groups}
    return cases


def table2_base() -> dict[str, Any]:
    """Return the scenario of those cases."""
    return base(RATES_KBPS, (PRINTED, DOWN_PACKETS), host(UPLOAD, **linux(NEWRENO)), **TABLE2_TIMES)


def table2(lab: Lab) -> Findings:
    """Return Table II on the kernel beside the same in simulation."""
    controls = EXTENTS[lab.effort].controls
    cases = table2_cases(controls)
    both = _measure(lab, "table2-linux", table2_base(), cases)
    found = Findings()
    metrics = (RTT, GOODPUT, QUEUE_MS, LINK)
    rows = tuple(
        (world, *key, *(part for metric in metrics for part in _mean_sd(both.number(world, key, metric, UPLOAD))))
        for key in cases
        for world in WORLDS
    )
    names = ("rtt_ms", "goodput_mbps", "queue_ms", "utilization")
    columns = ("world", "buffer_packets", "base_rtt_ms", "control", "padding", *_with_sd(names))
    found.tables.append(Table("table2-linux", "Kernel and simulation", columns, rows))
    for setting in SETTINGS:
        found.checks += _paper(both, setting)
    found.checks += [_halves(both, control) for control in controls]
    if VEGAS in controls:
        found.checks += [_vegas_waits_least(both, padded=padded) for padded in _PAD]
    found.checks += [_beyond_the_queue(both, cases)]
    found.checks += [_alike(both, cases, RTT, "round-trip times"), _alike(both, cases, GOODPUT, "goodputs")]
    before, after = (both.number(KERNEL, (*SETTINGS[1], NEWRENO, padded), RTT, UPLOAD) for padded in _PAD)
    found.verdict = (
        f"On a Linux kernel, behind a pfifo of {ELSEWHERE} packets, {UDP} packets/s take the round-trip time of a "
        f"NewReno upload from {before.text(0)} to {after.text(0)} ms (paper: {PAPER_RTT_MS[0]:g} to "
        f"{PAPER_RTT_MS[1]:g})."
    )
    found.text = (
        "The kernel has today's TCP, with ten packets in its first window and acknowledgements delayed by its own "
        "rules; both worlds run the same scenario with presets linux. " + _runs_text(lab)
    )
    return found


def _runs_text(lab: Lab) -> str:
    runs = EXTENTS[lab.effort].runs
    return f"Each case has {runs[KERNEL]} runs on the kernel and {runs[SIM]} simulated."


def _mean_sd(number: Number) -> tuple[float, float | str]:
    return number.mean, number.sd if number.runs > 1 else ""


def _text(number: Number, scale: float = 1.0) -> str:
    """Return a number without digits; one run has no spread."""
    return number.text(0, scale) if number.runs > 1 else f"{scale * number.mean:.0f}"


def _with_sd(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(column for name in names for column in (name, f"sd_{name}"))


def _paper(both: Both, setting: tuple[int, float]) -> list[Check]:
    """Return the paper's numbers beside those of the kernel's NewReno."""
    packets, rtt_ms = setting
    why = f"Not with {PRINTED} packets; see {ELSEWHERE}." if packets == PRINTED else "Open."
    checks = []
    for padded, rtt, kbps in zip(_PAD, PAPER_RTT_MS, PAPER_KBPS, strict=True):
        key = (*setting, NEWRENO, padded)
        where = f"NewReno, {packets} packets, {rtt_ms:g} ms, with{'' if padded else 'out'} padding"
        for what, metric, paper, scale in (
            ("round-trip time [ms]", RTT, rtt, 1.0),
            ("goodput [kbit/s]", GOODPUT, kbps, 1e3),
        ):
            real, simulated = (both.number(world, key, metric, UPLOAD, scale) for world in WORLDS)
            checks.append(
                check(
                    f"{where}: {what}",
                    f"{paper:.4g}, within {WITHIN:.0%}",
                    f"kernel {real.text(0)}, simulated {simulated.text(0)}",
                    agrees=abs(real.mean / paper - 1) <= WITHIN,
                    why=why,
                )
            )
    return checks


def _halves(both: Both, control: str) -> Check:
    divided = {
        world: [
            ratio(*(both.number(world, (*setting, control, padded), RTT, UPLOAD) for padded in _PAD))
            for setting in SETTINGS
        ]
        for world in WORLDS
    }
    words = "; ".join(f"{world} {', '.join(number.text(2) for number in divided[world])}" for world in WORLDS)
    return check(
        f"{control}: padding divides the round-trip time by more than two, with {PRINTED} and with {ELSEWHERE} packets",
        "2.46 (NewReno)",
        words,
        agrees=min(number.mean for number in divided[KERNEL]) > HALVED,
        why="Vegas keeps a few packets in the queue, whoever else is there: there is little to shorten."
        if control == VEGAS
        else "Open.",
    )


def _vegas_waits_least(both: Both, *, padded: bool) -> Check:
    rtts = {
        control: [both.number(KERNEL, (*setting, control, padded), RTT, UPLOAD) for setting in SETTINGS]
        for control in CONTROLS
    }
    return check(
        f"Vegas has the shortest round-trip times, with{'' if padded else 'out'} padding",
        "lowest",
        "; ".join(f"{control} {', '.join(number.text(0) for number in rtts[control])} ms" for control in CONTROLS),
        agrees=all(
            vegas.mean < other.mean
            for control in (NEWRENO, CUBIC)
            for vegas, other in zip(rtts[VEGAS], rtts[control], strict=True)
        ),
        why="Open.",
    )


def _beyond_the_queue(both: Both, cases: Mapping[Key, Any]) -> Check:
    """Show what a round trip has beside the base and the queue, which is where the worlds differ in every case."""
    beyond = {
        world: [
            both.number(world, key, RTT, UPLOAD).mean - both.number(world, key, QUEUE_MS, UPLOAD).mean - float(key[1])
            for key in cases
        ]
        for world in WORLDS
    }
    return shown(
        "upload's round-trip time less its base and its queueing delay [ms]",
        "-",
        "; ".join(f"{world} {span(beyond[world])}" for world in WORLDS),
        "In simulation a full packet's transmission, 15 ms, and what an acknowledgement waits for a second segment; "
        "the kernel's shaper hands a packet over when its transmission begins.",
    )


_KNOWN = {
    RTT: "A part is known: the kernel's shaper hands a packet over when its transmission begins, a simulated link when "
    "it ends; a full packet takes 15 ms at 800 kbit/s and 30 at 400, and a second one that an acknowledgement waits "
    "for as much again (see the check on Table II's round trips). What is more is open.",
    GOODPUT: "Open.",
}


def _alike(both: Both, cases: Mapping[Key, Any], metric: str, what: str, group: str = UPLOAD) -> Check:
    """Return in how many cases simulation and kernel agree, and where they do not."""
    apart = {}
    for key in cases:
        real, simulated = (both.number(world, key, metric, group).mean for world in WORLDS)
        if abs(simulated / real - 1) > ALIKE:
            apart[key] = simulated / real - 1
    where = "; ".join(f"{', '.join(map(str, key))}: {off:+.0%}" for key, off in apart.items())
    return check(
        f"{group}'s {what}: simulation and kernel agree",
        f"within {ALIKE:.0%}",
        f"in {len(cases) - len(apart)} of {len(cases)} cases",
        agrees=not apart,
        why=f"{_KNOWN[metric]} Simulated against the kernel: {where}.",
    )


def table3_cases(controls: Sequence[str]) -> dict[Key, dict[str, Any]]:
    """Return every way on every line, by each control."""
    return {
        (name, way, control): table3.case(one, way, one.down_packets, **linux(control))
        for name, one in table3.LINES.items()
        for way in table3.WAYS
        for control in controls
    }


def table3_base() -> dict[str, Any]:
    """Return the scenario of those cases."""
    return base(RATES_KBPS, (PRINTED, DOWN_PACKETS), host(UPLOAD, **linux(NEWRENO)), **table3.TIMED)


def table3_linux(lab: Lab) -> Findings:
    """Return Table III on the kernel beside the same in simulation."""
    controls = EXTENTS[lab.effort].controls
    cases = table3_cases(controls)
    both = _measure(lab, "table3-linux", table3_base(), cases)
    found = Findings()
    metrics = ((RTT, UPLOAD), (RTT, DOWNLOAD), (QUEUE_MS, UPLOAD), (GOODPUT, UPLOAD), (GOODPUT, DOWNLOAD))
    rows = tuple(
        (
            world,
            *key,
            *(part for metric, group in metrics for part in _mean_sd(both.number(world, key, metric, group))),
        )
        for key in cases
        for world in WORLDS
    )
    names = ("upload_rtt_ms", "download_rtt_ms", "uplink_queue_ms", "upload_mbps", "download_mbps")
    columns = ("world", "line", "way", "control", *_with_sd(names))
    found.tables.append(Table("table3-linux", "Kernel and simulation", columns, rows))
    for name in table3.LINES:
        found.checks += _large(both, name)
        for control in controls:
            found.checks += _orderings(both, name, control)
    for group in (UPLOAD, DOWNLOAD):
        found.checks.append(_alike(both, cases, RTT, "round-trip times", group))
        found.checks.append(_alike(both, cases, GOODPUT, "goodputs", group))
    divided = {
        control: [_divided(both, name, table3.PADDED, control).mean for name in table3.LINES] for control in controls
    }
    words = ", ".join(
        f"{control} by {' and '.join(f'{value:.1f}' for value in values)}" for control, values in divided.items()
    )
    before, after = (
        " and ".join(f"{100 * _part(both, name, way, NEWRENO, KERNEL).mean:.0f}" for name in table3.LINES)
        for way in (table3.LARGE, table3.PADDED)
    )
    found.verdict = (
        f"On a Linux kernel {UDP} packets/s divide the round-trip time of an upload beside a download: {words} (paper, "
        f"NewReno: about {table3.DIVIDED_BY:g}), at {' and '.join(table3.LINES)}. With NewReno the download has "
        f"{before} % of its link without them, and {after} % with them."
    )
    found.text = f"{_runs_text(lab)} Runs of 50 measured seconds tell orderings, and differences beyond their spread."
    return found


def _large(both: Both, name: str) -> list[Check]:
    """Return the paper's round-trip times in the large buffer, and what divides them, beside the kernel's NewReno."""
    checks = []
    for group, paper in zip((UPLOAD, DOWNLOAD), table3.LINES[name].rtts_ms, strict=True):
        real, simulated = (both.number(world, (name, table3.LARGE, NEWRENO), RTT, group) for world in WORLDS)
        checks.append(
            check(
                f"{name}, NewReno: {group}'s round-trip time, {table3.LARGE} [ms]",
                f"{paper:g}, within {table3.ABOUT:.0%}",
                f"kernel {_text(real)}, simulated {_text(simulated)}",
                agrees=abs(real.mean / paper - 1) <= table3.ABOUT,
                why="Open.",
            )
        )
    for way in (table3.PADDED, table3.RIGHT):
        real, simulated = (_divided(both, name, way, NEWRENO, world) for world in WORLDS)
        checks.append(
            check(
                f"{name}, NewReno: round-trip time divided by, {way}",
                f"{table3.DIVIDED_BY:g}, within {table3.ABOUT:.0%}",
                f"kernel {real.text(2)}, simulated {simulated.text(2)}",
                agrees=abs(real.mean / table3.DIVIDED_BY - 1) <= table3.ABOUT,
                why=_DIVIDED_LESS,
            )
        )
    return checks


_DIVIDED_LESS = (
    "Explained in part: the paper's own round-trip times of the large buffers are the kernel's (above), but what is "
    "left with padding or in the right-sized buffer is more than its quotient has. A round trip never goes below its "
    "base of 94 ms and the packets of the other direction, which wait in the downlink's queue."
)


def _divided(both: Both, name: str, way: str, control: str, world: str = KERNEL) -> Number:
    return ratio(*(both.number(world, (name, one, control), RTT, UPLOAD) for one in (table3.LARGE, way)))


def _part(both: Both, name: str, way: str, control: str, world: str) -> Number:
    """Return the download's goodput as a part of its link."""
    scale = 1e3 / table3.LINES[name].rates_kbps[1]
    return both.number(world, (name, way, control), GOODPUT, DOWNLOAD, scale)


def _orderings(both: Both, name: str, control: str) -> list[Check]:
    """Return whether what the paper says of the ways is so on the kernel."""
    where = f"{name}, {control}"
    why = "Vegas leaves little queue to shorten." if control == VEGAS else "Open."
    shorter = {way: [_divided(both, name, way, control, world) for world in WORLDS] for way in table3.WAYS[1:]}
    parts = {way: [_part(both, name, way, control, world) for world in WORLDS] for way in table3.WAYS}
    return [
        check(
            f"{where}: round-trip time divided by UDP, by bursts, by the right-sized buffer",
            "all above 1",
            "; ".join(
                f"{world} {', '.join(shorter[way][at].text(2) for way in shorter)}" for at, world in enumerate(WORLDS)
            ),
            agrees=all(numbers[0].mean > 1.0 for numbers in shorter.values()),
            why=why,
        ),
        check(
            f"{where}: download's part of its link, {', '.join(table3.WAYS)}",
            "40 %, and more in each of the others",
            "; ".join(
                f"{world} {', '.join(_text(parts[way][at], 100) for way in table3.WAYS)} %"
                for at, world in enumerate(WORLDS)
            ),
            agrees=all(parts[way][0].mean > parts[table3.LARGE][0].mean for way in table3.WAYS[1:]),
            why=why,
        ),
    ]


_CONTROLS = f"the kernel's {NEWRENO}, with --long also {VEGAS} and {CUBIC}"
ITEMS = (
    Item(
        "table2-linux",
        "Table II on the Linux kernel",
        f"As Table II, {' and '.join(f'{packets} packets with {rtt:g} ms' for packets, rtt in SETTINGS)}; {_CONTROLS}, "
        f"behind pfifo; {UDP} packets/s of 29 B; measured from 50 to 150 s",
        table2,
        needs_kernel=True,
    ),
    Item(
        "table3-linux",
        "Table III on the Linux kernel",
        f"As Table III; {_CONTROLS}, for upload and download, behind pfifo; measured from 50 to 100 s",
        table3_linux,
        needs_kernel=True,
    ),
)
