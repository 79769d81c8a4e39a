"""What of a scenario Linux can have: everything that it cannot is refused at once, with what would fit."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn import _native, networks, plugins
from sojourn.resolved import amount
from sojourn.spelling import spelled_overrides
from sojourn.worlds.linux.plan import access, express
from sojourn.worlds.linux.plan.changes import State, Step, step
from sojourn.worlds.linux.plan.changes import refusals as step_refusals
from sojourn.worlds.linux.plan.express import Expressed, LinkFacts, Refusal
from sojourn.worlds.linux.plan.flows import distinct, paths, routes_of, seconds
from sojourn.worlds.linux.plan.graph import MOST_LINKS
from sojourn.worlds.linux.plan.row import MOST_HOPS
from sojourn.worlds.linux.plan.shaping import MAX_DELAYS

_MAX_PATHS = 120
_TCP_TRAFFIC = ("bulk", "on-off", "transfers")
_DATAGRAMS = ("cbr", "train", "voip", "padding")
_UTP_TRAFFIC = ("bulk",)
_TOP_KEYS = (
    *("name", "duration", "warmup", "seed", "runs", "plugins"),
    *("bottleneck", "reverse", "hop", "group", "change"),
)
_LINK_KEYS = ("rate", "trace", "delay", "jitter", "loss", "queue", "from", "to")
_HOP_KEYS = ("name", "at", "direction")
_GROUP_KEYS = (
    *("name", "title", "flows", "rtt", "control", "transport", "traffic", "start", "stop", "direction", "dscp"),
    *("hosts", "receiver_hosts", "clock_offset", "clock_skew_ppm", "from", "to", "path", "back"),
)
# Of hosts that the testbed makes itself.
_HOST_KEYS = ("access_rate", "host")
UDP, TCP, CBR, UTP = "udp", "tcp", "cbr", "utp"


@dataclass(frozen=True)
class Fit:
    """A scenario said to Linux."""

    links: Mapping[str, State]
    """Each link at the start of the run, by its name."""
    how: Mapping[str, tuple[str, Any]]
    """For each group the kind of its endpoints and what they are told of the control."""
    modules: Sequence[str]
    remarks: Sequence[str]
    steps: Sequence[Step] = ()
    """How the links change while the run goes on."""
    sysctl: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """How the hosts' kernels are switched."""


def fit(scenario: Mapping[str, Any]) -> Fit:
    """Say a resolved scenario to Linux; raises InputError with all that does not fit."""
    if too_many := list(_sizes(scenario)):
        # What else such a scenario has would be said for each of its links.
        raise refused(too_many)
    refusals = [
        *_shape(scenario),
        *(one for group in scenario["group"] for one in group_refusals(group, _HOST_KEYS)),
    ]
    for group in scenario["group"]:
        refusals += access.refusals(group, f"group.{group['name']}", is_tcp=endpoint_kind(group) == TCP)
    packet_bytes = max(_packet_bytes(group["transport"]) for group in scenario["group"])
    said: dict[str, State] = {}
    for name, (path, table) in links(scenario).items():
        link = _link(table, path, packet_bytes)
        if isinstance(link, list):
            refusals += link
        else:
            said[name] = State(table, *link)
    steps: list[Step] = []
    if not refusals:
        steps, refusals = _steps(scenario, dict(said), packet_bytes)
    if not refusals:
        refusals = list(_one_kernel(scenario))
    if refusals:
        raise refused(refusals)
    how = {group["name"]: carried(group) for group in scenario["group"]}
    tops = [state.queue for state in said.values()] + [one.after.queue for one in steps]
    queues = [one for top in tops for one in (top, *(each.queue for each in top.classes))]
    controls = [express.control(group["control"], "") for group in scenario["group"] if endpoint_kind(group) == TCP]
    named = {one.module for one in [*queues, *controls] if isinstance(one, Expressed) and one.module}
    modules = sorted(named | access.modules(scenario))
    remarks = [f"{one.name}: {remark}" for one in queues for remark in one.remarks]
    said_of_tcp = [express.switches(group["transport"]) for group in _of_tcp(scenario)]
    sysctl = dict(word.split("=") for switches in said_of_tcp for words in switches.values() for word in words.split())
    return Fit(said, how, modules, list(dict.fromkeys(remarks)), steps, sysctl)


