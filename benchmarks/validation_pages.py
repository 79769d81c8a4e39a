"""Writes docs/validation.md and the pages below it from the raw numbers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks import pages_ledbat, pages_papers, pages_peers
from benchmarks.common import Document, paragraph, table
from benchmarks.pages_peers import FAMILIES, PEERS


def render(document: Document) -> Mapping[str, str]:
    """Return the pages: names below docs/ and texts."""
    agreement = document["agreement"]
    pages = {
        "validation": _index(document),
        "validation/queues": pages_peers.queues(agreement),
        "validation/open-loop": pages_peers.open_loop(agreement),
        "validation/controls": pages_peers.controls(agreement),
        "validation/papers": pages_papers.render(document["papers"]),
        "validation/ledbat": pages_ledbat.render(document["ledbat"]),
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
    return f"Checks that hold: {', '.join(counts)}, {_count(laws, 'holds')} of LEDBAT's laws."


def unexplained(document: Document) -> list[str]:
    """Name the checks that fail without an explanation."""
    found = pages_peers.unexplained(document["agreement"]) + pages_papers.unexplained(document["papers"])
    for law, rows in document["ledbat"].items():
        found += [f"LEDBAT, {law}: {row}" for row in rows if not row["holds"]]
    return found


def _index(document: Document) -> list[str]:
    agreement, laws = document["agreement"], document["ledbat"]
    rows = []
    for family, (name, page) in FAMILIES.items():
        for peer, peer_name in PEERS.items():
            points = agreement[peer]["families"][family]
            if points:
                failing = pages_peers.failing(peer, family, points)
                rows.append(
                    [
                        f"[{name}](validation/{page})",
                        peer_name,
                        _count(_checks([points]), "agrees"),
                        str(sum(why is not None for _, _, why in failing)),
                        str(sum(why is None for _, _, why in failing)),
                    ]
                )
    judged, open_papers = _judged(document["papers"]), len(pages_papers.unexplained(document["papers"]))
    failed = sum(not check["agrees"] for check in judged)
    rows.append(
        [
            "[motivating example](validation/papers.md)",
            "Gong et al., Fig. 2",
            _count(judged, "agrees"),
            str(failed - open_papers),
            str(open_papers),
        ]
    )
    law_rows = [row for rows_of_law in laws.values() for row in rows_of_law]
    broken = sum(not row["holds"] for row in law_rows)
    rows.append(["[LEDBAT's laws](validation/ledbat.md)", "RFC 6817", _count(law_rows, "holds"), "0", str(broken)])
    return [
        "# Validation",
        paragraph(f"""Written by `make validate` at commit {document["machine"]["commit"]}; the raw numbers, with every
            tolerance, are in `benchmarks/results/validation.json`. Sojourn ran now;
            {pages_peers.sources(agreement)}"""),
        table(["What", "Against", "Checks that hold>", "Differ, explained>", "Open>"], rows),
        paragraph("""A check is one number of one point: the mean queue, the drops, the share of a group ... of ten runs
            in each simulator. "Explained" means that the page says why, from the peer's source or from an experiment;
            noise counts as an explanation where the runs cannot decide. How the peers are set up:
            [their README](../benchmarks/peers/README.md); what a point is in Sojourn:
            `benchmarks/equivalents.py`."""),
    ]


def _checks(families: Iterable[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [check for points in families for row in points for check in row["checks"]]


def _judged(papers: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [check for check in papers["checks"] if check["agrees"] is not None]


def _count(rows: Sequence[Mapping[str, Any]], key: str) -> str:
    return f"{sum(bool(row[key]) for row in rows)} of {len(rows)}"
