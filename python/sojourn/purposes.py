"""What a scenario is compared for: calls, pages or background traffic; and the columns that show it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn.reading import input_error
from sojourn.report import Shown
from sojourn.resolved import titles
from sojourn.spelling import spelled

if TYPE_CHECKING:
    from sojourn.result import Result

LOW_PRIORITY_CONTROLS = ("ledbat", "fledbat", "ledbatpp", "libutp", "nice", "tcp_lp", "cdg")
LOW_PRIORITY_DSCPS = ("le", "cs1")
"""RFC 8622, and RFC 3662 before it."""


@dataclass(frozen=True)
class Column:
    """A metric that a comparison shows, and which of its values is best."""

    shown: Shown
    best: Callable[[Iterable[float]], float] | None = None
    """`min` or `max`; None where neither end is better."""
    group: str = ""
    """The group whose metric it is; empty for the bottleneck's."""


_LINK_COLUMNS = (
    Column(Shown("queue [ms]", "bottleneck_queue_ms_mean"), min),
    Column(Shown("queue p99 [ms]", "bottleneck_queue_ms_p99"), min),
    Column(Shown("utilization [%]", "bottleneck_utilization", 100, 1), max),
)
_MOS = Column(Shown("MOS", "voip_mos"), max)
_CALL_DELAY = Column(Shown("one-way delay p99 [ms]", "voip_delay_ms_p99"), min)
_PAGE = Column(Shown("page [ms]", "page_ms_mean"), min)
_SHARE = Column(Shown("share [%]", "share", 100, 1))
_OF_TRAFFIC = {
    "voip": (_MOS, _CALL_DELAY),
    "web": (_PAGE,),
    "transfers": (Column(Shown("completion [ms]", "fct_ms_mean"), min),),
    "messages": (Column(Shown("message p99 [ms]", "fct_ms_p99"), min),),
    "video": (
        Column(Shown("video [Mbit/s]", "video_rate_mbps"), max),
        Column(Shown("stalls [s]", "video_stall_s"), min),
    ),
    "program": (
        Column(Shown("goodput [Mbit/s]", "goodput_mbps")),
        Column(Shown("queue p99 [ms]", "queue_ms_p99"), min),
    ),
    "bulk": (_SHARE, Column(Shown("goodput [Mbit/s]", "goodput_mbps"))),
}


@dataclass(frozen=True)
class Purpose:
    """What somebody wants of a link."""

    name: str
    """What follows `--for`."""
    needs: str
    """What a scenario must have for it."""
    has: Callable[[Mapping[str, Any]], bool]
    """Whether a group of a scenario is what it is about."""
    column: Column
    """What decides. Where variants show the same, the bottleneck's delay does."""
    over_groups: Callable[[Iterable[float]], float]
    """How the values of several groups become one."""
    best_of_all: str
    """What the best variant does, as the end of a sentence about it."""
    bound: float | None = None
    """From which value of the column on, or up to which, it is good; None where no source says so."""
    bound_text: str = ""
    """The same in words, with its source."""

    def groups(self, scenarios: Iterable[Mapping[str, Any]]) -> list[str]:
        """Return the groups that it is about: those that any of the scenarios has."""
        return list(
            dict.fromkeys(group["name"] for scenario in scenarios for group in scenario["group"] if self.has(group))
        )

    def value(self, result: "Result", groups: Sequence[str]) -> float | None:
        """Return what a variant reaches, as precisely as it is shown; None where a group has no value."""
        found = [result.summary.get(f"{self.column.shown.metric}.{group}") for group in groups]
        known = [one["mean"] for one in found if one is not None and one["mean"] is not None]
        if not known or len(known) < len(groups):
            return None
        return float(self.column.shown.number(self.over_groups(known)))

    def key(self, result: "Result", groups: Sequence[str]) -> tuple[float, float]:
        """Return what sorts variants, the best first; those without a value are last."""
        value = self.value(result, groups)
        delay = result.summary["bottleneck_queue_ms_mean"]["mean"]
        worst = float("inf")
        sign = -1 if self.column.best is max else 1
        return worst if value is None else sign * value, worst if delay is None else delay


