"""The laws of queue disciplines, congestion controls, traffic and shapers' controllers, as experiments."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn import _native
from sojourn.api import Scenario, scenario
from sojourn.data.statistics import statistic
from sojourn.reading import unknown_name
from sojourn.registry import catalogue

QUEUE, CONTROL, TRAFFIC, SHAPER = "queue", "control", "traffic", "shaper"
SEEDS = 3
RATE_MBPS = 10.0
FULL_PACKET_BYTES = 1500
# A lone flow on an empty link with a buffer of the bandwidth-delay product should use most of it; a control that is
# only polite, or broken, does not.
MIN_ALONE = 0.8
# Four like flows over a minute: Jain's index of NewReno is above this under every discipline here.
MIN_JAIN = 0.8
# A discipline must not leave the link idle while packets wait; four CUBIC flows keep a sound one this busy.
MIN_BUSY = 0.9
# A controller whose base rate is 80 % of a line that stays should get most of that for a pair of uploads.
MIN_FOLLOWED = 0.6
# Where the line falls to less than the base rate, a shaper that does not follow it lets a buffer of 500 ms fill.
MAX_MODEM_MS = 50.0


@dataclass(frozen=True)
class Law:
    """A law, and whether it holds."""

    name: str
    holds: bool
    found: str
    """What was measured, with the bound, or how it failed."""


def kind_of(name: str) -> str:
    """Return "queue", "control", "traffic" or "shaper"; raises InputError for what is none of these."""
    known = catalogue()
    families = {
        QUEUE: [entry["name"] for entry in known["queues"]],
        CONTROL: [entry["name"] for entry in known["controls"]],
        TRAFFIC: [entry["name"] for entry in known["traffic"] if entry["origin"]],
        SHAPER: [entry["name"] for entry in known["shapers"]],
    }
    for kind, names in families.items():
        if name in names:
            return kind
    every = [one for names in families.values() for one in names]
    what = "no queue discipline, congestion control, traffic of your own or shaper's controller is called"
    raise unknown_name(what, name, every)


def is_low_priority(name: str) -> bool:
    """Tell whether a congestion control says of itself that it gives way to best effort."""
    return any(entry["name"] == name and entry["low_priority"] for entry in catalogue()["controls"])


def laws(name: str) -> list[Law]:
    """Check the laws of the kind that `name` is of; a few seconds.

    The engine itself checks in every run that no packet is lost from the count and that windows are numbers: a plug-in
    that breaks this shows as a law that does not hold, with its message.
    """
    of_kind = {QUEUE: _QUEUE_LAWS, CONTROL: _CONTROL_LAWS, TRAFFIC: _TRAFFIC_LAWS, SHAPER: _SHAPER_LAWS}
    return [_checked(text, check, name) for text, check in of_kind[kind_of(name)]]


def _checked(text: str, check: "Check", name: str) -> Law:
    try:
        holds, found = check(name)
    except (_native.PluginError, _native.InputError) as error:
        return Law(text, holds=False, found=str(error))
    return Law(text, holds, found)


Check = Callable[[str], tuple[bool, str]]


def lab(queue: Any, groups: Mapping[str, Mapping[str, Any]], **changes: Any) -> Scenario:
    """Return a link of 10 Mbit/s with a queue and groups of flows, each with a base RTT of 40 ms."""
    keys: dict[str, Any] = {
        "duration": "30 s",
        "warmup": "5 s",
        "bottleneck": {"rate": f"{RATE_MBPS:g} Mbit/s", "queue": queue},
        "group": [{"name": group, "rtt": "40 ms", **table} for group, table in groups.items()],
    }
    return scenario({**keys, **changes})


def droptail(packets: int) -> dict[str, str]:
    """Return a DropTail queue of so many packets."""
    return {"kind": "droptail", "limit": f"{packets} packets"}


DISCIPLINES: dict[str, Any] = {
    "droptail": droptail(100),
    "red": {"kind": "red", "limit": "100 packets"},
    "codel": "codel",
    "pie": "pie",
    "fq_codel": "fq_codel",
    "cake": "cake",
}
"""The disciplines beside which, or under which, an algorithm is tried."""


def _records(lab: Scenario, seeds: int = SEEDS) -> list[Mapping[str, Any]]:
    return [{key: value for key, value in run.items() if key != "wall_s"} for run in lab.run(runs=seeds).runs]


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of one number over runs, where there is one."""
    return statistic(list(values))["mean"]


