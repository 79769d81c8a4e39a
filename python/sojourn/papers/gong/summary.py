"""What of the paper holds and what does not, from what the items found."""

from sojourn.papers.doubts import doubts
from sojourn.papers.gong.grid import FULL_BUT_SHORT
from sojourn.papers.gong.today import MODULE
from sojourn.study.model import Check, Findings

# Items whose findings are the answer, in the order of the argument.
_ANSWERS = ("fig3", "fig4", "fig5", "fig8", "fq_codel", "targets", "today")
# What an item's checks have in common where they do not agree; each check says more.
_DOUBTS = {
    "fig2": "Fig. 2: with ns-2's NewReno agents no single measuring interval gives both the queue under DropTail and "
    "the utilization under RED; its last check counts what each reading gives.",
    "fig3": "Fig. 3: numbers of CHOKe, whose settings are not known, and the share in the smallest DropTail buffer, "
    "which depends on whether acknowledgements are delayed.",
    "fig4": "Fig. 4: DropTail drops both classes alike only if round-trip times differ; with equal ones, as in the "
    "paper, phase effects spare the flows whose windows do not grow.",
    "fig5": "Fig. 5: NICE and TCP-LP keep some of their low priority under AQMs, because they react to much shorter "
    "queues than LEDBAT; so does TCP-LP in ns-2 itself.",
    "table1": f"Table 1: {FULL_BUT_SHORT}",
    "fig6": "Fig. 6: at capacities below 1 Mbit/s the shares under AQMs move away from half, in both directions.",
    "fig7": "Fig. 7: CHOKe with RED's thresholds never fills the link.",
    "fig8": "Fig. 8: which AQM leaves TCP most and least.",
    "fig10": "Fig. 10: with unequal round-trip times RED and CoDel are fairer here than in the paper, whose three "
    "values come together at a mean of 100 ms, at neither of those that it names. SFQ and DRR are less fair, because "
    "flows share buckets by chance; without that they are as fair as in the paper.",
    "table2": "Table 2: the paper says neither which cases a row is taken over nor how long flows are on and off; the "
    "coefficients that differ most are the queue's, and readings stand side by side.",
    "fq_codel": "FQ-CoDel: a control that yields to the delay of its own queue, as TCP-LP of ns-2 does, leaves TCP "
    "more than half.",
    "targets": "Targets: CoDel's queue at times exceeds the smaller one, which costs its flows a little.",
    "today": f"Today: {MODULE} RED with the thresholds of tc keeps a queue that LEDBAT can see, and so its priority.",
}


def summary(findings: dict[str, Findings]) -> str:
    """Return the answer in a few paragraphs; whether anything holds is read from the checks."""
    paragraphs = [_headline(findings)]
    paragraphs += [findings[name].verdict for name in _ANSWERS if name in findings]
    paragraphs += doubts(findings, _DOUBTS)
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _headline(findings: dict[str, Findings]) -> str:
    """Return whether the paper's main finding holds, and where it does not."""
    tests = [one for found in findings.values() for one in found.checks if _is_the_finding(one)]
    if not tests:
        return ""
    exceptions = "; ".join(f"{one.claim}: {one.measured}" for one in tests if not one.agrees)
    finding = "The paper's finding is that every AQM takes from TCP the priority that DropTail leaves it."
    if not exceptions:
        return f"{finding} It holds without exception in all {len(tests)} sets of cases that test it."
    held = sum(bool(one.agrees) for one in tests)
    return f"{finding} It holds without exception in {held} of {len(tests)} sets of cases. Not quite in: {exceptions}."


def _is_the_finding(one: Check) -> bool:
    return one.agrees is not None and ("than under DropTail" in one.claim or "only under DropTail" in one.claim)
