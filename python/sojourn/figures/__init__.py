"""Figures of results, ready for a paper: vector or 300 dpi, in colours that survive colour blindness."""

from sojourn.figures.controller import controller
from sojourn.figures.style import save_figure
from sojourn.figures.timeline import timeline
from sojourn.figures.under_load import under_load
from sojourn.figures.utilization import utilization
from sojourn.figures.window import windows

__all__ = ["controller", "save_figure", "timeline", "under_load", "utilization", "windows"]
