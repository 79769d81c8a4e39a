"""What does not agree with a paper, item by item, for the summary of its page."""

from collections.abc import Mapping

from sojourn.study.model import Findings

HEAD = "What does not agree with the paper (each check below says why, or is marked open):"


def doubts(findings: Mapping[str, Findings], words: Mapping[str, str]) -> list[str]:
    """Return a paragraph for each item that disagrees somewhere, after a head; none where all agree.

    `words` says what an item's checks have in common where they do not agree; without it the claims speak.

    >>> from sojourn.study.model import Check
    >>> one = Findings(checks=[Check("it rises", "1", "1", True), Check("it falls", "1", "2", False, "Open.")])
    >>> doubts({"fig1": one}, {})[1], doubts({"fig1": one}, {"fig1": "Fig. 1: it does not."})[1]
    ('fig1: it falls. (1 of 2 checks)', 'Fig. 1: it does not. (1 of 2 checks)')
    """
    found = []
    for name, one in findings.items():
        wrong = [check.claim for check in one.checks if check.agrees is False]
        if wrong:
            judged = sum(check.agrees is not None for check in one.checks)
            what = words.get(name) or f"{name}: {'; '.join(wrong)}."
            found.append(f"{what} ({len(wrong)} of {judged} checks)")
    return [HEAD, *found] if found else []