def _deterministic_control(name: str) -> tuple[bool, str]:
    return _same(lab(droptail(50), {"a": {"control": name, "flows": 2}}))


def _deterministic_queue(name: str) -> tuple[bool, str]:
    return _same(lab(name, {"a": {"control": "cubic", "flows": 2}}))


def _same(lab: Scenario) -> tuple[bool, str]:
    first, again = _records(lab, 1), _records(lab, 1)
    return first == again, "the same record twice" if first == again else "two runs of one seed differ"


def _alone(name: str) -> tuple[bool, str]:
    used = mean(
        run["bottleneck"]["utilization"]
        for run in _records(lab(droptail(34), {"a": {"control": name}}, duration="60 s"))
    )
    return used is not None and used >= MIN_ALONE, f"utilization {percent(used)}, at least {percent(MIN_ALONE)}"


def _fair(name: str) -> tuple[bool, str]:
    groups = {"a": {"control": name, "flows": 4, "start": {"uniform": ["0 s", "1 s"]}}}
    jain = mean(run["jain_all"] for run in _records(lab(droptail(50), groups, duration="60 s")))
    return jain is not None and jain >= MIN_JAIN, f"Jain's index of 4 flows {number(jain)}, at least {MIN_JAIN:g}"


def _clock(name: str) -> tuple[bool, str]:
    """Check that an offset between the hosts' clocks changes nothing."""
    group = {"control": name, "flows": 2}
    near = _records(lab(droptail(50), {"a": group}), 1)
    far = _records(lab(droptail(50), {"a": {**group, "clock_offset": "1000 s"}}), 1)
    return near == far, "the same with clocks 1000 s apart" if near == far else "it differs with clocks 1000 s apart"


def _later(name: str) -> tuple[bool, str]:
    """Check that the same flow does the same 7 s later."""
    now = lab(droptail(50), {"a": {"control": name}}, duration="20 s", warmup="0 s")
    later = lab(droptail(50), {"a": {"control": name, "start": "7 s"}}, duration="27 s", warmup="7 s")
    first, second = (run["groups"]["a"]["goodput_mbps"] for lab in (now, later) for run in _records(lab, 1))
    return first == second, f"goodput {first:.4f} Mbit/s at once, {second:.4f} when started 7 s later"


def _survives(name: str) -> tuple[bool, str]:
    """Run through loss, reordering, a tiny buffer, and a link slower than a packet in a second."""
    hard: dict[str, dict[str, Any]] = {
        "30 % loss": {"bottleneck": {"rate": "10 Mbit/s", "loss": 0.3, "queue": droptail(50)}},
        "reordering": {
            "bottleneck": {
                "rate": "10 Mbit/s",
                "queue": droptail(50),
                "jitter": {"kind": "uniform", "max": "20 ms", "reorder": True},
            }
        },
        "a buffer of one packet": {"bottleneck": {"rate": "10 Mbit/s", "queue": droptail(1)}},
        "10 kbit/s": {"bottleneck": {"rate": "10 kbit/s", "queue": droptail(50)}},
    }
    for changes in hard.values():
        _records(lab(droptail(50), {"a": {"control": name, "flows": 2}}, **changes), 1)
    return True, f"ran through {', '.join(hard)}"


def _busy(name: str) -> tuple[bool, str]:
    used = mean(
        run["bottleneck"]["utilization"] for run in _records(lab(name, {"a": {"control": "cubic", "flows": 4}}))
    )
    return (
        used is not None and used >= MIN_BUSY,
        f"utilization {percent(used)} by 4 CUBIC flows, at least {percent(MIN_BUSY)}",
    )


