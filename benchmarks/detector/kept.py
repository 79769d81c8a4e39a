"""Logs of probes as they are kept: what both ends saw of each packet, to 1 us, so that another twin can be compared."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sojourn.detect.log import FlowLog, Log
from sojourn.detect.plan import OVERLOAD, PROBES, Stage, find, load, overload
from sojourn.detect.probe import Probed

_US = 1e6
_ENCODED = ("sent_us", "wait_us", "size_bytes")


@dataclass(frozen=True)
class Kept:
    """A folder with a file for each probe."""

    folder: Path

    def _file(self, number: int) -> Path:
        return self.folder / f"{number:03d}.parquet"

    def write(self, number: int, seen: Probed) -> None:
        """Keep the logs of a probe."""
        parts = [
            _table(stage.name, name, flow) for stage in seen.stages for name, flow in seen.logs[stage.name].items()
        ]
        self.folder.mkdir(parents=True, exist_ok=True)
        table = pa.concat_tables([part for part in parts if len(part)])
        pq.write_table(
            table,
            self._file(number),
            compression="zstd",
            compression_level=19,
            use_dictionary=["stage", "flow"],
            column_encoding=dict.fromkeys(_ENCODED, "DELTA_BINARY_PACKED"),
        )

    def read(self, about: dict[str, Any]) -> Probed:
        """Return the probe of a line of results as it was seen."""
        table = pq.read_table(self._file(about["number"]))
        stages = [_stage(about["rate_bps"], *one) for one in about["plan"]]
        logs: dict[str, Log] = {}
        columns = {name: np.asarray(table[name]) for name in (*_ENCODED, "marked")}
        of_stage, of_flow = (np.asarray(table[name].cast(pa.string())) for name in ("stage", "flow"))
        for stage in stages:
            owns = {name: (of_stage == stage.name) & (of_flow == name) for name in PROBES}
            # Probes were longer once; of a log counts what today's would have sent.
            sent = columns["sent_us"] < stage.active_s * _US
            logs[stage.name] = {
                name: _log({key: column[own & sent] for key, column in columns.items()})
                for name, own in owns.items()
                if (own & sent).any()
            }
        return Probed(about["rate_bps"], about["rtt_ms"], logs, stages)


def plan_of(seen: Probed) -> list[tuple[str, float, float]]:
    """Return what the stages of a probe are made of: name, length and rate of the overload."""
    return [(stage.name, stage.active_s, stage.overload_bps) for stage in seen.stages]


def _stage(rate_bps: float, name: str, active_s: float, overload_bps: float) -> Stage:
    if name == "find":
        return find()
    return load(rate_bps) if name == "load" else overload(overload_bps / OVERLOAD, active_s)


def _table(stage: str, name: str, flow: FlowLog) -> pa.Table:
    waits_us = np.nan_to_num(np.round(flow.delay_s * _US)).astype(np.int32)
    size = len(flow.sent_s)
    return pa.table(
        {
            "stage": [stage] * size,
            "flow": [name] * size,
            "sent_us": np.round(flow.sent_s * _US).astype(np.int32),
            "wait_us": pa.array(waits_us, mask=flow.lost),
            "size_bytes": flow.size_bytes.astype(np.int32),
            "marked": flow.marked,
        }
    )


def _log(columns: dict[str, Any]) -> FlowLog:
    sent_s = columns["sent_us"] / _US
    # What is null is NaN here.
    received_s = sent_s + columns["wait_us"] / _US
    return FlowLog(sent_s, received_s, columns["size_bytes"].astype(np.int64), columns["marked"])
