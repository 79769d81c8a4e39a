"""What the same measurements said before: results/performance-before.json is a copy of an older performance.json."""

from collections.abc import Iterator, Sequence

from benchmarks.common import Document, paragraph, table

MOST, FEWEST = 10_000, 10
DISCIPLINES = ("red", "codel", "pie", "pi2", "fq_codel", "cake")
CONTROLS = ("bbr", "bbr3", "ledbat", "ledbatpp", "libutp")


def section(now: Document, earlier: Document) -> list[str]:
    """Return a table of what both documents have, and how to read it where the machines differ."""
    old, new = dict(_values(earlier)), dict(_values(now))
    rows = [
        [name, f"{old[name]:.4g}", f"{new[name]:.4g}", f"{new[name] / old[name]:.2f}"] for name in old if name in new
    ]
    then, today = (f"commit {one['machine']['commit']} on {one['machine']['cpu']}" for one in (earlier, now))
    return [
        paragraph(f"""Before: {then}. Now: {today}. Where the machines differ, times say little about the engine. Ratios
            to peers and multiples of DropTail or NewReno, each measured in one run, say more. Instructions for a packet
            are on [the page of targets](contributing/performance-targets.md)."""),
        table(["What", "Before>", "Now>", "Now over before>"], rows),
    ]


def _values(document: Document) -> Iterator[tuple[str, float]]:
    newreno = document["comparison"]["newreno"]
    ours = next(row for row in newreno if row["simulator"] == "Sojourn")
    yield "a packet with its acknowledgement, ns", ours["packet_ns"]
    for row in newreno:
        if row is not ours:
            yield f"{row['simulator']}, {row['means']}: times Sojourn's", row["net_s"] / ours["net_s"]
    yield from _scaling(document["scaling"])
    if document["idle"]["bytes_each"] is not None:
        yield "a flow that does nothing, B", document["idle"]["bytes_each"]
    yield from _multiples(document["kinds"]["disciplines"], DISCIPLINES, "DropTail")
    yield from _multiples(document["kinds"]["controls"], CONTROLS, "NewReno")
    for row in document["startup"]:
        yield f"`{row['command']}`, s", row["wall_s"]


def _scaling(rows: Sequence[Document]) -> Iterator[tuple[str, float]]:
    for own_rtt, words in ((False, "equal RTTs"), (True, "one RTT for each flow")):
        few, many = (
            next(row for row in rows if (row["flows"], row["own_rtt"]) == (flows, own_rtt)) for flows in (FEWEST, MOST)
        )
        yield f"a packet of {MOST:,} flows over one of {FEWEST}, {words}", many["packet_ns"] / few["packet_ns"]
        if many["peak_bytes"] is not None:
            yield f"memory of {MOST:,} flows, {words}, MB", many["peak_bytes"] / 1e6


def _multiples(rows: Sequence[Document], names: Sequence[str], base: str) -> Iterator[tuple[str, float]]:
    for row in rows:
        if row["name"] in names:
            yield f"`{row['name']}`, times {base}", row["packet_ratio"]
