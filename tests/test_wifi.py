"""A bottleneck that stations share, over WiFi or in a cell, as the Python side sees it: records, tables, validation."""

import json
from pathlib import Path

import pytest
from benchmarks import wireless

import sojourn
from sojourn.data import metrics

ROOT = Path(__file__).parent.parent


def scenario(**changes):
    tables = {
        "duration": "2 s",
        "bottleneck": {"medium": {"kind": "wifi", "standard": "802.11g"}, "queue": "fq_codel"},
        "station": [{"name": "near", "rate": "54 Mbit/s", "count": 2}, {"name": "far", "rate": "6 Mbit/s"}],
        "group": [{"name": "down", "control": "cubic", "flows": 3, "rtt": "20 ms", "station": ["near", "far"]}],
    }
    return sojourn.scenario(tables | changes)


def test_every_number_of_a_record_with_stations_is_in_the_registry():
    record = scenario().run(series=False).runs[0]
    assert sorted(record["stations"]) == ["far", "near-0", "near-1"]
    unknown = [name for name in metrics.values(record) if metrics.find(name) is None]
    assert not unknown


def test_air_is_shared_and_accounted_for():
    record = scenario().run(series=False).runs[0]
    stations = record["stations"].values()
    used = sum(station["air_down"] + station["air_up"] for station in stations)
    # Where two collide, both have used the same air.
    assert record["bottleneck"]["utilization"] <= used <= 1.2 * record["bottleneck"]["utilization"]
    goodput = sum(station["goodput_down_mbps"] for station in stations)
    assert goodput == pytest.approx(record["groups"]["down"]["goodput_mbps"])


def test_selected_rates_are_as_good_as_the_channel():
    stations = [
        {"name": "near", "snr_db": 35},
        {"name": "walker", "snr_db": 22, "speed_kmh": 4, "shadowing_db": 4},
        {"name": "far", "snr_db": 5},
    ]
    traffic = {"kind": "cbr", "rate": "80 Mbit/s"}
    groups = [{"name": one["name"], "rtt": "10 ms", "station": one["name"], "traffic": traffic} for one in stations]
    medium = {"kind": "wifi", "guard": "400 ns"}
    tables = {"bottleneck": {"medium": medium, "queue": "fq_codel"}, "station": stations, "group": groups}
    ours = scenario(**tables)
    again = sojourn.scenario(ours.to_dict())
    records = [one.run(series=False).runs[0] for one in (ours, again)]
    near, walker, far = (records[0]["groups"][name]["goodput_mbps"] for name in ("near", "walker", "far"))
    assert near > walker > far > 1
    assert records[0]["groups"] == records[1]["groups"]


def test_a_cell_has_the_fields_of_a_medium():
    tables = {
        "bottleneck": {"medium": "lte", "queue": "codel"},
        "station": [{"name": "near", "cqi": 15, "count": 2}, {"name": "far", "snr_db": 5, "speed_kmh": 30}],
    }
    record = scenario(**tables).run(series=False).runs[0]
    assert not [name for name in metrics.values(record) if metrics.find(name) is None]
    shares = [station["air_down"] for station in record["stations"].values()]
    assert sum(shares) == pytest.approx(record["bottleneck"]["utilization"], abs=0.01)
    assert record["bottleneck"]["access"]["collisions"] == 0


@pytest.mark.parametrize("profile", ["ethernet", "vdsl2", "docsis", "gpon", "wifi", "lte", "5g"])
def test_every_kind_of_access_has_a_name(profile):
    groups = [
        {"name": "download", "control": "cubic", "rtt": "20 ms", "direction": direction}
        for direction in ("forward", "reverse")
    ]
    groups[1]["name"] = "upload"
    tables = {"duration": "4 s", "access": {"profile": profile}, "group": groups}
    record = sojourn.scenario(tables).run(series=False).runs[0]
    assert all(group["goodput_mbps"] > 1 for group in record["groups"].values())


def test_links_of_a_wired_scenario_have_no_columns_for_the_air():
    assert metrics.of_links(["bottleneck", "hops_gateway"]) == metrics.LINK


@pytest.mark.parametrize("world", ["fluid", "linux"])
def test_other_worlds_refuse_stations_in_words(world):
    with pytest.raises(sojourn.InputError, match=r"station|medium|wifi"):
        scenario().run(world=world)


def test_the_page_of_validation_is_what_its_numbers_say():
    rows = [wireless.Row(**row) for row in json.loads((ROOT / "benchmarks/results/wireless.json").read_text())]
    assert (ROOT / "docs/validation/wireless.md").read_text() == wireless.render(rows)
    assert all(row.holds for row in rows if row.reference == wireless.FORM)
    assert sum(row.holds for row in rows) >= 93
