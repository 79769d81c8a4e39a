"""Probe the cases on a kernel in virtual time, and keep what the two ends logged as features: one line of JSON each."""

import json
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.detector import linux_queues, ns3
from benchmarks.detector.cases import Case, cases
from benchmarks.detector.kept import Kept, plan_of
from sojourn.detect.answer import answer, fair_queueing
from sojourn.detect.plan import FULL, FULL_BYTES, FULL_COUNT, SMALL
from sojourn.detect.probe import Probed, Send, over, probe
from sojourn.detect.stored import load_model
from sojourn.detect.turns import TRAINS

Observe = Callable[[Case, dict[str, Any]], dict[str, Any]]
RESULTS = Path(__file__).parents[1] / "results" / "detector"
PACKETS = {
    "linux": Kept(RESULTS / "kernel-packets"),
    "tc": Kept(RESULTS / "linux-packets"),
    "ns3": Kept(RESULTS / "ns3-packets"),
}
"""The logs of probes of other worlds; those of the simulation are made again faster than they are read."""


def sender(case: Case, how: dict[str, Any]) -> Send:
    """Return what sends the stages of a case in its world."""
    rate_bps, seed = case.rate_mbps * 1e6, case.number + 1
    match how["world"]:
        case "tc":
            among = linux_queues.CLASSED if how.get("asks") else linux_queues.QUEUES
            queue = among[case.number % len(among)]
            return linux_queues.send_over(queue, case.bare, rate_bps, seed, how["kernel"])
        case "ns3":
            return ns3.send_over(ns3.QUEUES[case.number % len(ns3.QUEUES)], case.bare, rate_bps, seed)
        case _:
            return over(case.path, seed, **how)


def conditions(case: Case, how: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of a case, as its line begins."""
    return {
        "number": case.number,
        "name": case.name,
        "queue": case.queue,
        "rate_mbps": case.rate_mbps,
        "rtt_ms": case.rtt_ms,
        "others_share": case.others_share,
        "world": how.get("kernel", how["world"]),
    }


def said_of(seen: Probed) -> dict[str, Any]:
    """Return what the shipped model says of a probe: why nothing, how far its twin is, and how long it took."""
    model = load_model()
    began_s = time.process_time()
    found = answer(seen, model)
    said_s = time.process_time() - began_s
    twin = None if found.twin is None else {"name": found.twin.name, "distance": found.twin.distance}
    return {"cannot": found.cannot, "twin": twin, "answer_cpu_s": said_s}


def observe(case: Case, how: dict[str, Any]) -> dict[str, Any]:
    """Return the features of one probe and its conditions; or why there are none."""
    began = time.monotonic()
    about = conditions(case, how)
    try:
        seen = probe(sender(case, how), rtt_ms=lambda: case.rtt_ms)
    except Exception as error:  # a failed probe is a result
        return {**about, "error": f"{type(error).__name__}: {error}"}
    if how["world"] in PACKETS:
        PACKETS[how["world"]].write(case.number, seen)
    trains = seen.logs.get("load", {})
    first = seen.logs["find"].get(FULL)
    values = {name: None if np.isnan(value) else value for name, value in seen.features.items()}
    return {
        **about,
        "plan": plan_of(seen),
        "rate_bps": seen.rate_bps,
        "features": values,
        "fair_queueing": fair_queueing(seen),
        "turns_bytes": TRAINS * FULL_COUNT * FULL_BYTES + (0 if first is None else int(first.size_bytes.sum())),
        **said_of(seen),
        "train_bytes": int(sum(trains[name].size_bytes.sum() for name in (FULL, SMALL) if name in trains)),
        "sent_bytes": seen.sent_bytes,
        "active_s": seen.active_s,
        "wall_s": round(time.monotonic() - began, 1),
    }


def collect(
    count: int,
    how: dict[str, Any],
    file: Path,
    jobs: int = 2,
    of: Observe = observe,
    among: Callable[[int, str], Iterable[Case]] = cases,
) -> None:
    """Probe the first `count` cases that the file does not hold yet, and add them to it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    known = {json.loads(line)["number"] for line in file.read_text().splitlines()} if file.exists() else set()
    left = [case for case in among(count, how["world"]) if case.number not in known]
    with ProcessPoolExecutor(jobs) as pool, file.open("a", encoding="utf-8") as out:
        for found in pool.map(of, left, [how] * len(left)):
            out.write(json.dumps(found, sort_keys=True) + "\n")
            out.flush()
            print(found["number"], found["name"], found.get("error", found.get("wall_s")), file=sys.stderr, flush=True)
