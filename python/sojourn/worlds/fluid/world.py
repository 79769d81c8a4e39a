"""From a scenario to the model and from its trajectory to a run record."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn import _native, networks
from sojourn.reading import input_error
from sojourn.record import Record
from sojourn.resolved import amount
from sojourn.spelling import spelled
from sojourn.tables import Column, coded, plain
from sojourn.worlds.fluid.model import Class, Model, Red
from sojourn.worlds.fluid.trajectory import Trajectory, trajectory

CONTROLS = ("newreno", "ledbat")


@dataclass(frozen=True)
class FluidRun:
    """What the model gives in the place of a simulated run: record and time series, with the same names."""

    seed: int
    scenario: Record
    path: Trajectory
    payload_bytes: int
    packet_bytes: int
    bin_s: float | None

    def record(self) -> str:
        """Return the run record as JSON; what the model does not know is null."""
        duration, warmup = _seconds(self.scenario.duration), _seconds(self.scenario.warmup)
        measured = self.path.times_s >= warmup
        rates, lost = self.path.rates_packets_per_s[measured], self.path.probabilities[measured]
        delivered = (rates * (1 - lost[:, None])).mean(axis=0) * self.payload_bytes * 8 / 1e6
        classes = self.path.model.classes
        drop_rate = float((rates.sum(axis=1) * lost).sum() / rates.sum())
        groups = {
            one.name: _group(one, float(goodput), float(delivered.sum()), drop_rate, self._rtt_ms(one, measured))
            for one, goodput in zip(classes, delivered, strict=True)
        }
        flows = [
            {
                "group": one.name,
                "index": index,
                "goodput_mbps": float(goodput) / one.flows,
                "delivered_bytes": round(float(goodput) / one.flows * 1e6 / 8 * (duration - warmup)),
                "drops": None,
                "rtt_ms_mean": groups[one.name]["rtt_ms"]["mean"],
            }
            for one, goodput in zip(classes, delivered, strict=True)
            for index in range(one.flows)
        ]
        goodputs = np.array([flow["goodput_mbps"] for flow in flows], dtype=np.float64)
        document = {
            "seed": self.seed,
            "duration_s": duration,
            "measured_from_s": warmup,
            "events": len(self.path.times_s),
            "wall_s": None,
            "bottleneck": self._bottleneck(measured, drop_rate),
            "groups": groups,
            "flows": flows,
            "jain_all": float(goodputs.sum() ** 2 / (len(goodputs) * (goodputs**2).sum())),
        }
        return json.dumps(document)

    def table(self, name: str) -> list[Column]:
        """Return the columns of table "queue" or "flows", as a simulated run does."""
        if self.bin_s is None or name not in {"queue", "flows"}:
            raise ValueError(f"no table is called {name!r}")
        places, times = self._bins(self.bin_s)
        return self._queue_columns(places, times) if name == "queue" else self._flow_columns(places, times)

    def _bins(self, bin_s: float) -> tuple[Any, Any]:
        step = self.path.times_s[1]
        times = np.arange(0.0, _seconds(self.scenario.duration) - 1e-9, bin_s)
        middles = np.rint((times + bin_s / 2) / step).astype(int)
        return np.minimum(middles, len(self.path.times_s) - 1), times

    def _queue_columns(self, places: Any, times: Any) -> list[Column]:
        path = self.path
        queue, capacity = path.queue_packets[places], path.model.packets_per_s
        rates = path.rates_packets_per_s[places].sum(axis=1)
        lost, width = path.probabilities[places], float(self.bin_s or 0)
        sent = np.where(queue > 0, capacity, np.minimum(rates * (1 - lost), capacity)) * width
        numbers = {
            "time_s": times,
            "queue_packets": queue,
            "queue_bytes": queue * self.packet_bytes,
            "queue_ms": queue / capacity * 1e3,
            "arrivals": rates * width,
            "departures": sent,
            "drops": rates * lost * width,
            "marks": np.zeros_like(queue),
            "sent_bytes": sent * self.packet_bytes,
        }
        return [coded("link", np.zeros(len(queue)), ["bottleneck"]), *map(plain, numbers, numbers.values())]

    def _flow_columns(self, places: Any, times: Any) -> list[Column]:
        path, width = self.path, float(self.bin_s or 0)
        owners = [(index, flow) for index, one in enumerate(path.model.classes) for flow in range(one.flows)]
        kept = 1 - path.probabilities[places]
        delay = path.queue_packets[places] / path.model.packets_per_s
        columns: dict[str, list[Any]] = {
            name: [] for name in ("time_s", "group", "index", "delivered_bytes", "cwnd_packets", "rtt_ms")
        }
        for index, flow in owners:
            one = path.model.classes[index]
            rate = path.rates_packets_per_s[places, index] / one.flows
            values = (
                times,
                np.full(len(times), index),
                np.full(len(times), flow),
                rate * kept * width * self.payload_bytes,
                path.windows_packets[places, index],
                (one.base_rtt_s + delay) * 1e3,
            )
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
        joined = {name: np.concatenate(parts) for name, parts in columns.items()}
        group = coded("group", joined.pop("group"), [one.name for one in path.model.classes])
        unknown = plain("one_way_delay_ms", np.full(len(joined["time_s"]), np.nan))
        time, place, *others = map(plain, joined, joined.values())
        return [time, group, place, *others, unknown]

    def _bottleneck(self, measured: Any, drop_rate: float) -> dict[str, Any]:
        path, capacity = self.path, self.path.model.packets_per_s
        queue = path.queue_packets[measured]
        arriving = path.rates_packets_per_s[measured].sum(axis=1) * (1 - path.probabilities[measured])
        used = np.where(queue > 0, 1.0, np.minimum(arriving / capacity, 1.0))
        delay_ms = queue / capacity * 1e3
        return {
            "utilization": float(used.mean()),
            "queue_packets": {"mean": float(queue.mean()), "max": float(queue.max())},
            "queue_bytes": {
                "mean": float(queue.mean()) * self.packet_bytes,
                "max": float(queue.max()) * self.packet_bytes,
            },
            "queue_ms": {
                "mean": float(delay_ms.mean()),
                **{f"p{part}": float(np.quantile(delay_ms, part / 100)) for part in (10, 25, 50, 75, 90, 99)},
                "max": float(delay_ms.max()),
            },
            "arrivals": None,
            "departures": None,
            "drops": None,
            "marks": None,
            "drop_rate": drop_rate,
        }

    def _rtt_ms(self, one: Class, measured: Any) -> dict[str, float]:
        rtt_ms = (one.base_rtt_s + self.path.queue_packets[measured] / self.path.model.packets_per_s) * 1e3
        return {
            "mean": float(rtt_ms.mean()),
            "p50": float(np.quantile(rtt_ms, 0.5)),
            "p99": float(np.quantile(rtt_ms, 0.99)),
        }


def run(
    scenario: _native.Scenario, seeds: Sequence[int], bin_s: float | None, progress: Callable[[float], None] | None
) -> list[FluidRun]:
    """Run the model of a scenario; it has no randomness, so that every seed gives the same.

    Raises InputError where the scenario holds something that the model does not have.
    """
    resolved = Record.parse(scenario.to_json())
    found = model(resolved)
    path = trajectory(found, scenario.duration_s, progress=progress)
    transport = resolved.group[0].transport
    payload, header = _bytes(transport.payload), _bytes(transport.header)
    return [FluidRun(seed, resolved, path, payload, payload + header, bin_s) for seed in seeds]


def model(scenario: Record) -> Model:
    """Return the model of a resolved scenario; raises InputError."""
    networks.check_chain(scenario, "the fluid model")
    link = scenario.bottleneck
    for key in ("framing", "medium", "jitter", "loss", "noise", "protection", "policer", "shaper"):
        if link.get(key):
            raise _refused(f"bottleneck.{key}", link[key], "a link without it")
    if "rate" not in link:
        raise _refused("bottleneck.trace", link["trace"], "a constant rate")
    for key in ("reverse", "hop"):
        if key in scenario:
            raise _refused(key, "a further link", "the bottleneck alone")
    if "change" in scenario:
        raise _refused("change", f"{len(scenario.change)} of them", "a link that stays as it is")
    if "phase" in scenario:
        raise _refused("phase", f"{len(scenario.phase)} of them", "the results of the whole run")
    packet_bytes = {_bytes(group.transport.payload) + _bytes(group.transport.header) for group in scenario.group}
    if len(packet_bytes) > 1:
        raise _refused("transport", f"packets of {sorted(packet_bytes)} bytes", "packets of one size")
    (size,) = packet_bytes
    rate = amount(link.rate, "bit/s") / 8 / size
    queue = link.queue
    red = _red(queue, size, rate)
    limit = _packets("bottleneck.queue.limit", queue.limit, size, rate)
    classes = tuple(_class(group, _seconds(link.delay)) for group in scenario.group)
    return Model(rate, limit, red, classes)


def _red(queue: Record, packet_bytes: int, rate: float) -> Red:
    if queue.kind != "red":
        raise _refused("bottleneck.queue.kind", queue.kind, "red")
    for key in ("min", "max", "weight"):
        if queue[key] == "auto":
            raise _refused(f"bottleneck.queue.{key}", "auto", f"a value: the model has no rule for {key}")
    if queue.ecn:
        raise _refused("bottleneck.queue.ecn", True, "false: in the model every signal is a loss")
    low, high = (_packets(f"bottleneck.queue.{key}", queue[key], packet_bytes, rate) for key in ("min", "max"))
    return Red(low, high, queue.max_p, queue.weight, queue.gentle)


def _class(group: Record, link_delay_s: float) -> Class:
    path = f"group.{group.name}"
    if group.direction != "forward":
        raise _refused(f"{path}.direction", group.direction, "forward")
    if group.traffic.get("kind") != "bulk" or "size" in group.traffic:
        raise _refused(f"{path}.traffic", group.traffic.get("kind"), "bulk without a size")
    for key in ("stop", "access_rate"):
        if key in group:
            raise _refused(f"{path}.{key}", group[key], "flows that last from start to end")
    if "receiver_control" in group:
        raise _refused(f"{path}.receiver_control", group.receiver_control["kind"], "a sender with its own window only")
    control = group.control
    if control["kind"] not in CONTROLS:
        raise _refused(f"{path}.control", control["kind"], " or ".join(CONTROLS))
    if isinstance(group.rtt, list):
        raise _refused(f"{path}.rtt", "a list", "one value; make a group for each")
    rtt = _seconds(group.rtt) + link_delay_s
    if rtt <= 0:
        raise _refused(f"{path}.rtt", group.rtt, "a base round-trip time above zero")
    if control["kind"] == "newreno":
        return Class(group.name, "newreno", group.flows, rtt)
    return Class(group.name, "ledbat", group.flows, rtt, _seconds(control.target), control.gain)


def _group(one: Class, goodput: float, total: float, drop_rate: float, rtt_ms: Mapping[str, float]) -> dict[str, Any]:
    return {
        "share": goodput / total if total else None,
        "goodput_mbps": goodput,
        "drop_rate": drop_rate,
        "mark_rate": 0.0,
        "ack_drop_rate": None,
        "syn_drops": None,
        "retransmissions": None,
        "timeouts": None,
        "jain": 1.0,
        "rtt_ms": dict(rtt_ms),
    }


def _refused(key: str, found: object, allowed: str) -> _native.InputError:
    message = f"{key}: the fluid model cannot have {found}; allowed: {allowed} ({spelled('world', 'sim')} can)"
    return input_error(message, key=key, found=str(found), allowed=allowed)


def _seconds(text: str) -> float:
    return amount(text, "s")


def _bytes(text: str) -> int:
    return round(amount(text, "B"))


def _packets(key: str, text: str, packet_bytes: int, packets_per_s: float) -> float:
    number, unit = _native.quantity(text) or (0.0, "")
    per_packet = {"packets": 1.0, "B": float(packet_bytes), "s": 1 / packets_per_s}
    if unit not in per_packet:
        raise _refused(key, text, "packets, bytes, or time at the link's rate")
    return number / per_packet[unit]
