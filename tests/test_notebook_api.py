"""What somebody at a notebook expects: variants, equality, copies, data frames, sweeps and comparisons."""

import copy
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import stdtrit
from tests.conftest import SMALL, Command

import sojourn
from sojourn.data.statistics import student_quantile
from sojourn.progress import bar_html

NICE: dict[str, Any] = {
    "duration": "1 s",
    "bottleneck": {"rate": "10 Mbit/s", "queue": "droptail"},
    "group": [
        {"name": "under-linux", "control": "nice", "transport": "linux", "flows": 1, "rtt": "20 ms"},
        {"name": "alone", "control": "nice", "flows": 1, "rtt": "20 ms"},
    ],
}


def goodput(scenario: sojourn.Scenario) -> float | None:
    """Run in another process."""
    return scenario.run(series=False).summary["goodput_mbps.tcp"]["mean"]


def test_a_name_is_not_a_scenario() -> None:
    with pytest.raises(TypeError, match=r"made by sojourn.Scenario.load\(file or name\).*not by Scenario\('first'\)"):
        sojourn.Scenario("first")  # type: ignore[arg-type]


def test_setting_an_attribute_of_a_dictionary_sets_its_key(small_scenario: sojourn.Scenario) -> None:
    tables = small_scenario.to_dict()
    tables.duration = "7 s"
    assert tables["duration"] == "7 s"
    assert sojourn.scenario(tables).duration_s == 7
    del tables.warmup
    assert "warmup" not in tables
    with pytest.raises(AttributeError, match="'items' is a method of dictionaries"):
        tables.items = 3
    with pytest.raises(AttributeError, match="no 'nothing' here"):
        del tables.nothing


def test_equal_scenarios_are_equal_and_work_as_keys(small_file: Path) -> None:
    one, other = sojourn.Scenario.load(small_file), sojourn.Scenario.load(small_file)
    assert one == other
    assert len({one, other}) == 1
    assert one != one.with_(duration="3 s")
    assert one == one.with_(duration="3 s").with_(duration="2 s")
    assert one != "small"


def test_numbers_of_numpy_are_numbers(small_scenario: sojourn.Scenario, small_file: Path) -> None:
    for value in (np.int64(4), np.int32(4), np.uint8(4), np.array(4)):
        assert sojourn.Scenario.load(small_file, {"group.tcp.flows": value}).groups["tcp"] == 4
        assert small_scenario.with_(tcp={"flows": value}).groups["tcp"] == 4
    changed = small_scenario.with_(
        {"bottleneck.queue": {"kind": "red", "weight": np.float32(0.25), "ecn": np.bool_(1)}}
    )
    assert changed.to_dict().bottleneck.queue.weight == 0.25
    tables = {**NICE, "runs": np.int64(3)}
    assert sojourn.scenario(tables).runs == 3
    with pytest.raises(TypeError, match=r"found .*, a object; allowed: texts, numbers"):
        small_scenario.with_(duration=object())


def test_a_variant_is_worked_out_anew(small_scenario: sojourn.Scenario) -> None:
    changed = small_scenario.with_(rate="20 Mbit/s", queue={"kind": "red"}, runs=3, tcp={"flows": 5, "rtt": "40 ms"})
    assert changed.to_dict().bottleneck.rate == "20 Mbit/s"
    assert (changed.runs, changed.groups["tcp"], changed.groups["background"]) == (3, 5, 1)
    assert small_scenario.groups["tcp"] == 2
    # A kind of queue has parameters of its own: those of the other kind are not kept.
    assert changed.with_({"bottleneck.queue.kind": "codel", "bottleneck.queue.limit": "99 packets"}).runs == 3
    with pytest.raises(sojourn.InputError, match="a scenario has no key 'raet'; did you mean 'rate'"):
        small_scenario.with_(raet="20 Mbit/s")
    with pytest.raises(sojourn.InputError, match=r"group.tcp.flow"):
        small_scenario.with_(tcp={"flow": 1})


def test_scenarios_are_copied_pickled_and_sent_to_other_processes(
    small_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small_file.parent)
    scenario = sojourn.Scenario.load(small_file.name).with_(duration="1 s")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    for made in (copy.copy(scenario), copy.deepcopy(scenario), pickle.loads(pickle.dumps(scenario))):
        assert made == scenario
        assert made.with_(runs=2).runs == 2
    with ProcessPoolExecutor(1) as pool:
        assert pool.submit(goodput, scenario).result() == goodput(scenario)


