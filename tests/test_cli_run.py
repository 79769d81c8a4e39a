"""What `sojourn run` promises: streams, exit codes, files."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import sojourn
from conftest import Command

TOGETHER = ("--set", "group.tcp.start=0 s", "--set", "group.background.start=0 s")
"""Then nothing of the small scenario is random."""


def test_json_is_one_document_and_nothing_else(command: Command, small_file: Path) -> None:
    outcome = command("run", small_file, "--runs", 2, "--json")
    document = json.loads(outcome.out)
    assert outcome.code == 0
    assert outcome.err == ""
    assert list(document) == ["scenario", "presets", "version", "runs", "summary"]
    assert document["version"] == sojourn.__version__
    assert [run["seed"] for run in document["runs"]] == [1, 2]
    assert document["summary"]["bottleneck_utilization"]["n"] == 2


def test_runs_that_are_all_alike_are_said_to_be(command: Command, small_file: Path, tmp_path: Path) -> None:
    said = "all 3 runs are alike, since nothing here is random"
    assert said in command("run", small_file, "--runs", 3, *TOGETHER).out
    told = command("run", small_file, "--runs", 3, "--json", *TOGETHER)
    assert f"warning: {said}" in told.err
    json.loads(told.out)
    command("run", small_file, "--runs", 3, *TOGETHER, "--page", tmp_path / "page.html")
    assert said in (tmp_path / "page.html").read_text(encoding="utf-8")
    both = command("compare", small_file, "--queue", "droptail,codel", "--runs", 3, *TOGETHER).out
    assert f"droptail, codel: {said}." in both
    for one in (["--runs", 1, *TOGETHER], ["--runs", 3]):
        done = command("run", small_file, *one, "--json")
        assert "alike" not in done.out + done.err


def test_the_summary_names_the_metrics_of_design(command: Command, small_file: Path) -> None:
    summary = json.loads(command("run", small_file, "--json").out)["summary"]
    named = {
        "bottleneck_utilization",
        "bottleneck_queue_packets_mean",
        "bottleneck_queue_ms_mean",
        "bottleneck_queue_ms_p99",
        "bottleneck_drop_rate",
        "jain_all",
        "share.tcp",
        "share.background",
        "goodput_mbps.tcp",
    }
    assert named <= set(summary)


def test_people_get_tables_with_units(command: Command, small_file: Path) -> None:
    outcome = command("run", small_file, "--runs", 3)
    assert outcome.code == 0
    assert "small: 2 s, 3 runs, seeds 1 to 3" in outcome.out
    for words in ("utilization [%]", "queue [ms]", "goodput [Mbit/s]", "background", "±"):
        assert words in outcome.out


def test_the_same_bytes_come_out_at_every_number_of_threads(command: Command, small_file: Path) -> None:
    def without_wall_time(jobs: int) -> object:
        document = json.loads(command("run", small_file, "--runs", 4, "--jobs", jobs, "--json").out)
        for run in document["runs"]:
            del run["wall_s"]
        return document | {"summary": None}

    assert without_wall_time(1) == without_wall_time(2) == without_wall_time(1)


def test_seed_and_set_change_the_scenario(command: Command, small_file: Path) -> None:
    outcome = command("run", small_file, "--seed", 40, "--set", "bottleneck.queue.kind=red", "--json")
    document = json.loads(outcome.out)
    assert document["runs"][0]["seed"] == 40
    assert document["scenario"]["seed"] == 40
    assert document["scenario"]["bottleneck"]["queue"]["kind"] == "red"


def test_probes_come_only_when_asked_for(command: Command, small_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "probed"
    red = ("--set", "bottleneck.queue={kind='red'}")
    assert command("run", small_file, *red, "--out", out, "--probes", "--plot", tmp_path / "p.png").code == 0
    queue = pq.read_table(out / "queue_probes.parquet")
    assert queue.column_names == ["seed", "link", "time_s", "name", "value"]
    assert set(queue["name"].to_pylist()) == {"average_packets", "drop_probability"}
    assert queue.num_rows == 2 * pq.read_table(out / "queue.parquet").num_rows
    flows = pq.read_table(out / "flow_probes.parquet")
    assert flows.column_names == ["seed", "group", "index", "time_s", "name", "value"]
    assert {"ssthresh_segments", "base_delay_ms"} <= set(flows["name"].to_pylist())
    refused = command("run", small_file, "--probes")
    assert refused.code == 2
    assert "--probes needs --out DIR or --plot FILE" in refused.err


def test_out_holds_everything_needed_to_judge_the_run(command: Command, small_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "results" / "small"
    outcome = command("run", small_file, "--runs", 2, "--out", out, "--packets", "--pcap", "--json")
    assert outcome.code == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "bottleneck-seed-1.pcapng",
        "bottleneck-seed-2.pcapng",
        "flows.parquet",
        "packets.parquet",
        "queue.parquet",
        "record.json",
        "scenario.toml",
    ]
    assert (out / "record.json").read_text(encoding="utf-8") == outcome.out
    assert [path.name for path in out.parent.iterdir()] == ["small"]
    assert set(pq.read_table(out / "flows.parquet")["seed"].to_pylist()) == {1, 2}
    assert (out / "bottleneck-seed-1.pcapng").read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"


def test_the_written_scenario_runs_to_the_same_record(command: Command, small_file: Path, tmp_path: Path) -> None:
    command("run", small_file, "--seed", 5, "--out", tmp_path / "first")
    command("run", tmp_path / "first" / "scenario.toml", "--out", tmp_path / "second")

    def groups(name: str) -> object:
        return json.loads((tmp_path / name / "record.json").read_text(encoding="utf-8"))["runs"][0]["groups"]

    assert groups("first") == groups("second")


def test_the_bin_sets_the_step_of_the_series(command: Command, small_file: Path, tmp_path: Path) -> None:
    assert command("run", small_file, "--out", tmp_path / "r", "--bin", "500 ms").code == 0
    times = pq.read_table(tmp_path / "r" / "queue.parquet")["time_s"].to_pylist()
    assert times == [0.0, 0.5, 1.0, 1.5]


def test_a_result_is_replaced_only_when_told_so(command: Command, small_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    assert command("run", small_file, "--out", out).code == 0
    before = (out / "record.json").read_bytes()
    refused = command("run", small_file, "--out", out, "--seed", 9)
    assert refused.code == 2
    assert "--force" in refused.err
    assert (out / "record.json").read_bytes() == before
    assert command("run", small_file, "--out", out, "--seed", 9, "--force").code == 0
    assert (out / "record.json").read_bytes() != before


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_plot_draws_a_file(command: Command, small_file: Path, tmp_path: Path, suffix: str) -> None:
    picture = tmp_path / f"picture{suffix}"
    assert command("run", small_file, "--plot", picture).code == 0
    assert picture.stat().st_size > 5000
    assert {path.name for path in tmp_path.iterdir()} == {"small.toml", picture.name}


def test_a_ready_scenario_runs_by_its_name(command: Command) -> None:
    assert command("run", "motivating-red", "--set", "duration=1 s").code == 0


@pytest.mark.parametrize("arguments", [[], ["run"], ["list"], ["show"], ["check"], ["schema"]])
def test_help_ends_with_examples(command: Command, arguments: list[str]) -> None:
    outcome = command(*arguments, "--help")
    assert outcome.code == 0
    assert outcome.err == ""
    assert f"sojourn {' '.join(arguments)}" in outcome.out.split("Examples:")[1]
