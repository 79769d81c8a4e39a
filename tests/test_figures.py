"""Figures are drawn, not blank, and the same each time."""

from collections.abc import Iterator
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

import sojourn
from sojourn.figures import controller, save_figure, timeline, utilization
from sojourn.figures.series import Series
from sojourn.figures.style import DPI, PAGE_WIDTH_IN, shades


def test_a_png_is_as_wide_as_a_page_and_not_blank(small_result: sojourn.Result, tmp_path: Path) -> None:
    save_figure(timeline(small_result), tmp_path / "t.png")
    pixels = matplotlib.image.imread(tmp_path / "t.png")
    assert pixels.shape[1] == pytest.approx(PAGE_WIDTH_IN * DPI, abs=1)
    assert len(np.unique(pixels[..., 0])) > 10


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_the_same_result_gives_the_same_bytes(small_result: sojourn.Result, tmp_path: Path, suffix: str) -> None:
    for name in ("first", "second"):
        save_figure(utilization([small_result, small_result]), tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"first{suffix}").read_bytes() == (tmp_path / f"second{suffix}").read_bytes()


def test_no_text_is_cut_or_overlaps_another(small_result: sojourn.Result) -> None:
    for figure in (timeline(small_result), utilization([small_result, small_result], ["DropTail", "RED"])):
        FigureCanvasAgg(figure).draw()
        boxes = [text.get_window_extent() for axes in figure.axes for text in _drawn_texts(axes) if text.get_text()]
        page = figure.bbox
        assert len(boxes) > 10
        assert all(page.x0 <= box.x0 and box.x1 <= page.x1 for box in boxes)
        assert not any(one.overlaps(two) for index, one in enumerate(boxes) for two in boxes[:index])


def _drawn_texts(axes: Axes) -> Iterator[Text]:
    yield from (child for child in axes.get_children() if isinstance(child, Text))
    for axis in (axes.xaxis, axes.yaxis):
        yield axis.label
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if low <= tick.get_loc() <= high and tick.label1.get_visible():
                yield tick.label1


def test_what_is_drawn_is_what_was_measured(small_result: sojourn.Result) -> None:
    series = Series(small_result, 0, drawn_bins=10)
    record = small_result.runs[0]
    seconds = np.diff(series.edges_s)
    assert seconds.sum() == pytest.approx(record.duration_s)
    capacity = (series.capacity_mbps() * seconds).sum()
    sent = (series.sent_mbps() * seconds).sum()
    one_packet = 1500 * 8 / 1e6
    assert sent == pytest.approx(record.bottleneck.utilization * capacity, abs=one_packet)
    delivered = (series.delivered_mbps("tcp").sum(axis=0) * seconds).sum() * 1e6 / 8
    assert delivered == pytest.approx(sum(flow.delivered_bytes for flow in record.flows if flow.group == "tcp"))


def test_one_way_delays_are_half_of_the_path_and_the_queue(small_result: sojourn.Result) -> None:
    series = Series(small_result, 0, drawn_bins=10)
    record = small_result.runs[0]
    delays = series.one_way_delay_ms("tcp")
    assert delays.shape == (len([flow for flow in record.flows if flow.group == "tcp"]), len(series.times_s))
    least_ms = float(str(small_result.scenario.group[0].rtt).removesuffix(" ms")) / 2
    assert least_ms < np.nanmin(delays) <= np.nanmax(delays) < least_ms + record.bottleneck.queue_ms.max + 2


def test_the_probes_of_a_discipline_have_a_panel_each(small_scenario: sojourn.Scenario) -> None:
    table = small_scenario.to_dict()
    table["bottleneck"]["queue"] = {"kind": "codel"}
    result = sojourn.scenario(table).run(probes=True)
    figure = controller(result)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["", "dropping", "count", "next_signal_s"]
    shown = [row["value"] for row in result.queue_probes.to_pylist() if row["name"] == "count"]
    assert max(Series(result, 0, drawn_bins=240).queue_probes()["count"]) == max(shown) > 0


def test_a_result_without_probes_says_what_it_lacks(
    small_result: sojourn.Result, small_scenario: sojourn.Scenario
) -> None:
    with pytest.raises(ValueError, match="probes"):
        small_result.plot_controller()
    with pytest.raises(ValueError, match="series=True"):
        small_scenario.run(series=False, probes=True)


def test_flows_of_a_group_have_their_own_shades_of_one_colour() -> None:
    five = shades(0, 5)
    assert len(set(five)) == 5
    assert [sum(shade) for shade in five] == sorted(sum(shade) for shade in five)


def test_a_result_without_series_says_what_it_lacks(small_scenario: sojourn.Scenario) -> None:
    with pytest.raises(ValueError, match="time series"):
        small_scenario.run(series=False).plot()
