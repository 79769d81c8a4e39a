"""All of a trial: laws, comparison, a control's window over time, and what they come to."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sojourn.trial.comparison import Row, compare
from sojourn.trial.laws import CONTROL, TRAFFIC, Law, is_low_priority, kind_of, laws
from sojourn.trial.window import window

if TYPE_CHECKING:
    from sojourn.result import Result


@dataclass(frozen=True)
class Report:
    """What was found of an algorithm."""

    name: str
    kind: str
    """"queue", "control" or "traffic"."""
    laws: list[Law]
    rows: list[Row]
    """The comparison; empty where the algorithm fails by itself."""
    window: "Result | None"
    """A control's run, to look at."""

    @property
    def broken(self) -> list[Law]:
        """The laws that do not hold."""
        return [law for law in self.laws if not law.holds]

    @property
    def shares(self) -> dict[str, float]:
        """Of a control: its part of the goodput beside others, by what it stands beside."""
        own = [row for row in self.rows if row.subject == self.name]
        return {row.beside: row.share for row in own if row.share is not None}

    @property
    def verdict(self) -> str:
        """What the trial comes to, in a sentence or two."""
        laws = len(self.laws)
        if self.broken:
            return f"{len(self.broken)} of {laws} laws broken; mend these first.{self._held_to}"
        if self.kind == TRAFFIC:
            return f"all {laws} laws hold."
        shares = self.shares
        if not shares:
            return f"all {laws} laws hold; its queue beside those of others in situations of RFC 7928:"
        kind = "low priority" if is_low_priority(self.name) else "best effort"
        high = max(shares, key=lambda beside: shares[beside])
        low = min(shares, key=lambda beside: shares[beside])
        least, most = (f"{100 * shares[beside]:.0f} % (beside {beside})" for beside in (low, high))
        takes = f"Two of its flows beside two others take {least} to {most} of the goodput."
        return f"{kind}, all {laws} laws hold. {takes}{self._held_to}"

    @property
    def _held_to(self) -> str:
        """Say of a control whether the law of low priority was among those that it was held to."""
        if self.kind != CONTROL:
            return ""
        if is_low_priority(self.name):
            return " It says that it is of low priority, and was held to the law of low priority."
        return " It does not say that it is of low priority, and was not held to the law of low priority."

    def document(self) -> dict[str, Any]:
        """Return what `sojourn try --json` prints."""
        laws, rows = ([asdict(one) for one in some] for some in (self.laws, self.rows))
        return {"name": self.name, "kind": self.kind, "laws": laws, "rows": rows}


def report(name: str) -> Report:
    """Try an algorithm; some seconds. What fails by itself is not compared: that would only repeat it."""
    kept = laws(name)
    failed = any(law.found.startswith("plug-in ") for law in kept)
    seen = None if failed or kind_of(name) != CONTROL else window(name)
    compared = [] if failed or kind_of(name) == TRAFFIC else list(compare(name))
    return Report(name, kind_of(name), kept, compared, seen)


def shown(row: Row) -> dict[str, str]:
    """Return a row of the comparison as text; a discipline has no share."""

    def number(value: float | None, factor: float = 1.0, digits: int = 1) -> str:
        return "" if value is None else f"{factor * value:.{digits}f}"

    share = {} if row.share is None else {"share [%]": number(row.share, 100)}
    return {
        "of": row.subject,
        "beside": row.beside,
        **share,
        "queue [ms]": number(row.queue_ms_mean),
        "queue p99 [ms]": number(row.queue_ms_p99),
        "utilization [%]": number(row.utilization, 100),
        "Jain": number(row.jain, digits=3),
    }
