"""The ready scenarios in groups, by what a reader wants to see."""

from collections.abc import Mapping, Sequence

from sojourn.registry import ReadyScenario, catalogue

OTHERS = "Others"
"""The group of a scenario that has no place in `GROUPS`."""

GROUPS: Mapping[str, Sequence[str]] = {
    "Delay and low priority": (
        "first",
        "motivating-droptail",
        "motivating-red",
        "motivating-sfq",
        "controlled-delay",
        "low-priority",
        "scavengers",
        "late-comers",
    ),
    "Calls, video and pages": (
        "backups-beside-calls",
        "voip-under-load",
        "video",
        "web-pages",
        "short-transfers",
        "traffic-mix",
    ),
    "Home links": (
        "fair-queueing",
        "cake-lower-effort",
        "host-fairness",
        "gateway-and-modem",
        "leo-gateway",
        "rrul",
        "access-link",
        "adsl-two-way",
        "noisy-line",
        "cable-modem",
        "cable-upstream",
        "slow-uplink",
        "padding",
    ),
    "WiFi and mobile networks": (
        "wifi-home",
        "wifi-anomaly",
        "wifi-uploads",
        "wifi-selected-rates",
        "cellular",
        "lte-gateway",
        "lte-own-download",
        "lte-neighbour-download",
        "5g-uploads",
        "jitter-and-loss",
    ),
    "Networks": ("parking-lot", "home-network", "home-wifi", "access-concentrator"),
    "Changing load": ("on-off", "load-step", "self-tuning-red", "learned-marking", "sudden-changes"),
    "Senders that do not slow down": ("unresponsive", "stochastic-fair-blue", "overload", "heavy-hitters"),
    "Classes and weights": (
        "four-classes",
        "drop-precedence",
        "weighted-shares",
        "turns-of-packets",
        "packet-sizes",
        "shortest-first",
    ),
    "Marks instead of losses (ECN)": ("step-marking", "early-marking", "l4s"),
    "Congestion controls side by side": (
        "bbr-beside-newreno",
        "bbr3-and-cubic",
        "delay-based",
        "loss-tolerance",
        "long-fat-path",
    ),
}


def grouped() -> dict[str, list[ReadyScenario]]:
    """Return the ready scenarios group by group; those without a group come last.

    >>> next(iter(grouped()["Delay and low priority"]))["name"]
    'first'
    """
    known = {one["name"]: one for one in catalogue()["scenarios"]}
    found = {title: [known.pop(name) for name in names if name in known] for title, names in GROUPS.items()}
    return {title: members for title, members in {**found, OTHERS: list(known.values())}.items() if members}
