"""Queues of Linux in the words of `tc`, those that a scenario cannot have among them, and what sends a probe over one.

The world that runs scenarios plans the job; only what makes the bottleneck is replaced. These probes came after all
choices of the method, so nothing was chosen by them.
"""

import json
from dataclasses import dataclass, field

from sojourn import api
from sojourn.detect.log import Log, of_table
from sojourn.detect.plan import FULL_BYTES, Path, Stage
from sojourn.detect.probe import Send
from sojourn.tables import arrow_table
from sojourn.worlds.linux import plan
from sojourn.worlds.linux.kernels import choose
from sojourn.worlds.linux.kernels.job import PLAN
from sojourn.worlds.linux.observed import Observed
from sojourn.worlds.linux.places import work_folder
from sojourn.worlds.linux.plan.express import LinkFacts
from sojourn.worlds.linux.plan.shaping import How, share
from sojourn.worlds.linux.pool import run_all
from sojourn.worlds.linux.world import LinuxRun

DEVICE = "rtr1"
_BIN_S = 0.1
# How long a job may take: to boot, and for each second of its time.
_BOOT_S, _SLOWEST = 120.0, 60.0
_AS_IP = "stab overhead -14"
# What leaves before the token bucket is empty has this rate, in parts of the rate that lasts.
_WIRE = 4.0
# The clsact hook sees packets with the 14 bytes of Ethernet.
_WITH_ETHERNET = (FULL_BYTES + 14) / FULL_BYTES
_LE = "match ip dsfield 0x04 0xfc"
"""The code point LE (RFC 8622), in the upper six bits of the field."""


@dataclass(frozen=True)
class LinuxQueue:
    """A queue in the words of `tc`."""

    name: str
    """The name that a model knows, or another."""
    family: str
    words: str = ""
    """What follows the handle of a queue under the shaper."""
    lines: tuple[str, ...] = ()
    """Lines of `tc -batch` for what is no plain queue, in the place of the queue under the shaper or below it."""
    bare: bool = False
    """Whether the lines make the rate, too."""
    label: str = ""
    """What the page calls it, where it is no plain queue."""
    truths: dict[str, float] = field(default_factory=dict)
    """Its parameters, by the names under which they are read."""
    low_share: float | None = None
    """What of the rate LE keeps; None where its code point does not count."""

    @property
    def title(self) -> str:
        """What the page calls it."""
        return (self.label or self.words or self.name).replace("{rate}", "RATE")

    def commands(self, rate_bps: float) -> list[str]:
        """Return the lines that make the bottleneck."""
        # The buckets hold 20 ms, 200 ms and a second of the rate.
        known = {
            "dev": f"dev {DEVICE}",
            "rate": f"{round(rate_bps)}bit",
            "policed": f"{round(rate_bps * _WITH_ETHERNET)}bit",
            "wire": f"{round(rate_bps * _WIRE)}bit",
            "most": f"{round(rate_bps * 0.9)}bit",
            "least": f"{round(rate_bps * 0.1)}bit",
            "short": f"{max(4 * FULL_BYTES, round(rate_bps / 8 * 0.02))}",
            "long": f"{max(8 * FULL_BYTES, round(rate_bps / 8 * 0.2))}",
            "second": f"{round(rate_bps / 8)}",
        }
        lines = [line.format(**known) for line in self.lines]
        if self.bare:
            return lines
        facts = LinkFacts(rate_bps, FULL_BYTES)
        made = [
            f"qdisc add dev {DEVICE} root handle 1: {_AS_IP} htb default 1",
            f"class add {share(f'dev {DEVICE} parent 1: classid 1:1', How(), facts)}",
        ]
        words = [self.words.format(**known)] if self.words else []
        return [*made, *(f"qdisc add dev {DEVICE} parent 1:1 handle 10: {one}" for one in words), *lines]