def _passes_all(name: str) -> tuple[bool, str]:
    """Check that an evenly spaced load below capacity loses nothing."""
    cbr = {"traffic": {"kind": "cbr", "rate": "5 Mbit/s", "packet": f"{FULL_PACKET_BYTES} B"}}
    (run,) = _records(lab(name, {"a": cbr}), 1)
    drops = run["bottleneck"]["drops"]
    return drops == 0, f"{drops} drops of a stream of half the link's rate"


def _holds_under(name: str) -> tuple[bool, str]:
    """Check a discipline under overload, with many flows and small packets."""
    flood = {"traffic": {"kind": "cbr", "rate": "20 Mbit/s", "packet": f"{FULL_PACKET_BYTES} B"}}
    small = {"traffic": {"kind": "cbr", "rate": "1 Mbit/s", "packet": "64 B"}}
    many = {"control": "newreno", "flows": 50}
    (run,) = _records(lab(name, {"flood": flood, "small": small, "many": many}, duration="10 s"), 1)
    used = run["bottleneck"]["utilization"]
    return used >= MIN_BUSY, f"utilization {percent(used)} under overload, at least {percent(MIN_BUSY)}"


def of_traffic(name: str, **changes: Any) -> Scenario:
    """Return two flows of a kind of traffic over CUBIC, alone on the link from the start."""
    group = {"control": "cubic", "flows": 2, "traffic": name, "start": "0 s"}
    return lab(droptail(50), {"a": {**group, **changes.pop("group", {})}}, **{"warmup": "0 s", **changes})


def _deterministic_traffic(name: str) -> tuple[bool, str]:
    return _same(of_traffic(name))


def _sends(name: str) -> tuple[bool, str]:
    (run,) = _records(of_traffic(name, duration="60 s"), 1)
    mbps = run["groups"]["a"]["goodput_mbps"]
    return mbps > 0, f"goodput {mbps:.4f} Mbit/s of 2 flows in 60 s, more than 0"


def _later_traffic(name: str) -> tuple[bool, str]:
    now = of_traffic(name, duration="20 s")
    later = of_traffic(name, duration="27 s", warmup="7 s", group={"start": "7 s"})
    first, second = (run["groups"]["a"]["goodput_mbps"] for lab in (now, later) for run in _records(lab, 1))
    return first == second, f"goodput {first:.4f} Mbit/s at once, {second:.4f} when started 7 s later"


def _survives_traffic(name: str) -> tuple[bool, str]:
    hard: dict[str, dict[str, Any]] = {
        "30 % loss": {"bottleneck": {"rate": "10 Mbit/s", "loss": 0.3, "queue": droptail(50)}},
        "10 kbit/s": {"bottleneck": {"rate": "10 kbit/s", "queue": droptail(50)}},
        "a stop in the middle": {"group": {"stop": "10 s"}},
        "a start at the end": {"group": {"start": "29.99 s"}},
    }
    for changes in hard.values():
        _records(of_traffic(name, **changes), 1)
    return True, f"ran through {', '.join(hard)}"


def behind_gateway(controller: Any, modem: Mapping[str, Any] | None = None, **changes: Any) -> Scenario:
    """Return two uploads behind a gateway of 16 Mbit/s, whose modem sends at 20 Mbit/s and holds 500 ms."""
    line = {"rate": "20 Mbit/s", "queue": {"kind": "droptail", "limit": "500 ms"}, **(modem or {})}
    shaper = {"rate": "16 Mbit/s", "queue": {"kind": "cake", "bandwidth": "16 Mbit/s"}}
    pings = {
        "traffic": {"kind": "ping", "every": "300 ms"},
        "flows": 6,
        "start": [f"{50 * one} ms" for one in range(6)],
    }
    return lab(
        "droptail",
        {"reflectors": pings, "up": {"control": "cubic", "flows": 2}},
        **{
            "bottleneck": shaper,
            "reverse": shaper,
            "hop": [
                {"name": "modem", "at": "after", **line},
                {"name": "isp", "at": "before", "direction": "reverse", **line},
            ],
            "shaper": {"controller": controller, "pings": "reflectors"},
            **changes,
        },
    )


