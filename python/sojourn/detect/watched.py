"""Downloads over paths drawn at random, as a capture behind the queue sees them: what the passive model learns from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn import api
from sojourn.detect.download import beside, features, rate_bps
from sojourn.detect.draw import Drawn, draw
from sojourn.detect.log import FlowLog, Log, of_table
from sojourn.detect.probe import late
from sojourn.detect.streams import of_logs

GREEDY, OTHER = "download", "beside"
SECONDS = (5.0, 25.0)
# Longer ones teach nothing, and take long to simulate.
_MOST_BITS, _LEAST_S = 8e8, 3.0
# What servers send with; clocks of 1 ms are usual, those of 4 and 10 ms are old.
_CONTROLS: tuple[Any, ...] = ("cubic", "cubic", "cubic", {"kind": "cubic", "preset": "rfc"}, "newreno", "bbr", "bbr3")
_TICKS_S = (1e-3, 1e-3, 1e-3, 1e-3, 4e-3, 1e-2)


@dataclass(frozen=True)
class Download:
    """A download over a path that was drawn, and how it is seen."""

    drawn: Drawn
    scenario: Mapping[str, Any]
    is_ect: bool
    tick_s: float
    """Resolution of the sender's timestamps."""
    knows_rtt: bool
    """Whether the capture shows a round-trip time."""


def draw_download(name: str, random: np.random.Generator) -> Download:
    """Draw a path whose queue has a name of `FAMILIES`, and a download that crosses it."""
    drawn = draw(name, random)
    is_ect = bool(random.random() < 0.3)  # noqa: PLR2004 (shares of downloads)
    seconds = float(np.exp(random.uniform(*np.log(SECONDS))))
    seconds = min(seconds, max(_LEAST_S, _MOST_BITS / (drawn.rate_mbps * 1e6)))
    transport = {"preset": "linux", "ecn": is_ect}
    control = _CONTROLS[int(random.integers(len(_CONTROLS)))]
    greedy = {"name": GREEDY, "rtt": drawn.path.rtt, "control": control, "transport": transport}
    scenario = {
        "duration": f"{seconds:.6f} s",
        "seed": int(random.integers(1 << 31)),
        **drawn.path.links,
        "group": [greedy, *_beside(greedy, random), *drawn.path.others],
    }
    tick_s = _TICKS_S[int(random.integers(len(_TICKS_S)))]
    return Download(drawn, scenario, is_ect, tick_s, bool(random.random() < 0.7))  # noqa: PLR2004


def _beside(download: Mapping[str, Any], random: np.random.Generator) -> list[dict[str, Any]]:
    """Draw another flow to the same host: none, a thin one, or a second download."""
    thin = {"traffic": {"kind": "train", "count": 1, "packet": "120 B", "every": "0.04 s"}}
    pairs = {"traffic": {"kind": "train", "count": 2, "packet": "900 B", "every": "0.1 s"}}
    kinds: tuple[dict[str, Any] | None, ...] = (None, None, thin, pairs, {**download, "start": "1 s"})
    chosen = kinds[int(random.integers(len(kinds)))]
    return [] if chosen is None else [{"rtt": download["rtt"], **chosen, "name": OTHER}]


def watch(download: Download, random: np.random.Generator) -> dict[str, float]:
    """Simulate a download and return what a capture of it shows."""
    result = api.scenario(download.scenario).run(series=False, packets=True, jobs=1)
    drawn = download.drawn
    logs: Log = {
        name: _stamped(late(flow, drawn.skew_ppm, drawn.noise_s, random), download.tick_s)
        for name, flow in of_table(result.packets).items()
        if name in (GREEDY, OTHER) and len(flow.sent_s)
    }
    others = [(name, flow) for name, flow in logs.items() if name != GREEDY]
    rtt_s = drawn.rtt_ms / 1e3 if download.knows_rtt else None
    greedy = logs[GREEDY]
    return features(
        greedy,
        rate_bps(of_logs(logs)),
        is_ect=download.is_ect,
        rtt_s=rtt_s,
        other=beside(greedy, others, download.tick_s),
    )


def _stamped(flow: FlowLog, tick_s: float) -> FlowLog:
    """Return what a capture sees of a flow: when packets were sent, only in ticks of the sender's clock."""
    return FlowLog(np.floor(flow.sent_s / tick_s) * tick_s, flow.received_s, flow.size_bytes, flow.marked)
