"""Wrong input: exit code 2, one clear message on stderr, nothing on stdout, nothing written."""

from pathlib import Path

import pytest

from conftest import SMALL, Command


def run_wrongly(command: Command, folder: Path, *arguments: object) -> str:
    before = set(folder.rglob("*"))
    outcome = command(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
    assert set(folder.rglob("*")) == before
    return outcome.err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "small"', 'name = "small"\nduratoin = "1 s"', ["duratoin", "duration"]),
        ('kind = "droptail"', 'kind = "rde"', ["rde", "red"]),
        ('control = "ledbat"', 'control = "ledbta"', ["ledbta", "ledbat"]),
        ('rate = "10 Mbit/s"', 'rate = "10 packets"', ["bottleneck.rate", "10 packets"]),
        ('limit = "50 packets"', 'limit = "-1 packets"', ["limit", "-1"]),
        ("flows = 2", "flows = 0", ["flows", "0"]),
        ('rate = "10 Mbit/s"', 'trace = "no-such-trace"', ["no-such-trace"]),
        ("[bottleneck]", "[bottleneck", ["small.toml"]),
    ],
)
def test_a_wrong_scenario(
    command: Command, small_file: Path, tmp_path: Path, old: str, new: str, words: list[str]
) -> None:
    small_file.write_text(SMALL.replace(old, new), encoding="utf-8")
    message = run_wrongly(command, tmp_path, "run", small_file, "--out", tmp_path / "out")
    for word in [*words, "small.toml"]:
        assert word in message


@pytest.mark.parametrize("content", ["", "5\nx\n", "5\n3\n"], ids=["empty", "text", "decreasing"])
def test_a_wrong_trace(command: Command, small_file: Path, tmp_path: Path, content: str) -> None:
    (tmp_path / "link.trace").write_text(content, encoding="utf-8")
    small_file.write_text(SMALL.replace('rate = "10 Mbit/s"', 'trace = "link.trace"'), encoding="utf-8")
    assert "link.trace" in run_wrongly(command, tmp_path, "check", small_file)


def test_a_missing_file(command: Command, tmp_path: Path) -> None:
    assert "no such file" in run_wrongly(command, tmp_path, "run", tmp_path / "none.toml")


def test_an_unknown_ready_scenario_names_the_nearest(command: Command, tmp_path: Path) -> None:
    assert "motivating-red" in run_wrongly(command, tmp_path, "run", "motivating-rde")


def test_a_directory(command: Command, tmp_path: Path) -> None:
    assert "directory" in run_wrongly(command, tmp_path, "check", tmp_path)


def test_a_file_that_is_not_text(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "binary.toml"
    path.write_bytes(b'name = "a"\nb = "\xff"\n')
    message = run_wrongly(command, tmp_path, "check", path)
    assert f"{path}:2" in message
    assert "UTF-8" in message


def test_a_huge_file_is_not_read(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "huge.toml"
    with path.open("wb") as file:
        file.truncate(10 << 30)
    assert "too large" in run_wrongly(command, tmp_path, "check", path)


def test_an_endless_file_is_not_read(command: Command, tmp_path: Path) -> None:
    assert "a device" in run_wrongly(command, tmp_path, "check", "/dev/zero")
    # It opens as a regular file, and cannot be read from its begin.
    assert "/proc/self/mem: cannot be read: " in run_wrongly(command, tmp_path, "check", "/proc/self/mem")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--bin", "5 apples"],
        ["--bin", "0 s"],
        ["--jobs", "0"],
        ["--runs", "0"],
        ["--runs", "-1"],
        ["--seed", "-1"],
        ["--seed", "x"],
        ["--set", "no-value"],
        ["--set", "bottleneck.nothing=1"],
        ["--world", "linux"],
        ["--packets"],
        ["--pcap"],
        ["--plot", "picture.xyz"],
        ["--plot", "no-such-directory/picture.png"],
        ["--no-such-option"],
    ],
)
def test_a_wrong_option(
    command: Command, small_file: Path, tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_wrongly(command, tmp_path, "run", small_file, *arguments)


def test_force_does_not_remove_what_is_no_result(command: Command, small_file: Path, tmp_path: Path) -> None:
    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "chapter-1.tex").write_text("...", encoding="utf-8")
    assert "no result" in run_wrongly(command, tmp_path, "run", small_file, "--out", precious, "--force")


def test_the_current_directory_is_no_place_for_a_result(
    command: Command, small_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    assert "current directory" in run_wrongly(command, tmp_path, "run", small_file, "--out", ".")


def test_a_result_directory_that_is_a_file(command: Command, small_file: Path, tmp_path: Path) -> None:
    assert "not a directory" in run_wrongly(command, tmp_path, "run", small_file, "--out", small_file)


def test_more_packet_rows_than_memory_holds(command: Command, small_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "packets"
    long = ["--set", "duration=1000000 s", "--bin", "10 s", "--packets", "--out", out]
    assert "rows of packets" in run_wrongly(command, tmp_path, "run", small_file, *long)


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_a_place_that_cannot_be_written(
    command: Command, small_file: Path, tmp_path: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "cannot be written" in run_wrongly(command, tmp_path, "run", small_file, option, tmp_path / "new.png")


PLUGIN = """
import sojourn

@sojourn.control("mine", summary="one with a slip", sources=["RFC 5681"])
class Mine:
    def __init__(self, path):
        self.window = path.initial_window

    def on_ack(self, newly_acked, in_recovery, window_limited):
        self.window = self.wimdow + 1

    def on_congestion(self, signal, repeated):
        self.window = 2
"""


def test_a_slip_in_a_plug_in_is_one_line_with_its_place(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PLUGIN, encoding="utf-8")
    changes = ["--set", "group.download.control=mine", "--set", "duration=3 s", "--set", "warmup=0 s"]
    outcome = command("run", "first", "--plugin", str(tmp_path / "mine.py"), *changes)
    assert outcome.code == 1
    (said,) = outcome.err.splitlines()
    assert f"{tmp_path / 'mine.py'}:10: plug-in mine, on_ack" in said
    assert said.endswith("no attribute 'wimdow'")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "first", "--set", "group.download.control=mine"], "one of your own comes with --plugin FILE"),
        (["run", "first", "--set", "bottleneck.queue=mine"], "one of your own comes with --plugin FILE"),
        (["compare", "first", "--queue", "codel,pie", "--plot", "a.png", "--plot-width", "9cm"], "9cm is 3.54"),
        (["compare", "first", "--lines", "dsl:3"], "did you mean 'adsl' or 'vdsl'?"),
        (["compare", "first", "--queue", "codel,pie", "--metric", "queue_ms"], "'queue_ms_p95' or 'queue_ms_p99'?"),
    ],
    ids=["control", "queue", "centimetres", "lines", "metric"],
)
def test_what_is_nearly_right_is_answered_with_what_was_meant(
    command: Command, arguments: list[str], said: str
) -> None:
    outcome = command(*arguments)
    assert outcome.code == 2
    assert said in outcome.err
