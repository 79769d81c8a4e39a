"""The Python API: scenarios, results and their tables."""

import copy
import pickle
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sojourn
from conftest import SMALL
from sojourn.record import Record

COLUMNS = {
    "queue": [
        "seed",
        "link",
        "time_s",
        "queue_packets",
        "queue_bytes",
        "queue_ms",
        "arrivals",
        "departures",
        "drops",
        "marks",
        "sent_bytes",
    ],
    "flows": [
        "seed",
        "time_s",
        "group",
        "index",
        "delivered_bytes",
        "cwnd_packets",
        "rtt_ms",
        "one_way_delay_ms",
    ],
    "packets": ["seed", "time_ns", "event", "group", "index", "kind", "seq", "size_bytes", "ecn", "dscp", "sojourn_ns"],
}


def test_a_scenario_from_a_dictionary_is_the_one_from_the_file(small_scenario: sojourn.Scenario) -> None:
    tables = tomllib.loads(SMALL)
    assert sojourn.scenario(tables).to_dict() == small_scenario.to_dict()
    assert sojourn.scenario(**tables).to_dict() == small_scenario.to_dict()
    assert sojourn.scenario(tables, duration="3 s").duration_s == 3


def test_a_resolved_scenario_resolves_to_itself(small_scenario: sojourn.Scenario) -> None:
    assert sojourn.scenario(small_scenario.to_dict()).to_dict() == small_scenario.to_dict()
    assert sojourn.scenario(tomllib.loads(small_scenario.to_toml())).to_dict() == small_scenario.to_dict()


def test_properties_tell_the_scenario(small_scenario: sojourn.Scenario) -> None:
    assert small_scenario.name == "small"
    assert small_scenario.groups == {"tcp": 2, "background": 1}
    assert (small_scenario.duration_s, small_scenario.warmup_s) == (2, 0)
    assert (small_scenario.seed, small_scenario.runs) == (1, 1)
    assert "small: 2 tcp, 1 background" in repr(small_scenario)


def test_overrides_as_a_mapping_and_as_a_list_agree(small_file: Path) -> None:
    mapping = sojourn.Scenario.load(small_file, {"duration": "3 s", "runs": 4})
    listed = sojourn.Scenario.load(small_file, ["duration=3 s", "runs=4"])
    assert mapping.to_dict() == listed.to_dict()
    assert (mapping.duration_s, mapping.runs) == (3, 4)


def test_wrong_input_says_where(small_file: Path) -> None:
    small_file.write_text(SMALL.replace('control = "ledbat"', 'control = "ledbta"'), encoding="utf-8")
    with pytest.raises(sojourn.InputError) as caught:
        sojourn.Scenario.load(small_file)
    (diagnostic,) = caught.value.diagnostics
    assert set(diagnostic) == {"file", "line", "key", "found", "allowed", "nearest", "message"}
    assert diagnostic["line"] == SMALL.splitlines().index('control = "ledbat"') + 1
    assert diagnostic["nearest"] == "ledbat"


def test_a_missing_file_says_so_in_the_same_way(tmp_path: Path) -> None:
    with pytest.raises(sojourn.InputError) as caught:
        sojourn.Scenario.load(tmp_path / "none.toml")
    assert caught.value.diagnostics[0]["file"] == str(tmp_path / "none.toml")


def test_runs_count_on_from_the_seed(small_scenario: sojourn.Scenario) -> None:
    result = small_scenario.run(runs=3, seed=10, series=False)
    assert [run.seed for run in result.runs] == [10, 11, 12]
    assert result.scenario.runs == 3
    assert result.scenario.seed == 10


def test_a_run_is_the_same_alone_and_among_others(small_scenario: sojourn.Scenario) -> None:
    alone = small_scenario.run(seed=2, series=False).runs[0]
    among = small_scenario.run(runs=3, seed=1, series=False, jobs=2).runs[1]
    assert alone | {"wall_s": None} == among | {"wall_s": None}


def test_records_hold_what_design_names(small_result: sojourn.Result) -> None:
    run = small_result.runs[0]
    assert 0 <= run.bottleneck.utilization <= 1
    assert run.bottleneck.queue_ms.p50 <= run.bottleneck.queue_ms.p99 <= run.bottleneck.queue_ms.max
    assert run.groups.tcp.share + run.groups.background.share == pytest.approx(1)
    assert [(flow.group, flow.index) for flow in run.flows] == [("tcp", 0), ("tcp", 1), ("background", 0)]


