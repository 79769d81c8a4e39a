"""Writes docs/validation.md and the pages below it from the raw numbers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks import pages_behaviour, pages_ledbat, pages_papers, pages_peers
from benchmarks.common import Document, paragraph, table
from benchmarks.explanations import Explanation
from benchmarks.pages_peers import FAMILIES, PEERS


def render(document: Document) -> Mapping[str, str]:
    """Return the pages: names below docs/ and texts."""
    agreement = document["agreement"]
    pages = {
        "validation": _index(document),
        "validation/queues": pages_peers.queues(agreement),
        "validation/open-loop": pages_peers.open_loop(agreement),
        "validation/controls": pages_peers.controls(agreement),
        "validation/delays": pages_peers.delays(agreement),
        "validation/papers": pages_papers.render(document["papers"]),
        "validation/ledbat": pages_ledbat.render(document["ledbat"]),
        "validation/behaviour": pages_behaviour.render(document["behaviour"]),
    }
    return {name: "\n\n".join(parts) for name, parts in pages.items()}


def verdict(document: Document) -> str:
    """Return how many checks hold."""
    counts = [
        f"{_count(_checks(document['agreement'][peer]['families'].values()), 'agrees')} with {name}"
        for peer, name in PEERS.items()
    ]
    counts.append(f"{_count(_judged(document['papers']), 'agrees')} with the paper")
    laws = [row for rows in document["ledbat"].values() for row in rows]
    counts.append(f"{_count(laws, 'holds')} of LEDBAT's laws")
    counts.append(f"{_count(document['behaviour']['checks'], 'agrees')} about behaviour")
    return f"Checks that hold: {', '.join(counts)}."


def unexplained(document: Document) -> list[str]:
    """Name the checks that fail and of whose reason nothing is known."""
    found = pages_peers.unexplained(document["agreement"]) + pages_papers.unexplained(document["papers"])
    for law, rows in document["ledbat"].items():
        found += [f"LEDBAT, {law}: {row}" for row in rows if not row["holds"]]
    return found + pages_behaviour.unexplained(document["behaviour"])


def _index(document: Document) -> list[str]:
    agreement = document["agreement"]
    rows = []
    for family, (name, page) in FAMILIES.items():
        for peer, peer_name in PEERS.items():
            points = agreement[peer]["families"][family]
            if points:
                counts = _reasons([why for _, _, why in pages_peers.failing(peer, family, points)])
                rows.append(_row(f"[{name}](validation/{page})", peer_name, _checks([points]), "agrees", counts))
    judged, unknown = _judged(document["papers"]), len(pages_papers.unexplained(document["papers"]))
    failed = sum(not check["agrees"] for check in judged)
    paper = "[motivating example](validation/papers.md)"
    rows.append(_row(paper, "Gong et al., Fig. 2", judged, "agrees", (0, 0, failed - unknown, 0, unknown)))
    laws = [row for rows_of_law in document["ledbat"].values() for row in rows_of_law]
    broken = sum(not row["holds"] for row in laws)
    rows.append(_row("[LEDBAT's laws](validation/ledbat.md)", "RFC 6817", laws, "holds", (0, 0, 0, 0, broken)))
    behaviour = document["behaviour"]
    counts = _reasons([why for _, why in pages_behaviour.failing(behaviour)])
    what = "[behaviour of the controls](validation/behaviour.md)"
    rows.append(_row(what, "RFCs, drafts and papers", behaviour["checks"], "agrees", counts))
    heads = ["What", "Against", "Checks that hold>", "Noise>", "Fault>", "Explained>", "Narrowed>", "Open>"]
    return [
        "# Validation",
        paragraph(f"""Written by `make validate` at commit {document["machine"]["commit"]}; the raw numbers, with every
            tolerance, are in `benchmarks/results/validation.json`. Sojourn ran now;
            {pages_peers.sources(agreement)}"""),
        table(heads, rows),
        paragraph("""Formulas, small simulations and integrations that need no other simulator:
            [answers computed apart](validation/answers.md), written by `make answers`. Packet by packet
            against the qdiscs of a real kernel: [its own page](validation/kernel-conformance.md),
            written by `make conformance`.
            Segment by segment against its TCP: [another one](validation/sender-conformance.md),
            and its acknowledgements [arrival by arrival](validation/receiver-conformance.md),
            written by the same command. Linux's own TCP tests:
            [their page](validation/packetdrill.md). A kernel's TCP over recorded links in real time:
            [beside Mahimahi](validation/mahimahi.md)."""),
        paragraph("""Lines that `sojourn import` read from captures: [beside the true ones](validation/twins.md),
            written by `python -m benchmarks.twins`. Networks, and what many homes cost:
            [beside ns-3](validation/networks.md),
            written by `python -m benchmarks.networks`."""),
        paragraph("""A program in real time behind `sojourn shell`:
            [beside the simulation and a kernel's queues](validation/programs.md), written by
            `python -m benchmarks.programs`. Other people's stacks behind the same queues:
            [beside Sojourn's senders](validation/stacks.md), written by `python -m benchmarks.stacks`."""),
        paragraph("""Whole scenarios on a real kernel beside the same in simulation:
            [the last part of the testbed's study](papers/gong-testbed.md#the-kernel-beside-the-simulator),
            by `sojourn paper gong-testbed`. How often `sojourn detect` names the queue of a real kernel:
            [its page](validation/detector.md), written by `python -m benchmarks.detector`."""),
        paragraph("""A check is one number of one point: the mean queue, the drops, the share of a group ... of ten runs
            in each simulator; or one claim of a source about a table. Of those that fail, the page says why. "Noise":
            these runs cannot decide. "Fault": one of the peer's, which its developers have named and mended in a later
            version, with numbers that fit. "Explained": by the peer's source with numbers that fit, or by an
            experiment. "Narrowed": what it is not, and what it may be; the rest is open. How the peers are set up:
            [their README](../benchmarks/peers/README.md); what a point is in Sojourn: `benchmarks/equivalents.py`."""),
    ]


def _row(
    what: str, against: str, checks: Sequence[Mapping[str, Any]], key: str, counts: Iterable[int]
) -> Sequence[str]:
    return [what, against, _count(checks, key), *(str(count) for count in counts)]


def _reasons(found: Sequence[Explanation | None]) -> list[int]:
    known = [why.status if why else "open" for why in found]
    return [known.count(status) for status in ("noise", "fault", "explained", "narrowed", "open")]


def _checks(families: Iterable[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [check for points in families for row in points for check in row["checks"]]


def _judged(papers: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [check for check in papers["checks"] if check["agrees"] is not None]


def _count(rows: Sequence[Mapping[str, Any]], key: str) -> str:
    return f"{sum(bool(row[key]) for row in rows)} of {len(rows)}"
