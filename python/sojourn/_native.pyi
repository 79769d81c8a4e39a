"""The engine, written in Rust. Use it through `sojourn.Scenario` and `sojourn.Result`."""

from collections.abc import Callable
from pathlib import PurePath
from typing import Any, Literal

__version__: str

__build__: str
"""A hash of the engine's sources: another one for every other engine."""

class InputError(ValueError):
    """The input is wrong: a scenario, an override, a trace or a name.

    `str(error)` is the text for a person, one line per diagnostic.
    """

    diagnostics: list[dict[str, Any]]
    """What is wrong, one entry per mistake: file, line, key, found, allowed, nearest, message."""

class Interrupted(Exception):  # noqa: N818 (an event, not an error)
    """A run was cancelled by a signal."""

class PluginError(RuntimeError):
    """A plug-in failed: the text names it, the method, the simulated time and the flow or link."""

class Ack:
    """An acknowledgement of new data, as a control of one's own hears of it."""

    now_ns: int
    """The simulated time."""
    newly_acked: int
    """Segments that this acknowledgement is the first to cover; 0 while a loss is only suspected."""
    flight: float
    """Segments in flight just before it arrived."""
    window_limited: bool
    """Whether the congestion window, rather than the application or the receiver, limited sending."""
    in_recovery: bool
    """Whether a loss is being repaired."""
    rtt_ns: int | None
    """Round-trip time of the newest segment that it covers, where that was sent once only."""
    srtt_ns: int | None
    """Smoothed round-trip time; None before the first sample, as the next two."""
    min_rtt_ns: int | None
    """Least round-trip time of the connection."""
    max_rtt_ns: int | None
    """Greatest round-trip time of the connection."""
    one_way_delay_ns: int | None
    """Receiver's clock minus sender's: it includes an unknown offset and may be negative."""
    sent_ns: int
    """When the newest segment that it covers was sent."""
    echoed_ns: int
    """The time that the receiver echoes (RFC 7323)."""
    marked: bool
    """Whether the receiver echoed a congestion mark on it."""
    delivery_rate_pps: float | None
    """Segments per second, for controls with `rate_samples=True`."""
    app_limited: bool | None
    """Whether the application, not the network, limited the rate sample; None without `rate_samples=True`."""

class Congestion:
    """A sign of congestion, as a control of one's own hears of it."""

    now_ns: int
    """The simulated time."""
    signal: Literal["loss", "ecn", "timeout"]
    """A loss that acknowledgements show, an echoed mark, or the retransmission timer."""
    repeated: bool
    """Whether the timer had gone off for this segment before."""
    flight: float
    """FlightSize of RFC 5681, in segments."""
    pipe: float
    """The same without what is known to have arrived or to be lost (RFC 6675)."""
    srtt_ns: int | None
    """Smoothed round-trip time; None before the first sample."""

class Recovered:
    """A repair of losses that ended, as a control of one's own hears of it."""

    now_ns: int
    """The simulated time."""
    repair: Literal["partial", "selective", "timeout"]
    """What repaired it: partial acknowledgements, a scoreboard, or the retransmission timer."""
    flight: float
    """Segments still outstanding."""

class Started:
    """Sending starts again after a pause, as a control of one's own hears of it."""

    now_ns: int
    """The simulated time."""
    idle_ns: int
    """Since the last segment was sent."""
    timeout_ns: int
    """The retransmission timeout."""
    app_limited: bool
    """Whether the application, not the window, limited sending before the pause."""
    window: float
    """What the transport leaves of the window: a control without `on_start` gets it."""
    ssthresh: float
    """What the transport leaves of the slow-start threshold, in segments."""

class Packet:
    """A packet that waits in a discipline of one's own."""

    bytes: int
    """Bytes on the wire."""
    flow: int
    """Number of its flow."""
    enqueued_ns: int
    """When it came."""
    ecn: Literal["not-ect", "ect0", "ect1", "ce"]
    """Its ECN field (RFC 3168)."""
    is_ecn_capable: bool
    """Whether it may be marked instead of dropped."""
    dscp: int
    """Its code point, 0 to 63."""
    five_tuple: tuple[int, int, int, int, int]
    """Source, destination, source port, destination port, protocol (6 TCP, 17 UDP)."""

    def drop(self, reason: Literal["early", "overflow"] = "early") -> None:
        """Drop it: it has left the discipline."""

    def mark(self) -> None:
        """Mark it CE; an error where it is not ECN-capable."""

