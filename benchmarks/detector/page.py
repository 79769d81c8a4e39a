"""The page on the detector: what the shipped model says of the probes that were kept."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.detector import classed, of_downloads, of_lines, of_others, of_twins
from benchmarks.detector.collect import PACKETS
from benchmarks.detector.lines import Told
from benchmarks.detector.seen import Seen, judge, split
from benchmarks.detector.tables import calibration_error, in_best, luck, share, table
from sojourn import api
from sojourn.detect.draw import FAMILIES, truths
from sojourn.detect.model import Model
from sojourn.detect.plan import Path as Path_
from sojourn.detect.plan import find

PAGE = Path(__file__).parents[2] / "docs" / "validation" / "detector.md"
_BINS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.97, 1.0001)


def write(files: Mapping[str, Path], model: Model, told: Sequence[Told]) -> None:
    """Write the page of files by what is in them (`kernel`, `sim`, `downloads` ...), and of what was said of lines."""
    real, failed = judge(files["kernel"], model, PACKETS["linux"])
    linux, linux_failed = judge(files["linux"], model, PACKETS["tc"])
    of_ns3, ns3_failed = judge(files["ns3"], model, PACKETS["ns3"])
    simulated, _ = judge(files["sim"], model)
    known, new = split(real)
    about = model.provenance
    parts = [
        "# Does `sojourn detect` name the right queue?",
        "<!-- Written by `python -m benchmarks.detector`. Do not edit by hand. -->",
        _opening(known, new, linux, of_ns3),
        _targets(real, linux, of_ns3),
        _TARGETS,
        _TURNS,
        _turns({"kernel": real, "kernel, other queues": linux, "ns-3": of_ns3, "simulation": simulated}),
        *of_lines.section(told),
        "## Which queues of a kernel are taken for which?",
        _confusion(real),
        *of_others.section(linux, of_ns3, [*linux_failed, *ns3_failed]),
        *of_twins.section(real, simulated),
        "## What went wrong on the kernel?",
        _failures(real, failed),
        "## How well are parameters read?",
        _READING,
        _parameters({"kernel": split(real)[0], "simulation": split(simulated)[0]}),
        _parameters({"kernel, other queues": split(linux)[0], "ns-3": split(of_ns3)[0]}),
        "## How often does it refuse to answer?",
        _refusals(simulated),
        "## How far can the probabilities be trusted?",
        (
            f"Probes of a kernel ({len(known)}) and of the simulation ({len(split(simulated)[0])}) whose discipline "
            "was in training. A probability is right where as many answers are right as it says."
        ),
        _reliability(known, split(simulated)[0]),
        _calibration(
            {
                "a kernel": known,
                "a kernel, other queues": split(linux)[0],
                "both of these": [*known, *split(linux)[0]],
                "ns-3": split(of_ns3)[0],
                "the simulation": split(simulated)[0],
            }
        ),
        "## How many answers are left when only sure ones count?",
        _abstention(known, split(simulated)[0]),
        "## Where is it good, and where not?",
        (
            "Probes of the simulation, whose links and parameters are not those of the training. The lowest and "
            "the highest rates lie beyond those of the training "
            f"({about['rates_mbps'][0]:g} to {about['rates_mbps'][1]:g} Mbit/s)."
        ),
        _by("rate in Mbit/s", simulated, "rate_mbps", (0.6, 0.8, 2, 5, 12, 40, 100, 150)),
        _by("base RTT in ms", simulated, "rtt_ms", (2, 10, 40, 100, 300)),
        _by("other traffic, share of the rate", simulated, "others_share", (0, 0.05, 0.15, 0.25, 0.35)),
        *classed.section(
            {
                "simulation": files["sim-classes"],
                "kernel": files["classes"],
                "kernel, in tc's words": files["linux-classes"],
            }
        ),
        "## What does an answer cost?",
        _cost(real),
        _early(split(real)[0], split(simulated)[0]),
        *of_downloads.section(files["downloads"], model),
        "## How was this measured?",
        _method(about, real, simulated),
        _repeat({name: _lines(file) for name, file in files.items()}),
    ]
    PAGE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _opening(known: Sequence[Seen], new: Sequence[Seen], linux: Sequence[Seen], of_ns3: Sequence[Seen]) -> str:
    names = share([one.right for one in known])
    families = share([one.right_family for one in known])
    turns = share(_right_turns([*known, *new, *linux]))
    rates = [one.about["rate_mbps"] for one in (*known, *new, *linux)]
    low, high = min(rates), max(rates)
    others, of_ns3_known = split(linux)[0], split(of_ns3)[0]
    left_out = [*new, *split(linux)[1]]
    return (
        f"On queues of a real Linux kernel, with a classifier trained in simulation only, the detector names the "
        f"discipline in {names} probes of the first test and its family in {families}. Of other queues of Linux, which "
        f"were probed after all choices had been made, it names {share([one.right for one in others])}, and of the "
        f"disciplines of ns-3 {share([one.right for one in of_ns3_known])}. Where trains of packets alone tell whether "
        f"flows take turns, they are right in {turns} probes of the kernel. All of these were at {low:.0f} to "
        f"{high:.0f} Mbit/s. Of disciplines of Linux that were never trained, "
        f"{share([one.about['is_new'] for one in left_out])} probes are called unknown; of all others "
        f"{share([one.about['is_new'] for one in (*known, *others)])}. "
        "The probes are few, so each share is uncertain by several percentage points."
    )


def _takes_turns(name: str) -> bool:
    return name in {"sfq", "fq_codel", "cake", "fq_pie", "drr", "fq", "qfq", "sfq with red", "fq_cobalt"}


def _right_turns(seen: Sequence[Seen]) -> list[bool]:
    told = [one.about for one in seen if one.about["fair_queueing"] is not None]
    return [one["fair_queueing"] == _takes_turns(one["name"]) for one in told]


_TARGETS = (
    "Disciplines that were not in training count in the rows of fair queueing and of the unknown only. "
    "The seven names are `droptail`, `codel`, `pie`, `red`, `sfq`, `fq_codel` and `cake`."
)
_SEVEN = ("droptail", "codel", "pie", "red", "sfq", "fq_codel", "cake")
_TURNS = (
    "The trains are those of the search for the rate and the first six that meet a backlog of the greedy flow. Where "
    "fewer than two meet one, they do not answer."
)


def _turns(worlds: Mapping[str, Sequence[Seen]]) -> str:
    rows = []
    for name, seen in worlds.items():
        right = _right_turns(seen)
        sent = f"{max(one.about['turns_bytes'] for one in seen) / 1e3:.0f}" if seen else ""
        rows.append((name, str(len(seen)), f"{len(right)}", share(right), sent))
    return table(("trains alone, in the", "probes", "answered", "right", "kB of trains"), rows)


def _targets(real: Sequence[Seen], linux: Sequence[Seen], of_ns3: Sequence[Seen]) -> str:
    worlds = [split(seen) for seen in (real, linux, of_ns3)]

    def row(words: str, wanted: str, of: Callable[[Sequence[Seen], Sequence[Seen]], str]) -> list[str]:
        return [words, wanted, *(of(known, new) if known else "" for known, new in worlds)]

    rows = [
        row("family", "at least 99 %", lambda known, _: share([one.right_family for one in known])),
        row("seven names", "at least 95 %", lambda known, _: share([one.right for one in known if one.name in _SEVEN])),
        row("all names that it knows", "at least 85 %", lambda known, _: share([one.right for one in known])),
        row(
            "two best names",
            "at least 97 %",
            lambda known, _: share([in_best(one.judged.names, one.name, 2) for one in known]),
        ),
        row(
            "fair queueing from trains alone, under 100 kB",
            "at least 98 %",
            lambda known, new: share(_right_turns([*known, *new])),
        ),
        row(
            "unknown, AUROC",
            "at least 0.95",
            lambda known, new: f"{of_twins.auroc(known, new, of_twins.strange):.2f}",
        ),
        row("expected calibration error", "at most 3 %", lambda known, _: f"{_ece(known):.1%}"),
    ]
    return table(("What", "Wanted", "Kernel, first test", "Kernel, other queues", "ns-3"), rows)


def _confusion(seen: Sequence[Seen]) -> str:
    names = list(dict.fromkeys(one.name for one in seen))
    said = [name for name in FAMILIES if any(one.judged.best == name for one in seen)]
    rows = []
    for name in names:
        own = [one for one in seen if one.name == name]
        counts = [sum(one.judged.best == other for one in own) for other in said]
        new = "" if name in FAMILIES else " (not in training)"
        rows.append((f"{name}{new}", *(str(count) if count else "" for count in counts)))
    return table(("queue", *(f"said {name}" for name in said)), rows)


def _failures(seen: Sequence[Seen], failed: Sequence[dict[str, Any]]) -> str:
    rows = []
    for one in seen:
        if one.right or one.is_new:
            continue
        about, judged = one.about, one.judged
        rows.append(
            (
                one.name,
                f"{about['rate_mbps']:g}",
                f"{about['rtt_ms']:g}",
                f"{about['others_share']:.0%}",
                f"{judged.best} ({judged.names[judged.best]:.0%})",
                f"{judged.names[one.name]:.0%}",
                "yes" if one.right_family else "no",
            )
        )
    heads = ("queue", "Mbit/s", "RTT in ms", "other traffic", "said", "probability of the true name", "family right")
    text = table(heads, rows) if rows else "Every name was right."
    if failed:
        text += f"\n\n{len(failed)} probes failed: {failed[0]['error']}"
    return text


_READING = (
    "Read as those of the true name, from whole probes. The wanted error is 20 % in the median. An interval should "
    "hold the true value in four probes of five. Half of the CoDel and PIE in training have the defaults, and most of "
    "those in the test, so that small errors of `interval` and `target` say little."
)


def _parameters(worlds: Mapping[str, Sequence[Seen]]) -> str:
    names = sorted({(one.name, key) for world in worlds.values() for one in world for key in one.read})
    rows = []
    for name, key in names:
        cells = []
        for world in worlds.values():
            pairs = [
                (one.read[key], truth[key])
                for one in world
                if one.name == name and key in one.read and key in (truth := _truth(one))
            ]
            errors = [abs(read.value / truth - 1) for read, truth in pairs]
            held = [read.low <= truth <= read.high for read, truth in pairs]
            cells += [
                str(len(pairs)),
                f"{np.median(errors):.0%}" if errors else "",
                f"{np.mean(held):.0%}" if held else "",
            ]
        if any(cell not in ("", "0") for cell in cells):
            rows.append((f"{name} `{key}`", *cells))
    heads = [words for name in worlds for words in (f"{name}: probes", "median error", "held")]
    return table(("parameter", *heads), rows)


def _truth(one: Seen) -> dict[str, float]:
    """Return the parameters that the queue really had, its defaults among them."""
    told = of_others.truths_of(one.about)
    if told is not None:
        return told
    path = Path_({"bottleneck": {"rate": "10 Mbit/s", "queue": {"kind": one.name, **one.about["queue"]}}}, "20 ms")
    return truths(one.name, api.scenario(find().scenario(path, 1)).to_dict()["bottleneck"]["queue"])


def _refusals(seen: Sequence[Seen]) -> str:
    refused = [one for one in seen if one.about.get("cannot")]
    text = (
        f"Of {len(seen)} probes of the simulation, all of which have a queue at a bottleneck of constant rate, "
        f'{len(refused)} end with "cannot say".'
    )
    rows = [
        (one.name, f"{one.about['rate_mbps']:g}", f"{one.about['rtt_ms']:g}", one.about["cannot"]) for one in refused
    ]
    return f"{text}\n\n{table(('queue', 'Mbit/s', 'RTT in ms', 'because'), rows)}" if rows else text


def _reliability(*worlds: Sequence[Seen]) -> str:
    rows = []
    for low, high in itertools.pairwise(_BINS):
        cells = []
        for world in worlds:
            own = [one for one in world if low <= one.judged.names[one.judged.best] < high]
            mean = np.mean([one.judged.names[one.judged.best] for one in own]) if own else float("nan")
            cells += [
                str(len(own)),
                f"{mean:.0%}" if own else "",
                f"{np.mean([o.right for o in own]):.0%}" if own else "",
            ]
        rows.append((f"{low:.0%} to {min(high, 1):.0%}", *cells))
    heads = ("probability", "kernel: probes", "mean said", "right", "simulation: probes", "mean said", "right")
    return table(heads, rows)


def _calibration(worlds: Mapping[str, Sequence[Seen]]) -> str:
    rows = []
    for name, seen in worlds.items():
        by_luck = luck([one.judged.names[one.judged.best] for one in seen])
        rows.append((name, str(len(seen)), f"{_ece(seen):.1%}", *(f"{one:.1%}" for one in by_luck)))
    heads = ("probes of", "probes", "expected calibration error", "by luck alone: mean", "95 % of the time at most")
    words = (
        "By luck alone means that each answer is right exactly as often as its probability says, with so few probes."
    )
    return f"{table(heads, rows)}\n\n{words}"


def _ece(seen: Sequence[Seen]) -> float:
    return calibration_error([one.judged.names[one.judged.best] for one in seen], [one.right for one in seen])


def _abstention(*worlds: Sequence[Seen]) -> str:
    rows = []
    for limit in (0.0, 0.5, 0.8, 0.9, 0.95, 0.99):
        cells = []
        for world in worlds:
            own = [one for one in world if one.judged.names[one.judged.best] >= limit]
            cells += [f"{len(own) / max(1, len(world)):.0%}", f"{np.mean([o.right for o in own]):.1%}" if own else ""]
        rows.append((f"{limit:.0%}", *cells))
    return table(("least probability", "kernel: answered", "right", "simulation: answered", "right"), rows)


def _by(title: str, seen: Sequence[Seen], key: str, edges: Sequence[float]) -> str:
    known, _ = split(seen)
    rows = []
    for low, high in itertools.pairwise(edges):
        own = [one for one in known if low <= one.about[key] < high]
        if own:
            shares = [f"{np.mean([of(one) for one in own]):.0%}" for of in (_right_family, _right)]
            rows.append((f"{low:g} to {high:g}", str(len(own)), *shares))
    return table((title, "probes", "family right", "name right"), rows)


def _right(one: Seen) -> bool:
    return one.right


def _right_family(one: Seen) -> bool:
    return one.right_family


def _cost(seen: Sequence[Seen]) -> str:
    def middle(of: Callable[[Seen], float]) -> str:
        return f"{np.median([of(one) for one in seen]):.3g}" if seen else "none"

    return table(
        ("Median over the kernel's probes", "Measured"),
        [
            ("bytes sent, MB", middle(lambda one: one.about["sent_bytes"] / 1e6)),
            ("of these by all trains of the load, kB", middle(lambda one: one.about["train_bytes"] / 1e3)),
            ("seconds of packets", middle(lambda one: one.about["active_s"])),
        ],
    )


def _early(*worlds: Sequence[Seen]) -> str:
    rows = []
    for name, world in zip(("kernel", "simulation"), worlds, strict=True):
        early = [one for one in world if one.ends_early]
        right = [one.loaded.best == one.name for one in early]
        answers = [one.loaded.best == one.name if one.ends_early else one.right for one in world]
        rows.append((name, share([one.ends_early for one in world]), share(right), share(answers)))
    heads = ("Probes of", "end after the load, 10 s", "of these right", "all right, ended early or not")
    return table(heads, rows)


def _method(about: Any, real: Sequence[Seen], simulated: Sequence[Seen]) -> str:
    rates = sorted(one.about["rate_mbps"] for one in real) or [float("nan")]
    return (
        f"The classifier saw {about['probes']} simulated probes (seed {about['seed']}, scikit-learn "
        f"{about['scikit_learn']}) and no probe of a kernel. The features were chosen before any kernel was probed, "
        "but for one probe of CoDel, by which the log of a kernel's two ends was checked. Once the method was "
        "changed after a look at these probes: an isotonic calibration had an error of 9.8 % on them. The present one "
        "was chosen by simulated probes. "
        f"{len(real)} probes crossed disciplines of Linux 6.1 in user-mode Linux with virtual time, at "
        f"{rates[0]:.1f} to {rates[-1]:.1f} Mbit/s. {len(simulated)} more were simulated with the same parameter sets "
        "at other rates. The detector saw only when its packets were sent and received."
    )


def _lines(file: Path) -> int:
    return len(file.read_text().splitlines()) if file.exists() else 0


def _repeat(counts: Mapping[str, int]) -> str:
    options = " ".join(f"--{name} {count}" for name, count in counts.items() if count)
    return (
        f"To repeat it: `python -m benchmarks.detector {options}`. The features of all probes are kept in "
        "`benchmarks/results/detector/`, so that the page can be written again for another model without a kernel."
    )
