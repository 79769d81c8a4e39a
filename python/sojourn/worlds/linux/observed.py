"""What a kernel's report says, as arrays over the bins of the run."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sojourn.record import Record
from sojourn.worlds.linux import idle
from sojourn.worlds.linux.crossing import Crossing, crossing
from sojourn.worlds.linux.errors import JobError
from sojourn.worlds.linux.plan import PROBE, RECEIVED, SENT, Job, topology
from sojourn.worlds.linux.plan.changes import State, rates_bps
from sojourn.worlds.linux.plan.flows import Flow
from sojourn.worlds.linux.plan.shaping import shapes_itself


@dataclass(frozen=True)
class Observed:
    """One run on a kernel."""

    job: Job
    report: Record
    crossings: dict[str, Crossing]
    """What crossed each link's queue."""
    ends: Mapping[int, Crossing] | None = None
    """What crossed the whole path, by the numbers of the flows that both ends were watched of; None for none."""

    @classmethod
    def read(cls, folder: Path, job: Job) -> "Observed":
        """Read what a job left in its folder; raises JobError where the capture is not whole."""
        report = Record.parse((folder / "report.json").read_text(encoding="utf-8"))
        lost = sum(capture.lost for capture in report.captures)
        if lost:
            raise JobError(
                f"the capture missed {lost} packets: this machine is too slow for this rate in real time. "
                "The kernel uml-virtual has time for every packet"
            )
        crossings = {link: _crossed(folder, place) for link, place in job.places.items()}
        sent, received = (folder / f"{name}.pkts" for _, _, name in (SENT, RECEIVED))
        ends = _of_flows(job, crossing(sent, received, _network(topology.FAR))) if sent.exists() else None
        return cls(job, report, crossings, ends).checked()

    def checked(self) -> "Observed":
        """Return it; raises JobError where a flow or a link did not do what the plan says."""
        self._check()
        for link, at in self.crossings.items():
            if self._is_held_back(link):
                continue
            missing = idle.shortfall(idle.owed_bits(at, self.sendable(link)), _passed_bits(at))
            if missing:
                raise JobError(f"the link {link} {missing}")
        return self

    def _state(self, link: str) -> State:
        assert self.job.fit, "a link that was crossed is in the plan"  # noqa: S101
        return self.job.fit.links[link]

    def _is_held_back(self, link: str) -> bool:
        """Tell whether a queue may let packets wait beside an idle link: one with rates of its own."""
        queue = self._state(link).queue
        return shapes_itself(queue) or queue.name == "htb"

    def sendable(self, link: str) -> idle.Sendable:
        """Return what a link can send until each of some times, in bits."""
        facts = self._state(link).facts
        steps = self.job.fit.steps if self.job.fit else ()
        return idle.sendable(rates_bps(facts.rate_bps, steps, link))

    def _check(self) -> None:
        """Raise JobError where a flow did not do what the plan says, and the queue was not the reason."""
        for flow in self.job.flows:
            name = f"flow {flow.index} of group {flow.group}"
            problem, data, at = self.report.flows[flow.id].get("problem"), self.of(flow), self._at(flow)
            delivered = np.nansum(self.per_bin(flow, "delivered_bytes"))
            if problem and not delivered and not (at is not None and np.isnan(at.left_s[data]).any()):
                raise JobError(f"{name} delivered nothing: {problem}")
            if flow.ecn and at is not None and data.any() and not at.capable[data].any():
                raise JobError(f"{name}: ECN was not negotiated, although the scenario asks for it")

    def _at(self, flow: Flow) -> Crossing | None:
        return self.crossings.get(flow.route.main or "")

    @property
    def remarks(self) -> list[str]:
        """What a reader should know: what Linux does otherwise, and which flows ended before their time."""
        ended = [
            f"flow {flow.index} of group {flow.group} ended before its time: {problem}"
            for flow in self.job.flows
            if (problem := self.report.flows[flow.id].get("problem"))
        ]
        skipped = [
            f"flow {flow.index} of group {flow.group} skipped {packets} datagrams that it could not send in time"
            for flow in self.job.flows
            if (packets := self.report.flows[flow.id].get("skipped_packets"))
        ]
        return [*self.job.remarks, *ended, *skipped]

    @property
    def links(self) -> list[str]:
        """The links of the run, whether anybody stood at their queues or not."""
        return [*self.crossings, *self.job.unseen]

    @property
    def duration_s(self) -> float:
        """Length of the run."""
        return float(self.job.plan["duration_s"])

    @property
    def warmup_s(self) -> float:
        """From when on it is measured."""
        return float(self.job.plan["warmup_s"])

    @property
    def bin_s(self) -> float:
        """Width of a bin."""
        return float(self.job.plan["bin_s"])

    @cached_property
    def bins(self) -> Any:
        """Start of each bin in seconds."""
        return np.arange(round(self.duration_s / self.bin_s)) * self.bin_s

    @cached_property
    def measured_bins(self) -> Any:
        """Which bins begin after the warm-up."""
        return self.bins >= self.warmup_s - 1e-9

    def per_bin(self, flow: Flow, name: str) -> Any:
        """Return a list of a flow's report with one value for each bin; NaN where there is none."""
        values = self.report.flows[flow.id].get(name)
        found = np.full(len(self.bins), np.nan)
        if values is not None:
            known = np.array([np.nan if value is None else value for value in values], dtype=np.float64)[: len(found)]
            found[: len(known)] = known
        return found

    def counted(self, link: str, name: str) -> Any:
        """Return a counter of a link's queue at the start and at the end of each bin."""
        return np.array(self.report.queues[link][name], dtype=np.float64)

    def of(self, flow: Flow) -> Any:
        """Return which packets at its main link are a flow's data."""
        at = self._at(flow)
        return None if at is None else are_data(flow, at)

    @cached_property
    def probe_ms(self) -> tuple[Any, Any, float | None]:
        """When probes were sent, their queueing delays (round-trip time less base; NaN for lost ones), and the base."""
        ping = next(ping for ping in self.report.pings if ping.id == PROBE)
        sent_s = np.array(ping.sent_s, dtype=np.float64)
        rtt_ms = np.array([np.nan if value is None else value for value in ping.rtt_ms], dtype=np.float64)
        # A path that others use may never be empty in the seconds before: there the paper's own base is taken, the
        # least of all.
        is_base = (sent_s < 0) | bool(self.job.unseen)
        quiet = rtt_ms[is_base & ~np.isnan(rtt_ms)]
        base_ms = float(quiet.min()) if len(quiet) else None
        return sent_s, rtt_ms - (np.nan if base_ms is None else base_ms), base_ms


def _crossed(folder: Path, place: topology.Place) -> Crossing:
    before, behind = (folder / f"{name}.pkts" for name in place.captures)
    return crossing(before, behind, _network(place.toward))


def _passed_bits(at: Crossing) -> float:
    return float(at.bytes[~np.isnan(at.left_s)].sum() * 8)


def are_data(flow: Flow, at: Crossing) -> Any:
    """Return which of the packets that crossed a link are a flow's data."""
    return (at.source == _number(flow.source)) & (at.destination == _number(flow.sink))


def _of_flows(job: Job, at: Crossing) -> dict[int, Crossing]:
    return {flow.id: at.only(are_data(flow, at)) for flow in job.flows if flow.forward}


def _number(address: str) -> int:
    return int(ipaddress.IPv4Address(address))


def _network(text: str) -> tuple[int, int]:
    network = ipaddress.IPv4Network(text)
    return int(network.network_address), int(network.netmask)
