"""What the page says of lines that training never saw, and of what else happens to a line."""

from collections.abc import Sequence

import numpy as np

from benchmarks.detector.lines import LINES, Told
from benchmarks.detector.tables import calibration_error, luck, share, table
from sojourn.detect.answer import SURE
from sojourn.detect.causes import BULK, LOSS

_VERY_SURE = 0.9
_WORST = 10
_WORDS = (
    "Half of the 238 [lines that people have](../guide/lines.md), by a hash of the name, took part in training; "
    "these are the others, up and down, up to 300 Mbit/s, with what their homes do. The other sets are FIFOs of 300 "
    "to 1000 packets at 1.5 to 40 Mbit/s; 0.05 to 3 % of packets lost at random, and one, two or five flows of "
    "CUBIC beside the probe, both at 15 Mbit/s under five queues; and policers and shapers of 4 to 60 Mbit/s behind "
    "a wire of 1 Gbit/s.\n\n"
    "What counts is what `sojourn detect` prints: a probe ends where the answer is clear, and a name is said with a "
    "probability of 80 % or more unless the queue is called unknown. Where packets meet two queues of one rate, as "
    "behind a shaper as fast as its line, the first one's name is right. Two choices were made after a look at "
    "these sets: FIFOs of 1000 packets, Linux's default, are drawn in training, and a step of the delay counts as "
    "another route only where the path is seen empty on both sides of it. So few probes show a calibration error where "
    "the probabilities are exactly right, too: by chance as much as the column beside it says, in the mean."
)
_WORST_WORDS = (
    "The held-out lines on which it fares worst: wrong names that are said, the surest first; then those of which "
    "nothing can be said; then the probes that sent most. "
)
_CAUSES = (
    "Beside the queue there may be two other causes, each with a probability of its own, and said from 80 % on. A line "
    "loses at random where any of its links does: losses behind a gateway's shaper were counted after a look at this "
    "table. The signs that tell causes were chosen by probes of the training alone."
)
_HEADS = (
    "set",
    "probes",
    "nothing can be said",
    "called unknown",
    "most likely name right",
    "right where a name is said",
    "right of those said with 90 % or more",
    "calibration error",
    "of which by chance",
    "MB sent, median",
    "MB sent, most",
)


def section(told: Sequence[Told]) -> list[str]:
    """Return the part of the page about them."""
    sets = {name: [one for one in told if one.set == name] for name in dict.fromkeys(one.set for one in told)}
    rows = [_row(name, own) for name, own in sets.items()] + [_row("all", told)]
    causes = [_causes(name, own) for name, own in [*sets.items(), ("all", told)]]
    heads = ("set", "random loss said where it is", "where it is not", "others' flows said where they are", "else")
    return [
        "## What of lines that it never saw?",
        _WORDS,
        table(_HEADS, rows),
        _CAUSES,
        table(heads, causes),
        _WORST_WORDS + _more(sets[LINES]),
        table(("line", "what it is", "what is said", "MB sent"), _worst(sets[LINES])),
    ]


def _row(name: str, own: Sequence[Told]) -> tuple[str, ...]:
    known = [one for one in own if one.best is not None]
    said = [one for one in known if one.share >= SURE and not one.is_new]
    sure = [one.right for one in said if one.share >= _VERY_SURE]
    sent, shares = [one.megabytes for one in own], [one.share for one in known]
    return (
        name,
        str(len(own)),
        str(len(own) - len(known)),
        str(sum(one.is_new for one in known)),
        share([one.right for one in known]),
        share([one.right for one in said]),
        share(sure),
        f"{calibration_error(shares, [one.right for one in known]):.1%}",
        f"{luck(shares)[0]:.1%}",
        f"{np.median(sent):.1f}",
        f"{max(sent):.1f}",
    )


def _causes(name: str, own: Sequence[Told]) -> tuple[str, ...]:
    known = [one for one in own if one.best is not None]
    return (
        name,
        *(
            share([one.causes[cause] >= SURE for one in known if (one.cause == cause) == there])
            for cause in (LOSS, BULK)
            for there in (True, False)
        ),
    )


def _more(own: Sequence[Told]) -> str:
    wrong = sum(1 for one in own if _confidence(one) > 0)
    return f"Wrong names that are said: {wrong}."


def _confidence(one: Told) -> float:
    said = one.best is not None and one.share >= SURE and not one.is_new
    return one.share if said and not one.right else 0.0


def _worst(own: Sequence[Told]) -> list[tuple[str, ...]]:
    ordered = sorted(own, key=lambda one: (-_confidence(one), one.best is not None, -one.megabytes))
    return [(one.case, one.name, one.verdict, f"{one.megabytes:.1f}") for one in ordered[:_WORST]]
