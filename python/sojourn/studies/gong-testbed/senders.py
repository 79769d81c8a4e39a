"""Senders as they are on the kernel, for simulations of the testbed."""

from collections.abc import Callable, Mapping
from typing import Any

# The ticks of user-mode Linux, which its TCP's timers wait for.
_TICK = {"timer_tick": "10 ms"}
# Controls that are programs on the kernel, and bring their timers: libutp, and the project's own code over UDP.
_OWN_TIMERS = {"libutp": "libutp", "ledbat": "linux"}
START = {"uniform": ["0 s", "0.1 s"]}
# What ping sends: 56 bytes of data, 8 of ICMP, 20 of IP, five times a second.
_PING = {
    "name": "ping",
    "transport": "linux",
    "flows": 1,
    "rtt": "30 ms",
    "traffic": {"kind": "cbr", "rate": "3360 bit/s", "packet": "84 B"},
}
# The testbed's wire, and what the card of a host takes and gives at once where it cuts and joins segments.
_OFFLOAD = {"access_rate": "100 Mbit/s", "host": {"kind": "linux", "burst": 45, "receive_offload": "50 us"}}


def groups(
    made: Mapping[str, Any],
    flows: int,
    start: Callable[[str], Any] = lambda name: START,
    *,
    bounded: Mapping[str, Any] | None = None,
    offloaded: bool = False,
) -> list[dict[str, Any]]:
    """Return both groups as they are on the kernel, and the ping, which there is always one.

    `start` says when a group's flows start, `bounded` is more of their transport. Offloads are TCP's: libutp sends
    datagrams.
    """
    control = made["group.background.control"]
    transport = made.get("group.background.transport", {"preset": "linux"}) | _TICK
    own = {"preset": _OWN_TIMERS[control]} if isinstance(control, str) else transport
    background = {
        "control": control,
        "transport": {**own, **(bounded or {})},
        **({"dscp": made["group.background.dscp"]} if "group.background.dscp" in made else {}),
        **(_OFFLOAD if offloaded and not isinstance(control, str) else {}),
    }
    tcp = {
        "control": {"kind": "newreno", "preset": "linux"},
        "transport": {"preset": "linux", **_TICK, **(bounded or {})},
        **(_OFFLOAD if offloaded else {}),
    }
    both = {"tcp": tcp, "background": background}
    return [
        *({"name": name, "flows": flows, "rtt": "30 ms", "start": start(name)} | own for name, own in both.items()),
        _PING,
    ]
