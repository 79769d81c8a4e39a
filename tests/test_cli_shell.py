"""The command line as a whole: an overview, names as people write them, errors, quiet, completion, standard input."""

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from conftest import SMALL, Command
from sojourn.cli import cli


def test_list_alone_is_an_overview(command: Command) -> None:
    found = json.loads(command("list", "--json").out)
    assert {"queues", "controls", "traffic", "worlds", "studies", "scenarios"} <= set(found)
    out = command("list").out
    assert all(what in out for what in found)
    assert "fq_codel" in out


@pytest.mark.parametrize(
    ("name", "heading"),
    [
        ("RED", "red (queue)"),
        ("FQ-CoDel", "fq_codel (queue)"),
        ("reno", "newreno (control)"),
        ("LEDBAT++", "ledbatpp (control)"),
        ("voip", "voip (traffic)"),
        ("web", "web (traffic)"),
    ],
)
def test_show_takes_names_as_people_write_them(command: Command, name: str, heading: str) -> None:
    assert command("show", name).out.splitlines()[0] == heading


def test_metrics_are_listed_and_shown_with_their_units(command: Command) -> None:
    rows = {row["name"]: row for row in json.loads(command("list", "metrics", "--json").out)}
    assert rows["voip_mos"]["unit"] == "1 to 4.5"
    assert rows["share"]["unit"] == "%"
    assert "bottleneck_queue_ms_p99" in command("show", "metrics").out


def test_errors_say_that_they_are(command: Command) -> None:
    assert command("run", "motivating-rd").err.startswith("error: no file and no ready scenario")
    wrong = command("run", "motivating-red", "--run", "3")
    assert wrong.code == 2
    assert wrong.err.startswith("error: No such option")
    assert "`sojourn run --help`" in wrong.err


def test_a_new_kind_over_old_parameters_says_what_to_type(command: Command) -> None:
    outcome = command("run", "voip-under-load", "--set", "bottleneck.queue.kind=cake")
    assert outcome.code == 2
    assert "--set bottleneck.queue=cake replaces the whole table" in outcome.err
    assert command("run", "voip-under-load", "--set", "bottleneck.queue=cake").code == 0
    assert "replaces" not in command("run", "voip-under-load", "--set", "bottleneck.queue.kind=cak").err


def test_help_is_a_command_too(command: Command) -> None:
    for words in ((), ("compare",), ("study", "run"), ("detect", "host")):
        assert command("help", *words).out == command(*words, "--help").out
    wrong = command("help", "study", "red")
    assert wrong.code == 2
    assert "there is no command 'study red'" in wrong.err
    assert "`sojourn show red`" in wrong.err


def test_quiet_keeps_results_and_errors(command: Command) -> None:
    loud = command("run", "slow-uplink", "--set", "bottleneck.queue=codel")
    quiet = command("--quiet", "run", "slow-uplink", "--set", "bottleneck.queue=codel")
    assert "warning:" in loud.err
    assert (quiet.out, quiet.err) == (loud.out, "")
    assert command("--quiet", "run", "nothing").err.startswith("error: ")
    after = command("run", "slow-uplink", "--set", "bottleneck.queue=codel", "-q")
    assert (after.out, after.err) == (loud.out, "")
    assert command("run", "nothing", "--quiet").err.startswith("error: ")
    assert command("study", "check", "nothing", "--quiet").err.startswith("error: ")


def test_the_version_has_a_short_option(command: Command) -> None:
    assert command("-V").out == command("--version").out


def test_a_scenario_from_standard_input(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(SMALL))
    assert command("run", "-").out.startswith("small:")
    monkeypatch.setattr("sys.stdin", io.StringIO("duration = 1"))
    outcome = command("check", "-")
    assert outcome.err.startswith("error: standard input: ")
    assert "standard input:1: duration: found 1" in outcome.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_for_each_shell(command: Command, shell: str) -> None:
    assert "_SOJOURN_COMPLETE" in command("completion", shell).out


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("sojourn run voip", "voip-under-load"),
        ("sojourn show fq_c", "fq_codel"),
        ("sojourn compare x --metric share,voip_m", "share,voip_mos"),
        ("sojourn comp", "compare"),
    ],
)
def test_names_are_completed(words: str, found: str) -> None:
    environment = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1), "_SOJOURN_COMPLETE": "bash_complete"}
    outcome = CliRunner().invoke(cli, prog_name="sojourn", env=environment)
    assert f"plain,{found}" in outcome.output.splitlines()


def test_what_ends_in_a_result_gives_it_as_one_json_document(
    command: Command, small_file: Path, tmp_path: Path
) -> None:
    sweep, out = tmp_path / "sweep.toml", tmp_path / "out"
    sweep.write_text(f'base = "{small_file}"\naxes = {{ "group.tcp.rtt" = ["10 ms", "20 ms"] }}\n', encoding="utf-8")
    found = {
        words[0]: json.loads(command(*words, "--json").out)
        for words in (
            ("check", small_file),
            ("compare", small_file, "--queue", "droptail,codel", "--runs", 1),
            ("sweep", sweep, "--out", out),
            ("stats", out, "--metric", "share"),
            ("paper",),
        )
    }
    assert found["check"]["ok"] is True
    assert {row["variant"] for row in found["compare"]} == {"droptail", "codel"}
    assert found["sweep"] == {"folder": str(out), "points": 2, "runs": 2, "failed": 0}
    assert {line["metric"] for line in found["stats"]} == {"share"}
    assert "fig3" in next(study["items"] for study in found["paper"] if study["name"] == "gong")
    checked = json.loads(command("study", "check", "fluid", "--json").out)
    assert checked["differences"] == []


def test_check_says_all_problems_to_editors(command: Command, small_file: Path) -> None:
    small_file.write_text(small_file.read_text(encoding="utf-8").replace("newreno", "newrena"), encoding="utf-8")
    outcome = command("check", small_file, "--json")
    assert outcome.code == 2
    (problem,) = json.loads(outcome.out)["diagnostics"]
    assert (problem["nearest"], problem["key"]) == ("newreno", "group.tcp.control.kind")
    assert problem["line"] is not None


def test_help_lists_the_options_of_a_world_apart(command: Command) -> None:
    out = command("run", "--help").out
    places = [out.index(f"\n{heading}:") for heading in ("Options", "Options with --world linux", "Output", "Examples")]
    assert places == sorted(places)
    assert out.index("--shaper") > places[1]
    assert out.index("--seed") < places[1]