def is_background(group: Mapping[str, Any]) -> bool:
    """Return whether a group has low priority: by its congestion control, or by its mark.

    >>> is_background({"control": {"kind": "ledbat"}}), is_background({"control": {"kind": "cubic"}, "dscp": "le"})
    (True, True)
    """
    return group.get("control", {}).get("kind") in LOW_PRIORITY_CONTROLS or group.get("dscp") in LOW_PRIORITY_DSCPS


def is_of_line(group: str) -> bool:
    """Return whether a group is what else the home of an access line does.

    >>> is_of_line("line-film"), is_of_line("uploads")
    (True, False)
    """
    return group.startswith("line-")


def _sends(kind: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda group: group["traffic"]["kind"] == kind


PURPOSES = {
    one.name: one
    for one in (
        Purpose(
            "calls",
            'a group with traffic "voip"',
            _sends("voip"),
            _MOS,
            min,
            "has the best calls",
            4.03,
            "a MOS of at least 4.03 for each call, an R of 80, with which users are satisfied (ITU-T G.107, annex B)",
        ),
        Purpose("pages", 'a group with traffic "web"', _sends("web"), _PAGE, max, "has the fastest pages"),
        Purpose(
            "background",
            f"a group with a low-priority control ({', '.join(LOW_PRIORITY_CONTROLS)}) or the mark le or cs1",
            is_background,
            Column(_SHARE.shown, min),
            sum,
            "gives background traffic the smallest share",
            0.1,
            "a share of at most 10 % for background traffic",
        ),
    )
}


def find(name: str, scenarios: Sequence[Mapping[str, Any]]) -> Purpose:
    """Return a purpose by its name; raises InputError where no group of the scenarios is what it is about."""
    purpose = PURPOSES[name]
    if not purpose.groups(scenarios):
        names = ", ".join(group["name"] for group in scenarios[0]["group"])
        message = f"{spelled('for', name, python='purpose')} needs {purpose.needs}; found the groups {names}"
        raise input_error(message, key="purpose", found=names, allowed=purpose.needs)
    return purpose


def usual(scenarios: Sequence[Mapping[str, Any]]) -> Purpose | None:
    """Return the first purpose that the scenarios have groups for."""
    return next((purpose for purpose in PURPOSES.values() if purpose.groups(scenarios)), None)


def columns(scenario: Mapping[str, Any], first: Sequence[str] = ()) -> list[Column]:
    """Return what is worth comparing of a scenario: metrics of what its groups send, then of the bottleneck.

    The columns of the groups in `first` are in front; then those of bulk traffic come last.
    """
    groups = sorted(
        scenario["group"], key=lambda group: (group["name"] not in first, group["traffic"]["kind"] == "bulk")
    )
    shown = titles(scenario)
    found = [
        _of_group(group["name"], shown[group["name"]], one)
        for group in groups
        for one in _OF_TRAFFIC.get(group["traffic"]["kind"], ())
    ]
    queues = [Column(Shown(f"{hop['name']}: queue [ms]", queue_of(hop)), min) for hop in scenario.get("hop", [])]
    return [*found, *_LINK_COLUMNS, *queues]


def queue_of(hop: Mapping[str, Any]) -> str:
    """Return the metric that has the mean queueing delay of a hop, in ms."""
    return f"hops_{hop['name']}_queue_ms_mean"


def queues_of_path(scenario: Mapping[str, Any]) -> list[str]:
    """Return the metrics whose sum is the mean queueing delay of the forward path, in ms.

    >>> queues_of_path({"hop": [{"name": "gateway", "direction": "forward"}, {"name": "back", "direction": "reverse"}]})
    ['bottleneck_queue_ms_mean', 'hops_gateway_queue_ms_mean']
    """
    hops = [queue_of(hop) for hop in scenario.get("hop", []) if hop.get("direction", "forward") == "forward"]
    return ["bottleneck_queue_ms_mean", *hops]


def _of_group(name: str, title: str, column: Column) -> Column:
    shown = column.shown
    return Column(
        Shown(f"{title}: {shown.label}", f"{shown.metric}.{name}", shown.scale, shown.decimals), column.best, name
    )