def test_round_trip_times_have_quantiles_on_both_sides_of_the_median() -> None:
    given = {"name": "pings", "duration": "20 s", "bottleneck": {"rate": "10 Mbit/s", "queue": "droptail"}}
    ping = {"name": "ping", "rtt": "20 ms", "traffic": "ping"}

    def quantiles(*others: Mapping[str, Any]) -> list[float]:
        (record,) = sojourn.scenario({**given, "group": [ping, *others]}).run(runs=1).runs
        times = record.groups.ping.rtt_ms
        return [times.p10, times.p25, times.p50, times.p75, times.p90]

    alone, beside = quantiles(), quantiles({"name": "tcp", "control": "cubic", "rtt": "20 ms"})
    assert alone == pytest.approx([alone[0]] * 5, rel=2e-3)
    assert beside == sorted(beside)
    assert alone[0] < beside[0] < 0.9 * beside[-1]


def test_progress_grows_to_the_end(small_file: Path) -> None:
    told: list[float] = []
    sojourn.Scenario.load(small_file, {"duration": "100 s", "runs": 10}).run(series=False, progress=told.append)
    assert told == sorted(told)
    assert all(0 <= fraction <= 1 for fraction in told)


@pytest.mark.parametrize("name", ["queue", "flows", "packets"])
def test_tables_have_the_columns_of_the_contract(small_result: sojourn.Result, name: str) -> None:
    table = getattr(small_result, name)
    assert isinstance(table, pa.Table)
    assert table.column_names == COLUMNS[name]
    assert set(table["seed"].to_pylist()) == {1, 2, 3}
    assert table.num_rows > 0


def test_series_and_record_tell_the_same_story(small_result: sojourn.Result) -> None:
    for run in small_result.runs:
        queue = small_result.queue.filter(pc.equal(small_result.queue["seed"], run.seed))
        queue = queue.filter(pc.equal(queue["link"].cast(pa.string()), "bottleneck"))
        assert pc.sum(queue["drops"]).as_py() == run.bottleneck.drops
        assert pc.sum(queue["departures"]).as_py() == run.bottleneck.departures
        assert pc.mean(queue["queue_packets"]).as_py() == pytest.approx(run.bottleneck.queue_packets.mean)
        flows = small_result.flows.filter(pc.equal(small_result.flows["seed"], run.seed))
        assert pc.sum(flows["delivered_bytes"]).as_py() == sum(flow.delivered_bytes for flow in run.flows)


def test_packets_and_record_tell_the_same_story(small_result: sojourn.Result) -> None:
    for run in small_result.runs:
        packets = small_result.packets.filter(pc.equal(small_result.packets["seed"], run.seed))
        counts = Counter(packets["event"].cast(pa.string()).to_pylist())
        assert counts["arrival"] == run.bottleneck.arrivals
        assert counts["departure"] == run.bottleneck.departures
        assert counts["drop"] == run.bottleneck.drops


def test_what_was_not_kept_is_not_there(small_scenario: sojourn.Scenario) -> None:
    result = small_scenario.run(series=False)
    for name in ("queue", "flows", "packets"):
        with pytest.raises(ValueError, match=name):
            getattr(result, name)


def test_a_result_shows_itself_in_a_notebook(small_result: sojourn.Result) -> None:
    html = small_result._repr_html_()
    assert "<table>" in html
    assert "utilization [%]" in html
    assert "background" in html
    picture = small_result.plot()
    assert picture._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_data_frames_where_their_library_is_installed(small_result: sojourn.Result) -> None:
    pandas = pytest.importorskip("pandas")
    assert isinstance(small_result.to_pandas("queue"), pandas.DataFrame)
    polars = pytest.importorskip("polars")
    assert isinstance(small_result.to_polars("queue"), polars.DataFrame)


def test_a_record_is_a_dictionary_and_an_object() -> None:
    record = Record.parse('{"a": {"b": [{"c": 1}]}}')
    assert record.a.b[0].c == record["a"]["b"][0]["c"] == 1
    assert copy.deepcopy(record) == record
    assert pickle.loads(pickle.dumps(record)) == record
    with pytest.raises(AttributeError, match="there is: a"):
        _ = record.missing
