"""What somebody meets who uses Sojourn for the first time: near names, short listings, titles that follow what runs."""

import pytest
from tests.conftest import Command

import sojourn


def test_a_misspelt_command_gets_the_nearest_one(command: Command) -> None:
    outcome = command("lsit")
    assert outcome.code == 2
    assert "no command is called 'lsit'; did you mean 'list'?" in outcome.err


def test_studies_are_a_line_each_and_items_are_shown_by_name(command: Command) -> None:
    lines = command("paper").out.split("\n\n")[0].splitlines()
    assert len([line for line in lines if line.startswith("gong ")]) == 1
    assert any(line.startswith("fig2 ") for line in command("paper", "gong").out.splitlines())


def test_an_unknown_item_is_named_before_anything_else_is_asked_for(command: Command) -> None:
    outcome = command("paper", "gong", "fig22")
    assert outcome.code == 2
    assert "gong has no item 'fig22'; did you mean 'fig2'?" in outcome.err


@pytest.mark.parametrize(("kind", "name"), [("control", "cubic"), ("queue", "codel"), ("traffic", "voip")])
def test_a_new_algorithm_does_not_take_a_name_that_is_built_in(command: Command, kind: str, name: str) -> None:
    outcome = command("new", kind, name)
    assert outcome.code == 2
    assert f"{name} is built in" in outcome.err


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("utilizatoin", "no metric is called 'utilizatoin'"),
        ("share.tpc", "share of a group that is not there: 'tpc'; did you mean 'tcp'?"),
    ],
)
def test_a_wrong_metric_is_refused_before_the_runs(
    command: Command, monkeypatch: pytest.MonkeyPatch, metric: str, message: str
) -> None:
    def run(*_arguments: object, **_keywords: object) -> None:
        pytest.fail("something was run")

    monkeypatch.setattr("sojourn.comparison.compare", run)
    outcome = command("compare", "motivating-red", "--queue", "red,codel", "--metric", metric)
    assert outcome.code == 2
    assert message in outcome.err


def test_help_has_whole_sentences(command: Command) -> None:
    commands = command("--help").out.partition("Commands:")[2]
    assert "..." not in commands
    assert "see `sojourn list scenarios`)." in " ".join(commands.split())


def test_a_ready_scenario_is_shown_as_its_short_file(command: Command) -> None:
    shown, resolved = command("show", "motivating-red").out, command("show", "motivating-red", "--resolved").out
    assert shown.startswith("# The motivating example under RED")
    assert len(resolved.splitlines()) > 3 * len(shown.splitlines())


def test_a_metric_that_is_not_there_gets_the_nearest_one() -> None:
    result = sojourn.Scenario.load("first").with_(duration="2 s").run()
    with pytest.raises(KeyError, match=r"share\.dwonload.*did you mean 'share\.download'"):
        result.summary["share.dwonload"]


def test_a_title_follows_the_control_that_runs(command: Command) -> None:
    short = ("--set", "duration=2 s", "--runs", "1")
    table = command("run", "motivating-red", *short, "--set", "group.background.control=nice").out
    assert "LEDBAT" not in table
    assert "nice" in table


def test_another_queue_keeps_the_buffer() -> None:
    red = sojourn.Scenario.load("motivating-red")
    assert red.with_(queue="droptail").to_dict().bottleneck.queue.limit == "500 packets"
    from sojourn.variants import variants

    made = variants(red, queues=["droptail", "red"])
    assert made["droptail"].to_dict().bottleneck.queue.limit == "500 packets"


def test_queues_of_a_path_are_added_up_and_messages_have_a_column() -> None:
    from sojourn import purposes

    scenario = {
        "hop": [{"name": "modem", "direction": "forward"}],
        "group": [{"name": "game", "traffic": {"kind": "messages"}}],
    }
    metrics = [column.shown.metric for column in purposes.columns(scenario)]
    assert {"fct_ms_p99.game", "hops_modem_queue_ms_mean"} <= set(metrics)
    assert purposes.queues_of_path(scenario) == ["bottleneck_queue_ms_mean", "hops_modem_queue_ms_mean"]
