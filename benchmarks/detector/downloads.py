"""Downloads over the paths of the test, captured behind the queue: what the passive mode says of each."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.detector.cases import Case
from benchmarks.detector.collect import conditions
from sojourn import api
from sojourn.detect.captured import read_streams
from sojourn.detect.passive import Passive, passive, values_of
from sojourn.detect.stored import load_model
from sojourn.detect.streams import Stream

SECONDS = 12.0
_CONTROLS = ("cubic", "cubic", "newreno")
_BESIDE: tuple[dict[str, Any] | None, ...] = (
    None,
    {"name": "second", "start": "1 s"},
    {
        "name": "second",
        "start": "1 s",
        "traffic": {"kind": "on-off", "on": "30 ms", "off": "300 ms"},
    },
)


def _scenario(case: Case) -> dict[str, Any]:
    transport = {"preset": "linux", "ecn": case.number % 4 == 0}
    control = _CONTROLS[case.number // 18 % len(_CONTROLS)]
    download = {"name": "download", "rtt": f"{case.rtt_ms:.3f} ms", "control": control, "transport": transport}
    other = _BESIDE[(case.number // 18 + case.number) % len(_BESIDE)]
    beside = [] if other is None else [{**download, **other}]
    groups = [download, *beside, *case.path.others]
    return {"duration": f"{SECONDS} s", "seed": case.number + 1, **case.path.links, "group": groups}


def _streams(case: Case, how: dict[str, Any]) -> tuple[list[Stream], bool]:
    """Return the streams of a download, and whether there were two."""
    scenario = _scenario(case)
    has_second = any(group["name"] == "second" for group in scenario["group"])
    result = api.scenario(scenario).run(series=False, packets=True, jobs=1, **how)
    with tempfile.TemporaryDirectory() as folder:
        if how["world"] == "sim":
            result.write_pcaps(Path(folder))
            (file,) = Path(folder).iterdir()
        else:
            file = Path(folder) / "result"
            result.save(file)
        return read_streams(file)[0], has_second


def observe(case: Case, how: dict[str, Any]) -> dict[str, Any]:
    """Return what a download shows, and its conditions; or why it shows nothing."""
    about = conditions(case, how)
    try:
        streams, has_second = _streams(case, how)
    except Exception as error:  # a failed download is a result
        return {**about, "error": f"{type(error).__name__}: {error}"}
    found: Passive = passive(streams, load_model())
    values = {name: None if np.isnan(value) else value for name, value in values_of(streams).items()}
    keys = ("isolated", "rate_mbps", "rtt_ms", "seconds", "lost")
    said = {f"said_{key}": getattr(found, key) for key in keys}
    return {**about, "features": values, "has_second": has_second, "cannot": dict(found.cannot), **said}
