"""What the page says of the other queues of Linux and of those of ns-3, none of which anything was chosen by."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.detector import linux_queues, ns3
from benchmarks.detector.seen import Seen, split
from benchmarks.detector.tables import in_best, share, table

_LINUX = (
    "The words are those of `tc`. Each queue was probed on paths of 1 to 25 Mbit/s and 3 to 250 ms, drawn at random. "
    "These probes came after all choices of the method, so nothing was chosen by them. The second column tells which "
    "name is right, or that the discipline was not in training. Such a queue is told where it is called unknown; its "
    "family is that of the most likely name."
)
_NS3 = (
    "The same trains and datagrams cross a queue discipline of ns-3.37, beside a flow of ns-3's own TCP (CUBIC with "
    "ECN). The model, its features and its bounds were not chosen by these probes. After a first look two things were "
    "done: RED was told the rate of its link, which ns-3 does not set by itself, and the check for another route was "
    "run on these probes, where it found none."
)
_HEADS = ("queue", "right name", "probes", "name right", "among the two best", "family right", "called unknown", "said")


def section(linux: Sequence[Seen], of_ns3: Sequence[Seen], failed: Sequence[dict[str, Any]]) -> list[str]:
    """Return the part of the page about them."""
    parts = []
    for title, words, seen in (
        ("## Which other queues of Linux are told?", _LINUX, linux),
        ("## Are the queues of another implementation told?", _NS3, of_ns3),
    ):
        parts += [title, words, _summary(seen), _each(seen)]
    if failed:
        parts.append(f"{len(failed)} of these probes failed: {failed[0]['error']}")
    return parts


def told(seen: Sequence[Seen]) -> list[bool]:
    """Return whether each queue is told: by its name where it was in training, else by being called unknown."""
    return [one.about["is_new"] if one.is_new else one.right for one in seen]


def _summary(seen: Sequence[Seen]) -> str:
    known, new = split(seen)
    rows = [
        ("name right, of disciplines in training", share([one.right for one in known])),
        ("the same, where a name is said", share([one.right for one in known if not one.about["is_new"]])),
        ("among the two best names", share([in_best(one.judged.names, one.name, 2) for one in known])),
        ("called unknown, of disciplines in training", share([one.about["is_new"] for one in known])),
        ("called unknown, of all others", share([one.about["is_new"] for one in new])),
        ("family right, of all", share([one.right_family for one in seen])),
        ("told: the name, or unknown where it was not in training", share(told(seen))),
    ]
    return table(("What", "Share"), rows)


def _each(seen: Sequence[Seen]) -> str:
    groups: dict[str, list[Seen]] = {}
    for one in seen:
        groups.setdefault(_title(one.about), []).append(one)
    rows = []
    for title, own in groups.items():
        names = dict.fromkeys(sorted((one.judged.best for one in own), key=_names_of(own)))
        rows.append(
            (
                f"`{title}`",
                "not in training" if own[0].is_new else own[0].name,
                str(len(own)),
                "" if own[0].is_new else _count([one.right for one in own]),
                "" if own[0].is_new else _count([in_best(one.judged.names, one.name, 2) for one in own]),
                _count([one.right_family for one in own]),
                _count([one.about["is_new"] for one in own]),
                ", ".join(names),
            )
        )
    return table(_HEADS, rows)


def _count(flags: Sequence[bool]) -> str:
    return f"{sum(flags)}"


def _names_of(own: Sequence[Seen]) -> Any:
    said = [one.judged.best for one in own]
    return lambda name: (-said.count(name), name)


def _title(about: Mapping[str, Any]) -> str:
    queue = _queue(about)
    assert queue is not None  # noqa: S101 (a probe of these worlds)
    return queue.title


def truths_of(about: Mapping[str, Any]) -> dict[str, float] | None:
    """Return the parameters of a queue that is said in the words of `tc` or of ns-3; None for one of a scenario."""
    queue = _queue(about)
    return None if queue is None else queue.truths


def _queue(about: Mapping[str, Any]) -> linux_queues.LinuxQueue | ns3.Ns3Queue | None:
    number = int(about["number"])
    if "tc" in about["queue"]:
        return linux_queues.QUEUES[number % len(linux_queues.QUEUES)]
    return ns3.QUEUES[number % len(ns3.QUEUES)] if "ns3" in about["queue"] else None
