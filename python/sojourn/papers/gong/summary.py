"""What of the paper holds and what does not, from what the items found."""

from sojourn.papers.study import Check, Findings


def summary(findings: dict[str, Findings]) -> str:
    """Return the answer in a few paragraphs; nothing in it is written before the runs."""
    wrong = {name: [one for one in found.checks if one.agrees is False] for name, found in findings.items()}
    headline = _headline(findings)
    paragraphs = [headline] if headline else []
    for name in ("fig3", "fig4", "fig5", "fig8", "fq_codel", "targets", "today"):
        if name in findings and findings[name].verdict:
            paragraphs.append(findings[name].verdict)
    lost = sum(map(len, wrong.values()))
    if lost:
        # Every item says why its own do not agree; here is where they are.
        where = ", ".join(f"{name} {len(checks)}" for name, checks in wrong.items() if checks)
        paragraphs.append(f"What does not agree is explained, or marked open, beside each check: {where}.")
    return "\n\n".join(paragraphs)


def _headline(findings: dict[str, Findings]) -> str:
    orderings = [one for found in findings.values() for one in found.checks if _is_the_finding(one)]
    if not orderings:
        return ""
    held = sum(bool(one.agrees) for one in orderings)
    exceptions = "; ".join(f"{one.claim}: {one.measured}. {one.note}" for one in orderings if not one.agrees)
    if held == len(orderings):
        return "The paper's finding holds: wherever it was tested, every AQM takes from TCP priority that DropTail leaves it."
    return (
        f"The paper's finding, that every AQM takes from TCP priority which DropTail leaves it, holds in {held} of "
        f"{len(orderings)} sets of cases without exception. The exceptions: {exceptions}"
    )


def _is_the_finding(one: Check) -> bool:
    return one.agrees is not None and any(words in one.claim for words in ("than under DropTail", "only under DropTail"))
