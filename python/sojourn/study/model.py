"""What a study is made of: items, each a figure or table of a paper with what was measured and what agrees."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sojourn.pages.laboratory import Link
    from sojourn.study.lab import Lab

FILE = "study.toml"
"""The file that makes a folder a study."""


@dataclass(frozen=True)
class Check:
    """One claim or number of a paper beside what was measured."""

    claim: str
    paper: str
    measured: str
    """With the run-to-run spread."""
    agrees: bool | None
    """None where the paper's value is only shown, because it depends on what the paper does not say."""
    note: str = ""
    """Why it disagrees, or what is open."""
    tolerance: str = ""
    """What counts as agreement."""
    name: str = ""
    """What sentences that depend on it call it."""
    held: int = 0
    points: int = 0
    """At how many points it was compared, and at how many it held."""
    margin: float | None = None
    """The smallest margin of all points, in the unit of the comparison; below zero where it does not hold."""
    main: bool = False
    """Whether it is a test of what the study is about."""
    own: bool = False
    """Whether it is an expectation of the study's own, which no source states."""
    of: str = ""
    """The claim that it is a reading of: checks of one study with the same name here are counted once."""

    def __post_init__(self) -> None:
        """Refuse a disagreement that says nothing: every one has its reason, or says that it is open."""
        if self.agrees is False and not self.note.strip():
            raise ValueError(f"{self.claim}: disagrees, and says neither why nor that it is open")


@dataclass(frozen=True)
class Table:
    """Data of an item: what its figure shows, or the paper's own table."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass
class Findings:
    """What an item found."""

    figures: "dict[str, Figure]" = field(default_factory=dict)
    """By the name of the file, with captions in `captions`."""
    captions: dict[str, str] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    text: str = ""
    """What a reader should know, in a few sentences."""
    verdict: str = ""
    """What was found, in a sentence, for the summary."""

    def show(self, name: str, figure: "Figure", caption: str) -> None:
        """Add a figure."""
        self.figures[name] = figure
        self.captions[name] = caption


@dataclass(frozen=True)
class Item:
    """A figure, a table or a question."""

    name: str
    """What the command line calls it."""
    title: str
    setting: str
    """What is simulated, in one or two sentences."""
    find: "Callable[[Lab], Findings]"
    needs_kernel: bool = False
    """Whether the study goes on without it where there is no Linux kernel to run it on."""
    laboratory: "Callable[[], Mapping[str, Sequence[Link]]]" = dict
    """Returns what opens scenarios of each of its figures in the laboratory, by the figure's name."""
    by_name: bool = False
    """Whether it is repeated only where it is asked for by its name: it takes long."""
    real_time_s: "Callable[[], Mapping[str, float]]" = dict
    """Returns for how long the runs of each of its sweeps go on by the clock, on a kernel without virtual time."""


@dataclass(frozen=True)
class Study:
    """A paper."""

    name: str
    title: str
    source: str
    items: Sequence[Item]
    summary: "Callable[[dict[str, Findings]], str] | None" = None
    """What of the paper holds and what does not, in a few sentences, from what its items found."""
    pictures: Sequence[tuple[str, str]] = ()
    """The figures, by item and name, that stand for the study where there is no room for all."""
    headline: "Callable[[dict[str, Findings]], str] | None" = None
    """The finding in one sentence without a full stop, as the title of its page; empty where it is the study's."""

    def command(self, items: Sequence[str] = ()) -> str:
        """Return what repeats it, or some of its items."""
        return " ".join(["sojourn paper", self.name, *items, "--out DIR"])
