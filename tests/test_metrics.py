"""Metrics are declared where the record is: every number of a record is one, and every one is some record's."""

from collections.abc import Mapping
from typing import Any

import sojourn
from sojourn.data import metrics

# Between them they have stations, classes, hops, calls, pings, transfers, pages, films and padding.
SCENARIOS = ("wifi-home", "four-classes", "home-network", "rrul", "traffic-mix", "web-pages", "padding")
MORE = {
    "phase": [{"name": "all", "from": "10 s", "to": "20 s"}],
    "group": [{"name": "train", "rtt": "20 ms", "traffic": {"kind": "train", "count": 5, "every": "100 ms"}}],
}


def unknown(run: Mapping[str, Any]) -> list[str]:
    """Return the names of numbers that are no metrics."""
    return [one for one in metrics.values(run) if metrics.find(one) is None]


def test_every_number_of_a_record_is_a_metric() -> None:
    for name in SCENARIOS:
        found = sojourn.Scenario.load(name).run(runs=1, delays=True)
        assert not unknown(found.runs[0]), name


def test_every_number_of_a_phase_and_of_trains_is_a_metric() -> None:
    link = {"rate": "10 Mbit/s", "queue": "droptail"}
    (run,) = sojourn.scenario({"duration": "30 s", "bottleneck": link, **MORE}).run(runs=1).runs
    assert {"train_ms_p99.train", "phases_all_goodput_mbps.train"} <= metrics.values(run).keys()
    assert not unknown(run)


def test_a_part_has_the_unit_of_its_distribution_and_a_count_has_none() -> None:
    assert (metrics.find("fct_ms_count.tcp").unit, metrics.find("fct_ms_p50.tcp").unit) == ("", "ms")
    assert metrics.find("bottleneck_queue_bytes_max").unit == "bytes"
    assert metrics.find("voip_loss.call").percent
    assert not metrics.find("jain.tcp").percent