class Random:
    """A random stream that depends on the run's seed and on whose it is."""

    def bits(self) -> int:
        """Return 64 random bits."""

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        """Return a number from `low` up to but without `high`."""

    def exponential(self, mean: float) -> float:
        """Return an exponentially distributed number."""

    def normal(self) -> float:
        """Return a number with mean 0 and standard deviation 1."""

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""

class Flow:
    """The flow of an application of one's own: what it is asked here, it does when the method returns."""

    payload_bytes: int
    """Payload of a full packet."""
    connections: int
    """How many connections it may have at once, as the parameter `connections` says; else 1."""

    def send(self, size_bytes: float, *, since_ns: float | None = None) -> None:
        """Send so many payload bytes more over the first connection, made at the first call.

        `since_ns` is since when the application has had them, which is where the completion time begins; now where
        it is not given. A fraction is rounded.
        """

    def send_forever(self) -> None:
        """Send without end over the first connection."""

    def connect(self, size_bytes: float | None = None, connection: int = 0, *, since_ns: float | None = None) -> None:
        """Send so many bytes, or without end, over a fresh connection.

        It replaces the one with this number; what that had not delivered is given up.
        """

    def pause(self) -> None:
        """Send nothing new. What waits goes on with the next `send`."""

def add_control(about: Any, behaviour: Any, make: Callable[..., Any]) -> None:
    """Add a control; `sojourn.plugins.control` is what users call."""

def remove_plugin(name: str) -> None:
    """Take all plug-ins of a name off the lists; `sojourn.plugins.unload` is what users call."""

def add_discipline(about: Any, behaviour: Any, make: Callable[..., Any]) -> None:
    """Add a discipline; `sojourn.plugins.discipline` is what users call."""

def add_traffic(about: Any, behaviour: Any, make: Callable[..., Any]) -> None:
    """Add a kind of traffic; `sojourn.plugins.traffic` is what users call."""

class Reply:
    """The answer to a ping, as a shaper's controller of one's own sees it."""

    at_ns: int
    """When it came."""
    reflector: int
    """Which reflector sent it, from 0."""
    rtt_ns: int
    """Its round-trip time."""
    delays_ns: tuple[int, int]
    """The part of each direction in it: the bottleneck's, the return link's."""

def add_shaper(about: Any, behaviour: Any, make: Callable[..., Any]) -> None:
    """Add a controller of a gateway's shapers; `sojourn.plugins.shaper` is what users call."""

class WireError(Exception):
    """Endpoints on sockets failed; `str(error)` is a sentence for a person."""

    fault: Literal["input", "missing", "failed"]
    """Whose fault it is: the plan's, this machine's, or the network's."""

def wire(plan_json: str) -> str:
    """Do what a plan of endpoints says, until its end, and return the report as JSON; signals interrupt it.

    The formats are those of `sojourn.worlds.linux.endpoint`. Raises `WireError`.
    """

def catalogue() -> str:
    """Return what a scenario can name, as JSON: queues, controls, transports and ready scenarios."""

def metrics() -> str:
    """Return what runs measure, as JSON: metrics (name, unit, percent, meaning) by their part of the record."""

def schema() -> str:
    """Return the JSON Schema (draft 2020-12) of the scenario file."""

def load(
    text: str,
    file: str | None = None,
    base_dir: str | None = None,
    overrides: list[str] = ...,
    root: str | None = None,
) -> Scenario:
    """Read a scenario from TOML text.

    `file` is the name that diagnostics show; traces are looked up in `base_dir`; an override is
    "dotted.key=value". Where a `root` is given, only files in it are read.
    """

def read_capture(
    path: PurePath, most: int
) -> tuple[list[bytes], list[tuple[int, int, bytes, bytes]], int, list[int], str | None]: ...
def shell(
    scenario: Scenario,
    seed: int,
    at_receiver: bool,
    ends: tuple[int, int] | tuple[str, str],
    spin_s: float,
    keep: tuple[float | None, bool, bool, bool, bool, bool],
    look: Callable[[float, list[tuple[int, int, int, int]]], bool],
) -> tuple[Run, str]:
    """Carry packets through the scenario's path until `look` says no.

    The ends are files of TUN devices, the program's first, or a local and a remote UDP address. The last `spin_s` of a
    wait are spent looking, since a sleep may end late.

    Some times a second `look` is told the seconds so far, and for each group of programs the payload bytes, the drops,
    and the ns in the queue of so many packets. Return the run, and what came of packets and clock as JSON. Raises
    OSError where a device fails.
    """

