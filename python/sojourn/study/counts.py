"""How many claims of a source hold: one count a claim, however many of its readings and points were tried."""

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.study.model import Check


@dataclass(frozen=True)
class Counts:
    """What became of the checks of a study."""

    claims: int
    """Claims of the source, each counted once."""
    held: int
    """Those that hold under at least one reading of what the source does not say."""
    several: int
    """Those that were read in more than one way."""
    everywhere: int
    """Those of them that hold under every reading."""
    own: int
    """Expectations of the study's own, each counted once."""
    own_held: int
    shown: int
    """Values without a verdict."""

    @classmethod
    def of(cls, checks: Sequence[Check]) -> "Counts":
        """Count checks.

        >>> one, other = (Check(f"a, {n}", "", "", n == 1, "Open.", of="a") for n in (1, 2))
        >>> Counts.of([one, other, Check("b", "1", "2", None)])
        Counts(claims=1, held=1, several=1, everywhere=0, own=0, own_held=0, shown=1)
        """
        readings: dict[tuple[bool, str], list[bool]] = {}
        for number, check in enumerate(checks):
            if check.agrees is not None:
                readings.setdefault((check.own, check.of or str(number)), []).append(check.agrees)
        paper = [held for (own, _), held in readings.items() if not own]
        ours = [held for (own, _), held in readings.items() if own]
        several = [held for held in paper if len(held) > 1]
        return cls(
            claims=len(paper),
            held=sum(map(any, paper)),
            several=len(several),
            everywhere=sum(map(all, several)),
            own=len(ours),
            own_held=sum(map(any, ours)),
            shown=sum(check.agrees is None for check in checks),
        )

    def sentence(self) -> str:
        """Return the counts in words: the source's claims first.

        >>> Counts(10, 7, 3, 1, 4, 4, 2).sentence()
        "7 of 10 claims hold; of the 3 read in more than one way, 1 holds under every reading. \
4 of 4 expectations of the study's own hold. 2 further values are shown without a verdict."
        """
        said = []
        if self.claims:
            text = f"{self.held} of {_some(self.claims, 'claim')} {_verb(self.claims, 'holds', 'hold')}"
            if self.several:
                ways = f"of the {self.several} read in more than one way"
                text += f"; {ways}, {self.everywhere} {_verb(self.everywhere, 'holds', 'hold')} under every reading"
            said.append(f"{text}.")
        if self.own:
            whose = " of the study's own" if self.claims else ""
            said.append(
                f"{self.own_held} of {_some(self.own, 'expectation')}{whose} {_verb(self.own, 'holds', 'hold')}."
            )
        if self.shown:
            values = _some(self.shown, "further value" if self.claims or self.own else "value")
            said.append(f"{values} {_verb(self.shown, 'is', 'are')} shown without a verdict.")
        return " ".join(said)


def _some(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _verb(count: int, one: str, many: str) -> str:
    return one if count == 1 else many
