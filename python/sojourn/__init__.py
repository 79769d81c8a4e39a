"""Sojourn: a packet-level laboratory for bufferbloat, queue disciplines x congestion controls.

>>> import sojourn
>>> scenario = sojourn.Scenario.load("motivating-red", overrides={"duration": "2 s"})
>>> result = scenario.run(runs=2)
>>> 0 <= result.summary["bottleneck_utilization"]["mean"] <= 1
True

Times are in seconds or milliseconds, sizes in bytes or packets, rates in Mbit/s, as their names say.
"""

from typing import TYPE_CHECKING

from sojourn._native import InputError, Interrupted, PluginError, __version__
from sojourn.needed import by_need

if TYPE_CHECKING:
    from sojourn.api import Scenario, scenario
    from sojourn.campaign import sweep
    from sojourn.comparison import Comparison, compare
    from sojourn.data.dataset import Dataset
    from sojourn.plugins import choice, control, discipline, flag, integer, number, rate, shaper, time, traffic
    from sojourn.registry import catalogue
    from sojourn.result import Result
    from sojourn.sweeps.plan import Plan

__all__ = [
    "Comparison",
    "Dataset",
    "InputError",
    "Interrupted",
    "Plan",
    "PluginError",
    "Result",
    "Scenario",
    "__version__",
    "catalogue",
    "choice",
    "compare",
    "control",
    "discipline",
    "flag",
    "integer",
    "number",
    "rate",
    "scenario",
    "shaper",
    "sweep",
    "time",
    "traffic",
]

__getattr__, __dir__ = by_need(
    __name__,
    {
        "api": ("Scenario", "scenario"),
        "campaign": ("sweep",),
        "comparison": ("Comparison", "compare"),
        "data.dataset": ("Dataset",),
        "plugins": (
            "choice",
            "control",
            "discipline",
            "flag",
            "integer",
            "number",
            "rate",
            "shaper",
            "time",
            "traffic",
        ),
        "registry": ("catalogue",),
        "result": ("Result",),
        "sweeps.plan": ("Plan",),
    },
)