def load_json(text: str, base_dir: str | None = None, overrides: list[str] = ..., root: str | None = None) -> Scenario:
    """Read a scenario from JSON text that holds the same tables as the TOML file."""

def load_ready(name: str, overrides: list[str] = ..., root: str | None = None) -> Scenario:
    """Take one of the scenarios that come with Sojourn."""

def seconds(what: str, text: str) -> float:
    """Return a length of time, written as in a scenario file ("100 ms"), in seconds; messages call it `what`."""

def code_point(name: str) -> int | None:
    """Return the number of the differentiated services code point of this name; None for any other text."""

def quantity(text: str) -> tuple[float, str] | None:
    """Return the number and the basic unit (s, bit/s, B, packets) of a quantity; None for any other text."""

def replay(
    scenario: Scenario,
    packets: tuple[list[int], list[int], list[int], list[int]],
    service: tuple[list[int], list[int]] | str,
    seed: int,
) -> list[tuple[str, str, bytes, list[str] | None]]:
    """Send recorded packets through the bottleneck's queue and return what became of each.

    `packets` are times (ns, never falling), flows (0 to 65535, each with a 5-tuple of its own), bytes on the wire and
    TOS bytes. `service` is the times (ns) at which the link asked for a packet, and how many packets had arrived
    before. Or it is a kind of link, which asks when the packet before has been sent at the bottleneck's rate: "device",
    also where nothing waits, or "shaper", only where something does, as HTB. Chance is drawn from `seed`.
    The columns are end (a code into its categories: waits, left, overflow, early, redundant), time_ns, place (how many
    left before) and marked; where there is no time or place it is the largest number. Raises ValueError where
    columns differ in length or go back, or no such link is known.
    """

def replay_sender(
    scenario: Scenario,
    inputs: tuple[list[int], list[str], list[int], list[tuple[int, int, bool, list[tuple[int, int]]]]],
    seed: int,
) -> tuple[list[tuple[str, str, bytes, list[str] | None]], list[tuple[str, str, bytes, list[str] | None]]]:
    """Lead the sender of the first group through recorded inputs; return what it sent, and its state after each input.

    `inputs` are times (ns, never falling), events, values, and a row for each acknowledgement. Events are supply (the
    value is the bytes that the application has had to send so far), accepted (of the connection), ack (the next
    segment expected), look, which does nothing, and lot: from then on each random number that the control draws from 0
    to 1 is the value in millionths, where it is BBR or CDG. A row is the time (ns) that is echoed, the one-way delay
    (ns) of the segment that caused it, whether a mark is echoed, and at most three SACK blocks. Segments are numbered
    from 0; each has one MSS. An acknowledgement of what has not been sent counts as one of all that has. Chance is
    drawn from `seed`.
    The columns of what was sent are time_ns, number and kind (a code into its categories: syn, new, again); those of
    states are cwnd and ssthresh (segments), srtt_s and rto_s. Raises ValueError where columns differ in length or go
    back, an event is unknown, or the first group has no congestion control.
    """

def replay_receiver(
    scenario: Scenario, arrivals: list[tuple[int, int | None, bool, bool, int]], sends_ns: list[int], until_ns: int
) -> list[tuple[int, int, bool, bool, list[tuple[int, int]]]]:
    """Lead the receiver of the first group through recorded arrivals; return what it acknowledged by `until_ns`.

    An arrival is its time (ns, never falling), its number in segments or None for a SYN, whether it carries CE,
    whether it says CWR, and the smoothed round-trip time that the receiver knows (ns; 0 is none). At the times
    `sends_ns` data leaves the other way. An acknowledgement is its time (ns), the next number expected, whether a mark
    is echoed, whether it goes with data, and at most three SACK blocks. Raises ValueError where times go back.
    """

