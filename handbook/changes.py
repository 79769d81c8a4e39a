"""The figure of the page on changes: the same link loses half of its rate before two queues."""

from pathlib import Path

from matplotlib.figure import Figure

import sojourn
from handbook.figures import DPI
from handbook.pages import DOCS
from sojourn.figures.series import Series
from sojourn.figures.style import INK, PAGE_WIDTH_IN, Drawing, family, styled

PAGE = DOCS / "guide" / "changes.md"
IMAGE = DOCS / "images" / "changes.png"
SCENARIO = "sudden-changes"
QUEUES = {"droptail": {}, "fq_codel": {"bottleneck.queue": "fq_codel"}}
"""What is set of the scenario for each: its own queue is DropTail with 100 packets."""
BINS = 300


def draw() -> Path:
    """Draw the figure and return its file."""
    with styled():
        figure().savefig(IMAGE, dpi=DPI, metadata={})
    return IMAGE


def figure() -> Figure:
    """Queueing delay and what the link sends over time, for each queue; the change as a line."""
    drawing = Drawing(figsize=(PAGE_WIDTH_IN, 3.2), layout="constrained")
    delay, sent = drawing.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    scenario = sojourn.Scenario.load(SCENARIO)
    for position, (queue, keys) in enumerate(QUEUES.items()):
        series = Series(sojourn.Scenario.load(SCENARIO, keys).run(runs=1), 0, BINS)
        delay.plot(series.times_s, series.queue_ms(), color=family(position), label=queue)
        rates = sum(series.delivered_mbps(group).sum(axis=0) for group in series.crossing)
        sent.plot(series.times_s, rates, color=family(position))
    for axes, label in ((delay, "delay [ms]"), (sent, "goodput [Mbit/s]")):
        for change in scenario.to_dict()["change"]:
            axes.axvline(float(change["at"].removesuffix(" s")), color=INK, linewidth=0.8, linestyle=":")
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
    delay.legend(loc="upper left", ncols=2)
    sent.set_xlabel("time [s]")
    sent.set_xlim(0, scenario.duration_s)
    return drawing