def _deterministic_shaper(name: str) -> tuple[bool, str]:
    return _same(behind_gateway(name))


def _follows_up(name: str) -> tuple[bool, str]:
    mbps = mean(run["groups"]["up"]["goodput_mbps"] for run in _records(behind_gateway(name)))
    used = None if mbps is None else mbps / 16
    bound = f"at least {percent(MIN_FOLLOWED)}"
    return used is not None and used >= MIN_FOLLOWED, f"goodput {percent(used)} of the base rate, {bound}"


def _follows_down(name: str) -> tuple[bool, str]:
    """Check that the modem's buffer is empty again, 10 s after the line has become slower than the base rate."""
    change = [{"at": "20 s", "hop": [{"name": "modem", "rate": "8 Mbit/s"}]}]
    phase = [{"name": "slow", "from": "30 s", "to": "60 s"}]
    runs = _records(behind_gateway(name, duration="60 s", change=change, phase=phase))
    waited = mean(run["phases"]["slow"]["hops"]["modem"]["queue_ms"]["mean"] for run in runs)
    found = f"{number(waited)} ms in the modem on average, at most {MAX_MODEM_MS:g}"
    return waited is not None and waited <= MAX_MODEM_MS, found


def _survives_line(name: str) -> tuple[bool, str]:
    silent = [
        {"at": "10 s", "hop": [{"name": "modem", "loss": 1.0}]},
        {"at": "15 s", "hop": [{"name": "modem", "loss": 0.0}]},
    ]
    hard: dict[str, Scenario] = {
        "a line that is down for 5 s": behind_gateway(name, change=silent),
        "30 % loss": behind_gateway(name, {"loss": 0.3}),
        "jitter of 100 ms": behind_gateway(name, {"jitter": "100 ms"}),
        "10 kbit/s": behind_gateway(name, {"rate": "10 kbit/s", "queue": droptail(50)}),
        "steps 2 s apart": behind_gateway(name, shaper={"controller": name, "pings": "reflectors", "interval": "2 s"}),
    }
    for one in hard.values():
        _records(one, 1)
    return True, f"ran through {', '.join(hard)}"


def percent(value: float | None) -> str:
    """Return a part of one as text."""
    return "unknown" if value is None else f"{100 * value:.1f} %"


def number(value: float | None) -> str:
    """Return a number as text."""
    return "unknown" if value is None else f"{value:.3f}"


_CONTROL_LAWS: tuple[tuple[str, Check], ...] = (
    ("The same seed gives the same run", _deterministic_control),
    ("It survives loss, reordering, tiny buffers and slow links", _survives),
    ("A lone flow uses the link", _alone),
    ("Equal flows share", _fair),
    ("An offset between the hosts' clocks changes nothing", _clock),
    ("The time of the start changes nothing", _later),
)
_QUEUE_LAWS: tuple[tuple[str, Check], ...] = (
    ("The same seed gives the same run", _deterministic_queue),
    ("A load below the link's rate loses nothing", _passes_all),
    ("The link is busy while packets wait", _busy),
    ("It holds under overload, many flows and small packets", _holds_under),
)
_TRAFFIC_LAWS: tuple[tuple[str, Check], ...] = (
    ("The same seed gives the same run", _deterministic_traffic),
    ("It sends something within a minute", _sends),
    ("The time of the start changes nothing", _later_traffic),
    ("It survives loss, a slow link, a stop and a late start", _survives_traffic),
)
_SHAPER_LAWS: tuple[tuple[str, Check], ...] = (
    ("The same seed gives the same run", _deterministic_shaper),
    ("Uploads use a line that stays as it is", _follows_up),
    ("It follows a line that becomes slower", _follows_down),
    ("It survives silence, loss, jitter, a slow line and rare steps", _survives_line),
)