class Scenario:
    """A scenario that has been checked, with every default filled in."""

    name: str
    seed: int
    runs: int
    duration_s: float
    warmup_s: float
    groups: list[tuple[str, int]]
    """Name and number of flows of each group."""
    programs: list[str]
    """Names of the groups whose packets come from programs."""
    stack: tuple[str, str] | None
    """The first group whose flows are of a stack, and the stack's name; None where there is none."""
    links: list[str]
    """The names that the metrics of its links have in front, such as `bottleneck` and `hops_gateway`."""
    files: list[str]
    """The traces that its links are read from at any time, without those that come with Sojourn."""
    warnings: list[str]
    """What is allowed but probably not meant."""

    def to_toml(self, relative_to: str | None = None) -> str:
        """Return the scenario with every default written out and paths relative to `relative_to`."""

    def to_json(self) -> str:
        """Return the resolved scenario as JSON."""

    def as_network(self) -> Scenario:
        """Return the same links and flows with nodes between the links; raises ValueError where that cannot be."""

    def mean_rates_mbps(self) -> list[float]:
        """Return what each link could carry in the measured part, in Mbit/s, in the order of `links`."""

    def packets(self) -> list[tuple[int, int, list[int]]]:
        """Return, for each group, the bytes of a full packet and of its headers, and the former on each link's wire."""

    def routes(self) -> list[list[tuple[list[int], list[int], int | None, str | None]]]:
        """Return the routes of each group: one for all flows, or one for each, dealt out in turn.

        A route is the links of its data, those of its acknowledgements, and the one at which the flow's queueing delay
        is told, if any, all as places among `links`; and the station that it goes to or comes from, if any.
        """

    def capacity_mbps(self, bin_s: float) -> list[float]:
        """Return what the bottleneck can carry, in Mbit/s, in each bin of `bin_s` seconds of a run."""

    def capacity_bytes(self) -> float:
        """Return what the bottleneck and the link back can carry in a run."""

    def run(
        self,
        seeds: list[int],
        jobs: int,
        keep: tuple[float | None, bool, bool, bool, bool, bool],
        progress: Callable[[float], None] | None,
    ) -> list[Run]:
        """Simulate once per seed on up to `jobs` threads.

        `keep` says what to keep besides the record: the width in seconds of a bin of the time series (None keeps
        none), whether one row per packet at the bottleneck, whether the state of disciplines and controls in
        every bin, whether one row per transfer that ended. `progress` is told the done fraction, 0 to 1, a few
        times a second.
        """

class Padding:
    """The simulation's rule of adaptive padding and its pacer, for a program with sockets.

    Times are seconds of any clock that never goes back, from 0. Raises ValueError for negative values.
    """

    rate_pps: float
    """Packets per second now; 0 for none."""
    rests: int
    """How often padding was given up since it did not help."""
    next_s: float
    """When `due` or `on_time` has something to do."""

    def __init__(self, target_s: float, most_pps: float, now_s: float) -> None:
        """Aim at a queueing delay of `target_s`, with `most_pps` packets per second at most."""

    def bound(self, most_pps: float) -> None:
        """Never send more packets per second from the next `on_time` on."""

    def know_base(self, rtt_s: float) -> None:
        """Take over a round-trip time that was measured without a queue."""

    def on_answer(self, rtt_s: float) -> None:
        """Take over the round-trip time of a probe."""

    def on_time(self, now_s: float) -> None:
        """Decide on the rate, where an epoch has ended."""

    def due(self, now_s: float) -> bool:
        """Tell whether a packet goes now; then the next one is set."""

class Run:
    """What one simulation run measured."""

    seed: int

    def record(self) -> str:
        """Return the run record as JSON."""

    def measured(self) -> str:
        """Return the same without the rows of flows, which may be most of it."""

    def table(self, name: str) -> list[tuple[str, str, bytes, list[str] | None]]:
        """Return the columns of table "queue", "flows", "queue_probes", "flow_probes", "packets" or "transfers".

        Each is (name, dtype in numpy notation, little-endian values, categories); where there are
        categories the values are codes into them. NaN stands for "no value".
        """

    def write_pcap(self, path: str) -> None:
        """Write what crossed the bottleneck as pcapng; needs a run with `packets`."""

    def write_qlogs(self, directory: str) -> int:
        """Write what each sender decided as qlog to files in a folder; needs a run with `decisions`."""
