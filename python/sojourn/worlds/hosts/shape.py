"""The scenario's bottleneck on this host's own interface toward the peer, where somebody asks for it.

What takes privileges is listed before it is done, is done by a process of its own (`shaping`), and is undone by that
process with the run, however the run ends.
"""

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import children
from sojourn.reading import input_error
from sojourn.spelling import spelled
from sojourn.worlds.hosts import shaping
from sojourn.worlds.linux.errors import TestbedError
from sojourn.worlds.linux.inside.job import is_unknown
from sojourn.worlds.linux.inside.namespace import CommandError, run
from sojourn.worlds.linux.kept import Kept
from sojourn.worlds.linux.places import keeper_folder
from sojourn.worlds.linux.plan.check import bottleneck, refused
from sojourn.worlds.linux.plan.express import Refusal
from sojourn.worlds.linux.plan.shaping import How
from sojourn.worlds.linux.plan.shaping import bottleneck as bottleneck_lines

OPTION = "--shape"
_LOOPBACK = "lo"
_LOOK_EVERY_S = 0.05
_UNDONE_S = 10.0
# TBF cuts large packets of the sender's offloads into what the link would carry.
_HOW = How("tbf", exact_timers=False)

Tell = Callable[[str], None]
"""Takes a line for whoever watches."""


@dataclass(frozen=True)
class Shape:
    """What is to be done to an interface."""

    interface: str
    lines: list[str]
    """For `tc -batch`."""
    modules: list[str]
    """What the kernel must have for them."""

    def steps(self) -> list[str]:
        """Return all that takes privileges, as commands."""
        return [*(f"tc {line}" for line in self.lines), shaping.undo_command(self.interface)]

    @property
    def remark(self) -> str:
        """What a record says of it."""
        return (
            f"the scenario's bottleneck was set on {self.interface} of this host, for all that leaves by it; the path "
            "took the place of all else that the scenario says of links and round-trip times; no packet was captured. "
            "Linux keeps what its TCP has waiting on the sender's own host small, so that it cannot fill this queue as "
            "it would a router's"
        )


def shape(interface: str, peer: str, scenario: Mapping[str, Any]) -> Shape:
    """Say what makes the way to a peer's address the scenario's bottleneck; raises InputError."""
    if interface == _LOOPBACK:
        raise _wrong(interface, "loopback carries what this machine's programs say to each other; it is not shaped")
    try:
        shaping.check(interface)
    except (CommandError, shaping.InUseError) as error:
        raise _wrong(interface, str(error)) from None
    way = _way(peer)
    if way != interface:
        raise _wrong(interface, f"packets to {peer} leave by {way}" if way else f"there is no route to {peer}")
    link, queue = bottleneck(scenario)
    if queue.name == "drr":
        raise refused([Refusal("bottleneck.queue.kind", "drr", "what sorts flows by itself", who=OPTION)])
    lines = bottleneck_lines(interface, _HOW, queue, link, [], root=shaping.HANDLE)
    return Shape(interface, lines, [f"sch_{_HOW.shaper}", *([queue.module] if queue.module else [])])


def for_peer(interface: str, host: str, scenario: Mapping[str, Any]) -> Shape:
    """Do the same for a peer's name or address; raises InputError."""
    try:
        return shape(interface, socket.gethostbyname(host), scenario)
    except OSError as error:
        raise input_error(
            f"{spelled('peer', host)} has no IPv4 address ({error.strerror})", key="peer", found=host
        ) from None


@contextmanager
def shaped(wanted: Shape, tell: Tell) -> Iterator[None]:
    """Have an interface shaped for a while; raises TestbedError."""
    if os.geteuid() != 0:
        raise TestbedError(
            f"{OPTION} {wanted.interface}: this takes root (CAP_NET_ADMIN), or be root in your own network"
        )
    for step in wanted.steps()[:-1]:
        tell(f"{OPTION}: {step}")
    with keeper_folder() as folder:
        told = {"interface": wanted.interface, "lines": wanted.lines}
        (folder / shaping.STEPS).write_text(json.dumps(told), encoding="utf-8")
        command = children.module(shaping.__name__, str(folder))
        # Whichever of the three is killed, one that lives undoes it: the holder, its keeper, or this process.
        after = children.module(shaping.__name__, shaping.UNDO, wanted.interface)
        with _undone_here(wanted, tell), Kept(folder, command, signal.SIGTERM, after=after) as kept:
            _await(wanted, folder / shaping.STATE, kept)
            yield
            if not shaping.is_set(wanted.interface):
                raise TestbedError(f"{wanted.interface} lost its bottleneck during the run: what held it was ended")
    tell(f"{OPTION}, undone: {wanted.steps()[-1]}")


@contextmanager
def _undone_here(wanted: Shape, tell: Tell) -> Iterator[None]:
    """Undo here what the holder and its keeper have left, because they were killed; raises TestbedError."""
    try:
        yield
    finally:
        until = time.monotonic() + _UNDONE_S
        while shaping.is_set(wanted.interface) and time.monotonic() < until:
            # A holder whose keeper was killed may be at it.
            if shaping.remove_from(wanted.interface):
                tell(f"{OPTION}: what held the bottleneck was killed; it was taken away all the same")
            else:
                time.sleep(_LOOK_EVERY_S)
    if shaping.is_set(wanted.interface):
        raise TestbedError(f"{wanted.interface} is still shaped; to undo it: {shaping.undo_command(wanted.interface)}")


def _await(wanted: Shape, state: Path, kept: Kept) -> None:
    """Wait until it is done; raises TestbedError."""
    while not state.exists() and not kept.ended(_LOOK_EVERY_S):
        pass
    error = json.loads(state.read_text(encoding="utf-8"))["error"] if state.exists() else "its process was ended"
    if error is not None:
        advice = f". It needs {', '.join(wanted.modules)} in this host's kernel" if is_unknown(error) else ""
        raise TestbedError(f"{OPTION} {wanted.interface}: {error}{advice}")


def _way(peer: str) -> str | None:
    """Return the interface by which packets leave for an address."""
    try:
        (route,) = json.loads(run("ip", "-j", "route", "get", peer))
    except (CommandError, ValueError):
        return None
    return str(route["dev"])


def _wrong(interface: str, text: str) -> Exception:
    return input_error(f"{OPTION} {interface}: {text}", key=OPTION, found=interface)
