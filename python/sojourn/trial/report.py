"""All of a trial: laws, low priority, comparison, a control's window over time, and what they come to."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sojourn.reading import input_error
from sojourn.trial import stack as stacks
from sojourn.trial.comparison import BEST_KNOWN, Row, compare
from sojourn.trial.laws import CONTROL, SHAPER, TRAFFIC, Law, kind_of, laws
from sojourn.trial.priority import TERMS, Priority, Terms, declares, judged, under
from sojourn.trial.stack import STACK, Stack
from sojourn.trial.suite import Suite
from sojourn.trial.window import window
from sojourn.worlds.stacks import StackError

if TYPE_CHECKING:
    from sojourn.result import Result


@dataclass(frozen=True)
class Report:
    """What was found of an algorithm."""

    name: str
    kind: str
    """"queue", "control", "traffic", "shaper" or "stack"."""
    laws: list[Law]
    rows: list[Row]
    """The comparison; empty where the algorithm fails by itself."""
    window: "Result | None"
    """A control's run, to look at."""
    priorities: list[Priority]
    """The verdict for each queue where a control declares low priority, otherwise empty."""
    suite: str = ""
    """Title and source of the suite whose cases the laws are, where they are."""

    @property
    def broken(self) -> list[Law]:
        """The laws that do not hold."""
        return [law for law in self.laws if not law.holds]

    @property
    def passes(self) -> bool:
        """Whether all laws hold, and low priority is kept under every queue that was judged."""
        return not self.broken and all(one.kept for one in self.priorities)

    @property
    def shares(self) -> dict[str, float]:
        """Of a control: its part of the goodput, by the control beside it and the queue."""
        own = [row for row in self.rows if row.subject == self.name]
        return {f"{row.beside}, {row.queue}": row.share for row in own if row.share is not None}

    @property
    def verdict(self) -> str:
        """What the trial comes to, in a sentence or two."""
        laws = len(self.laws)
        if self.suite:
            return f"{laws - len(self.broken)} of {laws} cases pass. {self.suite}."
        if self.broken:
            return f"{len(self.broken)} of {laws} laws broken; mend these first.{self._not_judged}"
        if self.kind in {TRAFFIC, SHAPER}:
            return f"all {laws} laws hold."
        shares = self.shares
        if not shares:
            return f"all {laws} laws hold; its queue beside those of others in situations of RFC 7928:"
        kind = f"low priority {under(self.priorities)}" if self.priorities else "best effort"
        high = max(shares, key=lambda beside: shares[beside])
        low = min(shares, key=lambda beside: shares[beside])
        least, most = (f"{100 * shares[beside]:.0f} % (beside {beside})" for beside in (low, high))
        flows = "connections" if self.kind == STACK else "flows"
        takes = f"Two of its {flows} beside two others take {least} to {most} of the goodput."
        return f"{kind}. All {laws} laws hold. {takes}{self._not_judged}"

    @property
    def _not_judged(self) -> str:
        """Say of a control that does not declare low priority that it was not judged."""
        if self.kind == STACK and not self.priorities:
            return " Low priority was not judged: --low-priority-bound asks for it."
        if self.kind != CONTROL or declares(self.name):
            return ""
        return " It does not declare low priority, so low priority was not judged."

    def document(self) -> dict[str, Any]:
        """Return what `sojourn try --json` prints."""
        laws, rows = ([asdict(one) for one in some] for some in (self.laws, self.rows))
        priorities = [{**asdict(one), "kept": one.kept} for one in self.priorities]
        return {"name": self.name, "kind": self.kind, "laws": laws, "low_priority": priorities, "rows": rows}


def report(name: str, terms: Terms = TERMS) -> Report:
    """Try an algorithm; some seconds. What fails by itself is not compared: that would only repeat it.

    A control that declares low priority is judged on `terms`.
    """
    kept = laws(name)
    failed = any(law.found.startswith("plug-in ") for law in kept)
    seen = None if failed or kind_of(name) != CONTROL else window(name)
    compared = [] if failed or kind_of(name) in {TRAFFIC, SHAPER} else list(compare(name))
    own = [row for row in compared if row.subject == name]
    priorities = judged(own, terms) if declares(name) else []
    return Report(name, kind_of(name), kept, compared, seen, priorities)


def of_stack(stack: Stack, terms: Terms | None, progress: Callable[[float], None]) -> Report:
    """Try a stack; some seconds. Its low priority is judged on `terms`, where there are some.

    One that does not run beside others is not compared, which is a law that does not hold.
    """
    kept = stacks.laws(stack, lambda part: progress(part / 3))
    try:
        rows = stacks.compare(stack, lambda part: progress((1 + 2 * part) / 3))
    except StackError as error:
        return Report(
            stack.name,
            STACK,
            [*kept, Law("It runs beside built-in controls", holds=False, found=str(error))],
            [],
            None,
            [],
        )
    return Report(
        stack.name, STACK, kept, [*rows, *compare(BEST_KNOWN[False])], None, judged(rows, terms) if terms else []
    )


def of_suite(suite: Suite, subject: str | Stack, progress: Callable[[float], None]) -> Report:
    """Judge a control, or a stack, by the cases of a suite; some seconds."""
    name, kind = (subject.name, STACK) if isinstance(subject, Stack) else (subject, kind_of(subject))
    if kind not in {CONTROL, STACK}:
        message = f"{name} is {kind}, and a suite judges controls"
        raise input_error(message, key="--suite", found=name, allowed="a congestion control, or --stack PROGRAM")
    return Report(name, kind, suite.judge(subject, progress), [], None, [], suite.named)


def shown(row: Row) -> dict[str, str]:
    """Return a row of the comparison as text; a discipline has no share."""

    def number(value: float | None, factor: float = 1.0, digits: int = 1) -> str:
        return "" if value is None else f"{factor * value:.{digits}f}"

    of_control = {} if row.share is None else {"queue": row.queue, "share [%]": number(row.share, 100)}
    return {
        "of": row.subject,
        "beside": row.beside,
        **of_control,
        "queue [ms]": number(row.queue_ms_mean),
        "queue p99 [ms]": number(row.queue_ms_p99),
        "utilization [%]": number(row.utilization, 100),
        "Jain": number(row.jain, digits=3),
    }