def _hashed(discipline: str, kind: str, classes: int, limit: int) -> tuple[str, ...]:
    """Return the lines for a queue with a class for each flow, by a hash of its addresses and ports."""
    place = "{dev} parent 10:"
    made = [f"qdisc add {{dev}} parent 1:1 handle 10: {discipline}"]
    for number in range(1, classes + 1):
        made.append(f"class add {place} classid 10:{number:x} {kind}")
        made.append(f"qdisc add {{dev}} parent 10:{number:x} pfifo limit {limit}")
    keys = "src,dst,proto,proto-src,proto-dst"
    return (*made, f"filter add {place} protocol ip prio 1 handle 1 flow hash keys {keys} divisor {classes}")


def _two(discipline: str, *classes: str, limit: int = 100) -> tuple[str, ...]:
    """Return the lines for a queue with two classes, the second of which is that of LE."""
    place = "{dev} parent 10:"
    made = [f"qdisc add {{dev}} parent 1:1 handle 10: {discipline}"]
    made += [f"class add {place} classid 10:{number} {words}" for number, words in enumerate(classes, 1)]
    made += [f"qdisc add {{dev}} parent 10:{number} pfifo limit {limit}" for number in (1, 2)]
    made.append(f"filter add {place} protocol ip prio 1 u32 {_LE} flowid 10:2")
    return (*made, f"filter add {place} protocol ip prio 2 matchall flowid 10:1")


def _htb(queue: str) -> tuple[str, ...]:
    """Return the lines for HTB with two classes, nine tenths and one tenth of the rate, and a queue in each."""
    top = "class add {dev} parent 10: classid 10:1 htb rate {rate} burst 150 cburst 150 quantum 1500"
    made = [f"qdisc add {{dev}} root handle 10: {_AS_IP} htb default 2", top]
    for number, rate in ((2, "{most}"), (3, "{least}")):
        share_ = f"htb rate {rate} ceil {{rate}} burst 150 cburst 150 quantum 1500 prio {number - 2}"
        made.append(f"class add {{dev}} parent 10:1 classid 10:{number} {share_}")
        made.append(f"qdisc add {{dev}} parent 10:{number} {queue}")
    return (*made, f"filter add {{dev}} parent 10: protocol ip prio 1 u32 {_LE} flowid 10:3")


def _cake(words: str) -> tuple[str, ...]:
    return (f"qdisc add {{dev}} root handle 10: cake bandwidth {{rate}} overhead 0 {words}",)


_WIRED = (
    f"qdisc add {{dev}} root handle 10: {_AS_IP} htb default 1",
    "class add {dev} parent 10: classid 10:1 htb rate {wire} burst 150 cburst 150 quantum 1500",
    "qdisc add {dev} parent 10:1 pfifo limit 1000",
    "qdisc add {dev} clsact",
)


def _policed(burst: str) -> tuple[str, ...]:
    drop = f"action police rate {{policed}} burst {burst} conform-exceed drop"
    return (*_WIRED, f"filter add {{dev}} egress matchall {drop}")


def _bucket(burst: str, limit: str) -> tuple[str, ...]:
    tokens = f"tbf rate {{rate}} burst {burst} limit {limit} peakrate {{wire}} mtu 1600"
    return (f"qdisc add {{dev}} root handle 10: {_AS_IP} {tokens}",)


_FIFO, _AQM, _FAIR, _FAIR_AQM = "FIFO", "FIFO with AQM", "fair queueing", "fair queueing with AQM"
_PRIO = "prio bands 2 priomap " + " ".join(["0"] * 16)

_GRED = "bandwidth {rate} DP 0 probability 0.05 prio 1"

