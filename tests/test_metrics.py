"""Metrics are declared where the record is: every number of a record is one, and every one is some record's."""

import sojourn
from sojourn.data import metrics

# Between them they have stations, classes, calls, trains, pages, films, padding, transfers, hops and phases.
SCENARIOS = ("wifi-home", "cable-modem", "rrul", "voip-under-load", "traffic-mix", "web-pages", "video", "padding")


def test_every_number_of_a_record_is_a_metric() -> None:
    for name in SCENARIOS:
        found = sojourn.Scenario.load(name).run(runs=1, delays=True)
        unknown = [one for one in metrics.values(found.runs[0]) if metrics.find(one) is None]
        assert not unknown, name


def test_a_part_has_the_unit_of_its_distribution_and_a_count_has_none() -> None:
    assert (metrics.find("fct_ms_count.tcp").unit, metrics.find("fct_ms_p50.tcp").unit) == ("", "ms")
    assert metrics.find("bottleneck_queue_bytes_max").unit == "bytes"
    assert metrics.find("voip_loss.call").percent
    assert not metrics.find("jain.tcp").percent