def test_a_copy_of_a_recorded_link_that_changed_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "link.trace"
    trace.write_text("".join(f"{ms}\n" for ms in range(1, 101)), encoding="utf-8")
    path = tmp_path / "recorded.toml"
    path.write_text(SMALL.replace('rate = "10 Mbit/s"', 'trace = "link.trace"'), encoding="utf-8")
    scenario = sojourn.Scenario.load(path)
    kept = pickle.dumps(scenario)
    assert pickle.loads(kept) == scenario
    trace.write_text("".join(f"{ms}\n" for ms in range(2, 101, 2)), encoding="utf-8")
    assert sojourn.Scenario.load(path) != scenario
    with pytest.raises(sojourn.InputError, match="the recorded link of 'small' has changed"):
        pickle.loads(kept)


def test_results_are_saved_loaded_and_pickled_whole(small_scenario: sojourn.Scenario, tmp_path: Path) -> None:
    result = small_scenario.run(runs=2, packets=True, probes=True, transfers=True, bin_s=0.5)
    result.save(tmp_path / "kept")
    for made in (sojourn.Result.load(tmp_path / "kept"), pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert made.document() == result.document()
        assert made.kept == result.kept
        assert made.bin_s == 0.5
        for name in result.kept:
            assert made.table(name).to_pydict() == result.table(name).to_pydict()
        assert made.plot() is not None
    with pytest.raises(ValueError, match="can be written as pcapng"):
        sojourn.Result.load(tmp_path / "kept").write_pcaps(tmp_path)
    with pytest.raises(sojourn.InputError, match="holds no result"):
        sojourn.Result.load(tmp_path)
    (tmp_path / "kept" / "record.json").write_text("{", encoding="utf-8")
    with pytest.raises(sojourn.InputError, match=r"record.json: cannot be read as JSON"):
        sojourn.Result.load(tmp_path / "kept")


def test_delays_are_measured_where_they_are_wanted(small_scenario: sojourn.Scenario) -> None:
    plain, wanted = (small_scenario.run(series=False, runs=1, delays=delays).runs[0] for delays in (False, True))
    for name, group in wanted.groups.items():
        # All that is not queueing is constant here; quantiles of the queue are good to a thirtieth.
        assert group.delay_ms.max - group.queue_ms.max == pytest.approx(
            group.delay_ms.mean - group.queue_ms.mean, abs=2
        )
        # The shortest delay of each flow is its own, and no shorter than that of all.
        assert 0 < group.pdv_ms.mean < group.delay_ms.mean - group.delay_ms.min + 1e-9
        assert "delay_ms" not in plain.groups[name]
        assert group.queue_ms == plain.groups[name].queue_ms


def test_the_summary_is_a_data_frame_without_a_name(small_result: sojourn.Result) -> None:
    frame = small_result._arrow(None)
    assert frame.column_names == ["metric", "mean", "sd", "ci95_low", "ci95_high", "n"]
    rows = {row["metric"]: row for row in frame.to_pylist()}
    assert rows["bottleneck_utilization"]["mean"] == small_result.summary["bottleneck_utilization"]["mean"]
    assert rows["bottleneck_utilization"]["n"] == 3
    pd = pytest.importorskip("pandas")
    assert isinstance(small_result.to_pandas(), pd.DataFrame)


def test_everything_shows_itself(small_scenario: sojourn.Scenario, small_result: sojourn.Result) -> None:
    assert "small" in small_scenario._repr_html_()
    assert "newreno" in small_scenario._repr_html_()
    assert "kept: queue, flows, packets" in repr(small_result)
    dataset = sojourn.sweep(small_scenario.with_(duration="1 s"), axes={"group.tcp.flows": range(1, 11)}, seeds=2)
    assert repr(dataset) == "<sojourn.Dataset sweep: 10 points of 2 run(s), axes: group.tcp.flows>"
    assert "<td>1, 2, 3, 4, 5, 6, 7, 8, and 2 more</td>" in dataset._repr_html_()
    assert "<th>runs</th><td>20 rows</td>" in dataset._repr_html_()
    assert 'value="0.250"' in bar_html("<b>", 0.25, "x")
    assert "&lt;b&gt;" in bar_html("<b>", 0.25, "x")


def test_what_the_transport_chose_is_said(command: Command, tmp_path: Path) -> None:
    scenario = sojourn.scenario(NICE)
    result = scenario.run(series=False)
    assert result.document()["presets"]["group.under-linux.control"] == "linux"
    assert "group.alone.control" not in result.presets
    path = tmp_path / "nice.toml"
    path.write_text(scenario.to_toml(), encoding="utf-8")
    said = "group.under-linux.control: nice with the values of its preset 'linux'"
    assert said in command("check", path).out
    assert said in command("run", path).out
    assert "preset &#x27;linux&#x27;" in result._repr_html_()
    assert "<td>linux</td>" in scenario._repr_html_()


@pytest.mark.parametrize("values", [[1, 2, 3], range(1, 4), np.arange(1, 4), (1, np.int64(2), 3)])
def test_a_sweep_takes_ranges_arrays_and_scenarios(small_scenario: sojourn.Scenario, values: Any) -> None:
    dataset = sojourn.sweep(small_scenario.with_(duration="1 s"), axes={"group.tcp.flows": values}, seeds=2)
    assert dataset.description["points"] == 3
    assert dataset.description["seeds"] == 2
    assert dataset.failures() == 0
    assert dataset.folder.is_dir()


def test_a_sweep_without_a_folder_leaves_nothing(small_file: Path) -> None:
    dataset = sojourn.sweep(small_file, axes={"group.tcp.flows": [1]}, seeds=1)
    folder = dataset.folder
    del dataset
    assert not folder.exists()


def test_a_sweep_goes_on_in_its_folder_and_tells_changes_apart(
    small_scenario: sojourn.Scenario, tmp_path: Path
) -> None:
    axes = {"group.tcp.flows": [1, 2]}
    sojourn.sweep(small_scenario, axes, seeds=1, out=tmp_path / "data")
    assert sojourn.sweep(small_scenario, axes, seeds=1, out=tmp_path / "data").missing == []
    with pytest.warns(UserWarning, match="were made before the base scenario changed and are made again"):
        slower = sojourn.sweep(small_scenario.with_(rate="5 Mbit/s"), axes, seeds=1, out=tmp_path / "data")
    assert max(slower.table("groups")["goodput_mbps"].to_pylist()) < 5, "what the numbers depend on has changed"
    with pytest.raises(sojourn.InputError, match="holds another sweep"):
        sojourn.sweep(small_scenario, {"group.tcp.flows": [1, 3]}, seeds=1, out=tmp_path / "data")


def test_variants_are_compared_on_the_same_seeds(small_scenario: sojourn.Scenario) -> None:
    found = sojourn.compare({"droptail": small_scenario, "codel": small_scenario.with_(queue="codel")}, runs=3)
    means = [found.results[name].summary["bottleneck_queue_ms_mean"]["mean"] for name in ("codel", "droptail")]
    difference = found.difference("codel", "bottleneck_queue_ms_mean")
    assert difference["mean"] == pytest.approx(float(means[0] or 0) - float(means[1] or 0))
    assert difference["n"] == 3
    assert found.difference("droptail", "bottleneck_queue_ms_mean")["mean"] == 0
    assert "codel" in found._repr_html_()
    assert repr(found) == "<sojourn.Comparison of droptail with codel: 3 run(s)>"
    with pytest.raises(sojourn.InputError, match="no metric of these runs is called 'delay'"):
        found.difference("codel", "delay")
    with pytest.raises(sojourn.InputError, match="at least two scenarios"):
        sojourn.compare({"one": small_scenario})


def test_students_quantile_is_that_of_scipy() -> None:
    for degrees in (1, 2, 3, 4, 9, 10, 29.5, 99, 1000, 99_999, 1_000_000):
        for probability in (0.5, 0.6, 0.9, 0.95, 0.975, 0.995, 0.9999, 0.025):
            expected = float(stdtrit(degrees, probability))
            assert student_quantile(probability, degrees) == pytest.approx(expected, rel=1e-8, abs=1e-9)


def started(*arguments: str, close: str = "") -> "subprocess.CompletedProcess[bytes]":
    """Run the command line in a process of its own, with some of its outputs closed."""
    script = f'exec "$0" -m sojourn "$@" {close}'
    return subprocess.run(["/bin/sh", "-c", script, sys.executable, *arguments], capture_output=True, timeout=120)  # noqa: PLW1510


def test_a_closed_output_is_a_sentence() -> None:
    done = started("run", "motivating-red", "--set", "duration=1 s", "--json", close=">&-")
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: standard output or standard error is closed")


def test_names_that_are_not_utf_8(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path / "lab") + b"\xff.toml"
    Path(os.fsdecode(name)).write_text(SMALL, encoding="utf-8")
    script = 'exec "$0" -m sojourn run "$1" --out "$2"'
    command = ["/bin/sh", "-c", script, sys.executable, name, os.fsencode(tmp_path / "out") + b"\xff"]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert Path(os.fsdecode(os.fsencode(tmp_path / "out") + b"\xff"), "queue.parquet").is_file()
    command = ["/bin/sh", "-c", 'exec "$0" -m sojourn run first --set "$1"', sys.executable, b"name=a\xff"]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.returncode == 2
    assert b"an override is not UTF-8 text: 'name=a\\udcff'" in done.stderr


def test_a_folder_does_not_hide_a_ready_scenario(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cellular").mkdir()
    monkeypatch.chdir(tmp_path)
    assert command("check", "cellular").out.startswith("cellular: ok")