QUEUES: tuple[LinuxQueue, ...] = (
    LinuxQueue("droptail", _FIFO, "pfifo limit 150", truths={"limit_packets": 150}),
    LinuxQueue("droptail", _FIFO, "bfifo limit 60000"),
    LinuxQueue("droptail", _FIFO, "bfifo limit 300000"),
    LinuxQueue("droptail", _FIFO, "pfifo_fast"),
    LinuxQueue("droptail", _FIFO, "prio"),
    LinuxQueue("codel", _AQM, "codel target 20ms interval 200ms", truths={"target_ms": 20, "interval_ms": 200}),
    LinuxQueue("codel", _AQM, "codel ecn", truths={"target_ms": 5, "interval_ms": 100}),
    LinuxQueue("codel", _AQM, "codel target 3ms interval 60ms", truths={"target_ms": 3, "interval_ms": 60}),
    LinuxQueue("pie", _AQM, "pie target 8ms", truths={"target_ms": 8}),
    LinuxQueue("pie", _AQM, "pie target 40ms ecn", truths={"target_ms": 40}),
    LinuxQueue("pie", _AQM, "pie target 20ms alpha 4 beta 25", truths={"target_ms": 20}),
    LinuxQueue(
        "red",
        _AQM,
        "red limit 240000 min 20000 max 60000 avpkt 1000 burst 30 probability 0.03 bandwidth {rate}",
        truths={"min_bytes": 20000, "max_bytes": 60000, "max_p": 0.03},
    ),
    LinuxQueue(
        "red",
        _AQM,
        "red limit 400000 min 12000 max 48000 avpkt 1000 burst 20 probability 0.12 bandwidth {rate}",
        truths={"min_bytes": 12000, "max_bytes": 48000, "max_p": 0.12},
    ),
    LinuxQueue("sfq", _FAIR, "sfq limit 40", truths={"limit_packets": 40}),
    LinuxQueue("sfq", _FAIR, "sfq limit 60 perturb 10", truths={"limit_packets": 60}),
    LinuxQueue("sfq", _FAIR, "sfq quantum 3000", truths={"limit_packets": 127}),
    LinuxQueue(
        "drr", _FAIR, lines=_hashed("drr", "drr quantum 1514", 32, 100), label="drr quantum 1514, a class for each flow"
    ),
    LinuxQueue(
        "drr", _FAIR, lines=_hashed("drr", "drr quantum 3028", 32, 60), label="drr quantum 3028, a class for each flow"
    ),
    LinuxQueue("fq_codel", _FAIR_AQM, "fq_codel quantum 300", truths={"target_ms": 5, "interval_ms": 100}),
    LinuxQueue("fq_codel", _FAIR_AQM, "fq_codel noecn", truths={"target_ms": 5, "interval_ms": 100}),
    LinuxQueue(
        "fq_codel",
        _FAIR_AQM,
        "fq_codel target 20ms interval 200ms limit 600",
        truths={"target_ms": 20, "interval_ms": 200},
    ),
    LinuxQueue("fq_codel", _FAIR_AQM, lines=_htb("fq_codel"), bare=True, label="htb with fq_codel in its classes"),
    LinuxQueue(
        "cake",
        _FAIR_AQM,
        lines=_cake("diffserv4 rtt 50ms"),
        label="cake diffserv4 rtt 50ms",
        bare=True,
        truths={"rtt_ms": 50},
    ),
    LinuxQueue("cake", _FAIR_AQM, lines=_cake("diffserv8"), label="cake diffserv8", bare=True, truths={"rtt_ms": 100}),
    LinuxQueue(
        "cake",
        _FAIR_AQM,
        lines=_cake("besteffort dual-dsthost"),
        label="cake besteffort dual-dsthost",
        bare=True,
        truths={"rtt_ms": 100},
    ),
    LinuxQueue("cake", _FAIR_AQM, "cake unlimited besteffort", truths={"rtt_ms": 100}),
    LinuxQueue("hhf", "heavy-hitter filter", "hhf"),
    LinuxQueue("hhf", "heavy-hitter filter", "hhf limit 400", truths={"limit_packets": 400}),
    LinuxQueue("policer", "policer", lines=_policed("{short}"), label="police, burst of 20 ms", bare=True),
    LinuxQueue("policer", "policer", lines=_policed("{long}"), label="police, burst of 200 ms", bare=True),
    LinuxQueue("shaper", "shaper", lines=_bucket("{long}", "90000"), label="tbf, burst of 200 ms", bare=True),
    LinuxQueue("shaper", "shaper", lines=_bucket("{second}", "150000"), label="tbf, burst of a second", bare=True),
    LinuxQueue("pfifo_head_drop", _FIFO, "pfifo_head_drop limit 100"),
    LinuxQueue(
        "adaptive red",
        _AQM,
        "red limit 240000 min 15000 max 60000 avpkt 1000 burst 25 probability 0.05 bandwidth {rate} adaptive",
    ),
    LinuxQueue("choke", _AQM, "choke limit 200 bandwidth {rate} min 20 max 60 probability 0.05 burst 30"),
    LinuxQueue(
        "gred",
        _AQM,
        lines=(
            "qdisc add {dev} parent 1:1 handle 10: gred setup DPs 1 default 0",
            "qdisc change {dev} parent 1:1 handle 10: gred limit 240000 min 20000 max 60000 burst 30 avpkt 1000 "
            + _GRED,
        ),
    ),
    LinuxQueue("sfb", _AQM, "sfb"),
    LinuxQueue(
        "cake flowblind", _AQM, lines=_cake("besteffort flowblind"), label="cake besteffort flowblind", bare=True
    ),
    LinuxQueue("fq", _FAIR, "fq flow_limit 100"),
    LinuxQueue(
        "qfq", _FAIR, lines=_hashed("qfq", "qfq weight 1 maxpkt 2048", 32, 100), label="qfq, a class for each flow"
    ),
    LinuxQueue(
        "sfq with red",
        _FAIR_AQM,
        "sfq limit 127 redflowlimit 90000 min 8000 max 24000 probability 0.1 burst 20 avpkt 1000",
    ),
    LinuxQueue("fq_pie", _FAIR_AQM, "fq_pie target 20ms"),
)
"""Queues of the test, those of training with other words than in the first test, and disciplines left out of it."""

