"""What of the paper holds and what does not, from what the items found."""

from sojourn.papers.gong.grid import FULL_BUT_SHORT
from sojourn.papers.gong.today import MODULE
from sojourn.papers.study import Check, Findings

# Items whose findings are the answer, in the order of the argument.
_ANSWERS = ("fig3", "fig4", "fig5", "fig8", "fq_codel", "targets", "today")


def summary(findings: dict[str, Findings]) -> str:
    """Return the answer in a few paragraphs; whether anything holds is read from the checks."""
    paragraphs = [_headline(findings)]
    paragraphs += [findings[name].verdict for name in _ANSWERS if name in findings]
    wrong = {name: sum(one.agrees is False for one in found.checks) for name, found in findings.items()}
    where = ", ".join(f"{name} {count}" for name, count in wrong.items() if count)
    if where:
        paragraphs.append(f"Checks that do not agree are explained, or marked open, beside each: {where}.")
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _headline(findings: dict[str, Findings]) -> str:
    """Return whether the paper's main finding holds, and where it does not."""
    tests = {name: [one for one in found.checks if _is_the_finding(one)] for name, found in findings.items()}
    count = sum(map(len, tests.values()))
    if not count:
        return ""
    exceptions = {name: [one for one in checks if not one.agrees] for name, checks in tests.items()}
    held = count - sum(map(len, exceptions.values()))
    finding = "The paper's finding is that every AQM takes from TCP the priority that DropTail leaves it."
    if held == count:
        return f"{finding} It holds without exception in all {count} sets of cases that test it."
    found = "; ".join(f"{one.claim} ({one.measured})" for checks in exceptions.values() for one in checks)
    why = {"table1": FULL_BUT_SHORT, "today": MODULE}
    reasons = " ".join(why[name] for name, checks in exceptions.items() if checks and name in why)
    return f"{finding} It holds without exception in {held} of {count} sets of cases. Not quite: {found}. {reasons}"


def _is_the_finding(one: Check) -> bool:
    return one.agrees is not None and ("than under DropTail" in one.claim or "only under DropTail" in one.claim)