def _of_tcp(scenario: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [group for group in scenario["group"] if endpoint_kind(group) == TCP]


def _one_kernel(scenario: Mapping[str, Any]) -> Iterable[Refusal]:
    """Refuse groups that want the kernel switched differently: all senders share one, and all receivers."""
    groups = _of_tcp(scenario)
    for group in groups[1:]:
        key, whose = f"group.{group['name']}.transport", f"group {groups[0]['name']}"
        yield from express.switched(group["transport"], key, express.switches(groups[0]["transport"]), whose)


def _steps(
    scenario: Mapping[str, Any], states: dict[str, State], packet_bytes: int
) -> tuple[list[Step], list[Refusal]]:
    """Say the changes of a run to Linux, of links that are in these states at its start; or what does not fit."""
    steps: list[Step] = []
    refusals = list(_of_groups(scenario))
    for number, (path, change) in enumerate(_changes(scenario)):
        for name, (place, part) in links(change).items():
            key, before = f"{path}.{place}", states[name]
            refusals += _strangers(part, f"{key}.", (*_LINK_KEYS, "name"))
            kept = {name: value for name, value in before.table.items() if not ("trace" in part and name == "rate")}
            link = _link({**kept, **part}, key, packet_bytes)
            if isinstance(link, list):
                refusals += link
                continue
            made = step(seconds(change["at"]), number, name, part, before, State({**kept, **part}, *link))
            refusals += step_refusals(made, key)
            steps.append(made)
            states[name] = made.after
    return steps, refusals


def links(table: Mapping[str, Any]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return the links that a scenario or a change names: by name, how the file addresses each and what it says."""
    main = {key: (key, table[key]) for key in ("bottleneck", "reverse") if key in table}
    return {**main, **{hop["name"]: (f"hop.{hop['name']}", hop) for hop in table.get("hop", [])}}


def bottleneck(scenario: Mapping[str, Any]) -> tuple[LinkFacts, Expressed]:
    """Say a resolved scenario's bottleneck alone; raises InputError."""
    packet_bytes = max(_packet_bytes(group["transport"]) for group in scenario["group"])
    said = _link(scenario["bottleneck"], "bottleneck", packet_bytes)
    refusals = said if isinstance(said, list) else []
    for path, _ in _changes(scenario):
        refusals.append(Refusal(path, "a change", "a link that stays as it is", who="a shaped path between two hosts"))
    if isinstance(said, list) or refusals:
        raise refused(refusals)
    return said


def check_sockets(scenario: Mapping[str, Any]) -> None:
    """Raise InputError for flows of a resolved scenario that no real socket can have."""
    networks.check_chain(scenario, "a path between hosts")
    refusals = [one for group in scenario["group"] for one in group_refusals(group)]
    refusals += _of_groups(scenario)
    if not refusals:
        own, whose = express.switches_of_linux(), "preset linux: nobody switches a host's own kernel"
        for group in _of_tcp(scenario):
            refusals += express.switched(group["transport"], f"group.{group['name']}.transport", own, whose)
    if refusals:
        raise refused(refusals)


def _of_groups(scenario: Mapping[str, Any]) -> Iterable[Refusal]:
    """Refuse changes of groups: a kernel has one set of parameters for all connections, and one path for each."""
    for path, change in _changes(scenario):
        if "group" in change:
            found = "another control or round-trip time of running flows"
            yield Refusal(f"{path}.group", found, "changes of links", who="the testbed")


def _changes(scenario: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for number, change in enumerate(scenario.get("change", [])):
        yield f"change.{change.get('name', number)}", change


def refused(refusals: Sequence[Refusal]) -> _native.InputError:
    """Make the error that names them all, and the overrides that would help."""
    hints = list(dict.fromkeys(one.hint for one in refusals if one.hint))
    advice = f"\nwith Linux's own rules: {spelled_overrides(hints)}" if hints else ""
    error = _native.InputError("\n".join(map(str, refusals)) + advice)
    error.diagnostics = [
        {
            "file": None,
            "line": None,
            "key": one.key,
            "found": one.found,
            "allowed": one.allowed,
            "nearest": None,
            "message": str(one),
        }
        for one in refusals
    ]
    return error


def _strangers(table: Mapping[str, Any], path: str, known: Iterable[str]) -> Iterable[Refusal]:
    """Refuse keys that the testbed does nothing for: a scenario is never run without a part of it."""
    for key in table:
        if key not in known:
            yield Refusal(f"{path}{key}", _short(table[key]), "nothing of the kind", who="the testbed")


def _short(value: Any) -> str:
    return str(value["kind"]) if isinstance(value, Mapping) and "kind" in value else str(value)


def _shape(scenario: Mapping[str, Any]) -> Iterable[Refusal]:
    yield from _strangers(scenario, "", _TOP_KEYS)
    for key in ("bottleneck", "reverse"):
        yield from _strangers(scenario.get(key, {}), f"{key}.", _LINK_KEYS)
    for hop in scenario.get("hop", []):
        yield from _strangers(hop, f"hop.{hop['name']}.", (*_LINK_KEYS, *_HOP_KEYS))


def _sizes(scenario: Mapping[str, Any]) -> Iterable[Refusal]:
    """Refuse more links, paths and delays than there can be."""
    hops = len(scenario.get("hop", []))
    most = MOST_LINKS - len(links(scenario)) + hops if networks.is_network(scenario) else MOST_HOPS
    if hops > most:
        yield Refusal("hop", f"{hops} further links", f"{most} at most", who="the testbed")
    all_paths = distinct(paths(scenario, routes_of(scenario)))
    if len(all_paths) > _MAX_PATHS:
        yield Refusal("group", f"{len(all_paths)} paths", f"{_MAX_PATHS} at most", who="the testbed")
    delays = {path.rtt_s for path in all_paths}
    if len(delays) > MAX_DELAYS:
        found = f"{len(delays)} different round-trip times"
        yield Refusal("group.rtt", found, f"{MAX_DELAYS} at most", who="the testbed")


def _link(link: Mapping[str, Any], key: str, packet_bytes: int) -> tuple[LinkFacts, Expressed] | list[Refusal]:
    for part in ("framing", "medium", "noise", "protection"):
        if part in link:
            found = link[part].get("kind", "a framing")
            return [
                Refusal(f"{key}.{part}", found, "a wire that carries IP packets and nothing else", who="the testbed")
            ]
    if "rate" not in link:
        return [Refusal(f"{key}.trace", str(link.get("trace", "no rate")), "a constant rate", who="the testbed")]
    facts = LinkFacts(express.rate_bps(link["rate"]), packet_bytes)
    said = express.queue(link["queue"], f"{key}.queue", facts)
    if isinstance(said, list):
        return said
    tables = {f"{key}.queue": link["queue"]}
    tables |= {f"{key}.queue.class.{one['name']}.queue": one["queue"] for one in link["queue"].get("class", [])}
    told = [
        Refusal(f"{key}.queue.class.{one['name']}.groups", "groups", "dscp or precedence", who="a class of the testbed")
        for one in link["queue"].get("class", [])
        if "groups" in one
    ]
    return [*told, *(one for place, table in tables.items() for one in _cake(table, place, facts))] or (facts, said)


def _cake(queue: Mapping[str, Any], key: str, link: LinkFacts) -> Iterable[Refusal]:
    """Refuse what CAKE can do, but not together with the shaper around it."""
    if queue["kind"] != "cake":
        return
    own, layer = queue["bandwidth"], queue["link_layer"]
    if own == "auto" and (layer != "raw" or queue["overhead"] != "auto"):
        yield Refusal(f"{key}.link_layer", layer, "raw, or with a bandwidth any", who="the testbed's shaper")
    if own != "auto" and express.rate_bps(own) > link.rate_bps:
        yield Refusal(f"{key}.bandwidth", own, "the link's rate at most", who="the testbed: CAKE is its own shaper and")


def group_refusals(group: Mapping[str, Any], besides: Sequence[str] = ()) -> Iterable[Refusal]:
    """Say what of a group no real socket can have; `besides` are keys that others look at."""
    key = f"group.{group['name']}"
    yield from _strangers(group, f"{key}.", (*_GROUP_KEYS, *besides))
    for clock, still in (("clock_offset", "0 s"), ("clock_skew_ppm", 0.0)):
        if group[clock] != still:
            yield Refusal(f"{key}.{clock}", str(group[clock]), f"{still}: all share the kernel's clock")
    kind, traffic = endpoint_kind(group), group["traffic"]["kind"]
    fitting = {CBR: _DATAGRAMS, UTP: _UTP_TRAFFIC}.get(kind, _TCP_TRAFFIC)
    if kind == UDP:
        fitting = (*fitting, *plugins.added()["traffic"])
    if traffic not in fitting:
        allowed = " or ".join(fitting) + (" with libutp" if kind == UTP else "")
        if traffic in plugins.added()["traffic"]:
            allowed += "; a plug-in needs a control that Sojourn's own sender runs over UDP"
        yield Refusal(f"{key}.traffic.kind", traffic, allowed, who="the testbed")
    if group["traffic"].get("reach", "receiver") != "receiver":
        yield Refusal(f"{key}.traffic.reach", group["traffic"]["reach"], "receiver", who="the testbed")
    if group["traffic"].get("connections", 1) != 1:
        found = f"{group['traffic']['connections']} connections at once"
        yield Refusal(f"{key}.traffic.connections", found, "1", who="the testbed")
    if kind != TCP:
        return
    said = express.control(group["control"], f"{key}.control")
    if not isinstance(said, Expressed):
        yield from said
    yield from express.transport(group["transport"], f"{key}.transport")
    yield from _feedback(group["transport"], f"{key}.transport", group["control"]["kind"])


def _feedback(table: Mapping[str, Any], key: str, control: str) -> Iterable[Refusal]:
    wanted = "accurate" if control == "dctcp" else True
    if table["ecn"] not in (False, wanted):
        yield Refusal(f"{key}.ecn", express.shown(table["ecn"]), f"false, or {express.shown(wanted)} with {control}")


def endpoint_kind(group: Mapping[str, Any]) -> str:
    """Return what carries a group's flows: the kernel's TCP, own code over UDP, a program, or plain datagrams."""
    if "control" not in group:
        return CBR
    kind = group["control"]["kind"]
    if express.is_program(kind):
        return UTP
    return TCP if express.absent("controls", kind) is None else UDP


def carried(group: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the kind of a group's endpoints and what they are told of the control."""
    kind = endpoint_kind(group)
    if kind != TCP:
        return kind, group.get("control")
    said = express.control(group["control"], "")
    assert isinstance(said, Expressed)  # noqa: S101 (was checked before)
    return kind, said.name


def _packet_bytes(transport: Mapping[str, Any]) -> int:
    return round(sum(amount(transport[key], "B") for key in ("payload", "header")))
