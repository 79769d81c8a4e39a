"""The picture of a session: delay over time, and the padding below it."""

from matplotlib.figure import Figure

from sojourn.figures.style import FAMILIES, drawn
from sojourn.pad.session import Record


def picture(record: Record, target_s: float) -> Figure:
    """Draw the queueing delay that the probes saw and the rate of the padding."""
    with drawn(3.2) as figure:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        times = [at for at, _ in record.rtts]
        above.plot(times, [1e3 * (rtt - record.base_s) for _, rtt in record.rtts], color=FAMILIES[0], linewidth=0.8)
        above.axhline(1e3 * target_s, color=FAMILIES[1], linewidth=0.8, linestyle="--", label="target")
        above.set_ylabel("queueing delay [ms]")
        above.set_ylim(bottom=0)
        above.legend(loc="upper right")
        steps = [*record.rates, (record.elapsed_s, record.rates[-1][1])]
        below.step([at for at, _ in steps], [rate for _, rate in steps], where="post", color=FAMILIES[2])
        below.set_ylabel("padding [packets/s]")
        below.set_ylim(bottom=0)
        below.set_xlabel("time [s]")
    return figure
