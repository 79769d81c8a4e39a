"""Sojourn: a packet-level laboratory for bufferbloat, queue disciplines x congestion controls.

>>> import sojourn
>>> scenario = sojourn.Scenario.load("motivating-red", overrides={"duration": "2 s"})
>>> result = scenario.run(runs=2)
>>> 0 <= result.summary["bottleneck_utilization"]["mean"] <= 1
True

Times are in seconds or milliseconds, sizes in bytes or packets, rates in Mbit/s, as their names say.
"""

from sojourn._native import InputError, Interrupted, __version__
from sojourn.api import Scenario, scenario
from sojourn.catalogue import catalogue
from sojourn.result import Result
from sojourn.sweep import Dataset, Plan

__all__ = ["Dataset", "InputError", "Interrupted", "Plan", "Result", "Scenario", "__version__", "catalogue", "scenario"]
