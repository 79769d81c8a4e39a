"""Campaigns: one scenario over the points of a plan, several seeds each, into one dataset of Parquet files."""

from sojourn.data.dataset import Dataset
from sojourn.sweeps.plan import Plan

__all__ = ["Dataset", "Plan"]
