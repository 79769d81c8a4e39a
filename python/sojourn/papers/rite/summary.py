"""What the study found, for a reader with two minutes."""

from sojourn.study.model import Findings

# The report's questions, and the items that answer them.
QUESTIONS: dict[str, tuple[str, ...]] = {
    "What does LEDBAT do to delay when it is alone for long?": ("drift", "cures", "skew"),
    "What does it do to short transfers and web pages?": ("short", "web"),
    "How long does a page take on cellular links, and which AQM suits them?": ("fig3.2", "fluctuating"),
    "Are the low-latency AQMs better than ARED, and parameterless?": (
        "fig4.2",
        "fig4.2-linux",
        "fig4.4",
        "sensitivity",
    ),
    "What does early marking do?": ("table4.1", "aggressive"),
    "Is it fair queueing or the AQM that helps?": ("isolation", "mixed-rtts"),
    "Do the AQMs depend on the buffer, the rate and the round-trip time?": ("buffers", "datacentre", "rural"),
    "Is the delay's gradient a better signal?": ("cdg-backoff", "cdg-share", "cdg-loss", "cdg-ecn"),
}
OTHERS = "And the rest of the report:"
NONE = "Nothing that the report claims disagrees."


def summary(findings: dict[str, Findings]) -> str:
    """Return the answers, and what does not agree with the report; each check below says why, or that it is open."""
    asked = {name for names in QUESTIONS.values() for name in names}
    groups = [*QUESTIONS.items(), (OTHERS, tuple(name for name in findings if name not in asked))]
    paragraphs = [
        f"{question} {' '.join(findings[name].verdict for name in names if name in findings)}"
        for question, names in groups
        if any(name in findings for name in names)
    ]
    wrong = [f"{one.claim} ({name})" for name, found in findings.items() for one in found.checks if one.agrees is False]
    doubts = f"What does not agree with the report, each with its reason below: {'; '.join(wrong)}." if wrong else NONE
    return "\n\n".join((*paragraphs, doubts))