CLASSED: tuple[LinuxQueue, ...] = (
    LinuxQueue("prio", _FIFO, lines=_two(_PRIO), low_share=0.0),
    LinuxQueue("prio, its own map", _FIFO, "prio"),
    LinuxQueue("ets, strict", _FIFO, lines=_two("ets bands 2 strict 1 quanta 1500"), low_share=0.0),
    LinuxQueue("ets, 9 to 1", _FIFO, lines=_two("ets bands 2 quanta 13500 1500"), low_share=0.1),
    LinuxQueue("drr, 19 to 1", _FIFO, lines=_two("drr", "drr quantum 28500", "drr quantum 1500"), low_share=0.05),
    LinuxQueue("drr, 9 to 1", _FIFO, lines=_two("drr", "drr quantum 13500", "drr quantum 1500"), low_share=0.1),
    LinuxQueue("htb with fq_codel, 9 to 1", _FAIR_AQM, lines=_htb("fq_codel"), bare=True, low_share=0.1),
    LinuxQueue("htb with pfifo, 9 to 1", _FIFO, lines=_htb("pfifo limit 100"), bare=True, low_share=0.1),
    LinuxQueue("pie", _AQM, "pie"),
    LinuxQueue("hhf", "heavy-hitter filter", "hhf"),
    LinuxQueue("tbf", "shaper", lines=_bucket("{long}", "90000"), bare=True),
    LinuxQueue("police", "policer", lines=_policed("{long}"), bare=True),
)
"""Queues of Linux with classes and without, of which is asked what LE keeps."""


def send_over(queue: LinuxQueue, path: Path, rate_bps: float, seed: int, kernel: str) -> Send:
    """Return what sends a stage over a path of the kernel that has this queue; the queue of the path is not used."""

    def send(stage: Stage) -> Log:
        resolved = api.scenario(stage.scenario(path, seed)).to_dict()
        chosen = choose(kernel)
        planned = plan.job(resolved, seed, How("htb", chosen.virtual_time), bin_s=_BIN_S, ends=True)
        commands = {**planned.plan["tc"], "rtr": queue.commands(rate_bps)}
        with work_folder() as place:
            folder = place / "job"
            folder.mkdir()
            (folder / PLAN).write_text(json.dumps({**planned.plan, "tc": commands}), encoding="utf-8")
            run_all(chosen, [folder], timeout_s=_BOOT_S + _SLOWEST * stage.duration_s, jobs=1)
            run = LinuxRun(seed, Observed.read(folder, planned), chosen.name, 0.0)
            return of_table(arrow_table([run], "packets"))

    return send
