"""What others wrote: refused in one sentence with exit code 2, in bounded time and memory, whatever it holds.

The sweep files in tests/hostile/sweeps were found in a review. Most of them once ended in a traceback, in a full
memory, or with raw control characters on the terminal.
"""

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import PATIENCE_S, SMALL, Command

import sojourn
from sojourn import InputError, Plan, parquet, reading
from sojourn.study.load import StudyFolder
from sojourn.sweeps import Dataset
from sojourn.sweeps.axis import AxisError
from sojourn.sweeps.axis import values as axis_values
from sojourn.sweeps.local import run_local

HOSTILE = sorted((Path(__file__).parent / "hostile" / "sweeps").glob("*.toml"))
FILES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)


def refused(command: Command, *arguments: object) -> str:
    """Return the one sentence in which a command refuses its input."""
    outcome = command(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert "Traceback" not in outcome.err
    assert outcome.err.count("\n") == 1
    assert len(outcome.err) < 1000
    assert outcome.err.removesuffix("\n").isprintable()
    return outcome.err


def test_there_are_hostile_sweeps() -> None:
    assert len(HOSTILE) > 25


@pytest.mark.parametrize("file", HOSTILE, ids=lambda file: file.stem)
def test_a_hostile_sweep_file(command: Command, tmp_path: Path, file: Path) -> None:
    assert file.name in refused(command, "sweep", file, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("file", HOSTILE, ids=lambda file: file.stem)
def test_a_hostile_study_file(tmp_path: Path, file: Path) -> None:
    shutil.copy(file, tmp_path / "study.toml")
    with pytest.raises(InputError) as error:
        StudyFolder.load(tmp_path)
    assert reading.printable(str(error.value)) == str(error.value)


def test_the_name_of_a_file_does_not_reach_the_terminal_raw(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "red\x1b[31m.toml"
    file.write_text("seeds = 0\n", encoding="utf-8")
    assert "red\\x1b[31m.toml" in refused(command, "sweep", file, "--out", tmp_path / "out")


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_a_name_that_no_file_can_have(command: Command, tmp_path: Path, name: str) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(f"base = {json.dumps(name)}\n", encoding="utf-8")
    assert "no ready scenario is called" in refused(command, "sweep", file, "--out", tmp_path / "out")


@pytest.mark.parametrize("ends", [(-1.7e308, 1.7e308, "linear"), (1e-300, 1e300, "log")])
def test_ends_so_far_apart_that_nothing_lies_between(ends: tuple[float, float, str]) -> None:
    low, high, scale = ends
    with pytest.raises(AxisError, match="ends that are not so far apart"):
        axis_values({"from": low, "to": high, "count": 3, "scale": scale})


def test_a_step_without_end_is_none() -> None:
    with pytest.raises(AxisError, match="'1e999'; allowed: a number"):
        axis_values({"from": 1, "to": 2, "step": "1e999"})


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates() | st.binary()
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


@given(TREES)
def test_what_is_plain_can_be_written_as_json_and_scenario(tree: Any) -> None:
    try:
        reading.check_plain(tree)
    except InputError as error:
        said = str(error)
    else:
        said = ""
    assert all(letter.isprintable() or letter.isspace() for letter in said)
    assert not set(said) & set("\0\a\b\n\r\x1b\x7f\x9b\u2028\u202e")
    if not said:
        assert json.loads(json.dumps(tree, allow_nan=False)) == tree
        assert reading.toml_value(tree)


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe.toml"
    os.mkfifo(path)
    return path


def test_a_pipe_is_refused_at_once(tmp_path: Path, pipe: Path) -> None:
    (tmp_path / "sweep.toml").write_text('base = "pipe.toml"\n', encoding="utf-8")
    (tmp_path / "pipe").mkdir()
    shutil.copy(pipe.parent / "sweep.toml", tmp_path / "pipe")
    (tmp_path / "dataset").mkdir()
    os.mkfifo(tmp_path / "dataset" / "sweep.json")
    words = [["check", pipe], ["run", pipe], ["sweep", pipe, "--out", tmp_path / "a"], ["stats", tmp_path / "dataset"],
             ["sweep", tmp_path / "sweep.toml", "--out", tmp_path / "b"],
             ["run", "first", "--set", f"bottleneck.trace={pipe}"],
             ["run", "first", "--world", "hosts", "--peer", "127.0.0.1", "--secret-file", pipe]]  # fmt: skip
    for given_words in words:
        command = [sys.executable, "-m", "sojourn", *map(str, given_words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert (done.returncode, done.stdout) == (2, ""), given_words
        assert "pipe" in done.stderr


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/tty", "/dev/null"])
def test_a_device_is_no_secret(command: Command, device: str) -> None:
    said = refused(command, "run", "first", "--world", "hosts", "--peer", "127.0.0.1", "--secret-file", device)
    assert device in said


def test_a_secret_is_short(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    with file.open("wb") as opened:
        opened.truncate(1 << 40)
    file.chmod(0o600)
    said = refused(command, "run", "first", "--world", "hosts", "--peer", "127.0.0.1", "--secret-file", file)
    assert "too large" in said


def test_a_socket_is_no_scenario(command: Command, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s.toml"))
        assert "s.toml" in refused(command, "check", tmp_path / "s.toml")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished sweep of two batches."""
    place = tmp_path_factory.mktemp("whole")
    (place / "base.toml").write_text(SMALL, encoding="utf-8")
    axes = {"group.tcp.flows": [1, 2]}
    plan = Plan.of({"base": "base.toml", "set": {"duration": "0.2 s"}, "axes": axes}, folder=str(place))
    dataset = Dataset.create(place / "dataset", plan, 1)
    run_local(plan, dataset, 1, lambda status: None)
    assert dataset.missing == []
    return dataset.folder


@pytest.fixture
def dataset(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "dataset")
    return tmp_path / "dataset"


def test_the_dataset_is_one(command: Command, dataset: Path) -> None:
    assert command("stats", dataset).code == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"points": 10**18},
        {"points": "x"},
        {"points": -1},
        {"points": True},
        {"points": 10**9, "batch_points": 1},
        {"batch_points": 0},
        {"seeds": None},
        {"axes": "x"},
        {"axes": [1]},
        {"name": "a\x1b[31m"},
        {"name": 5},
        {"keep": ["packages"]},
        {"format": [1]},
        {"plan": {}},
        {"points": int("9" * 4000)},
    ],
    ids=str,
)
def test_a_changed_description(command: Command, dataset: Path, changes: dict[str, Any]) -> None:
    file = dataset / "sweep.json"
    file.write_text(json.dumps(json.loads(file.read_bytes()) | changes), encoding="utf-8")
    assert "sweep.json" in refused(command, "stats", dataset)


@pytest.mark.parametrize("text", ["", "[", "[]", "5", '"x"', "[" * 100_000, "9" * 5000, "\0", "{}", '{"format": 1}'])
def test_a_broken_description(command: Command, dataset: Path, text: str) -> None:
    (dataset / "sweep.json").write_text(text, encoding="utf-8")
    assert "sweep.json" in refused(command, "stats", dataset)


def test_a_huge_description(command: Command, dataset: Path) -> None:
    with (dataset / "sweep.json").open("ab") as file:
        file.truncate(1 << 40)
    assert "too large" in refused(command, "stats", dataset)


def part(dataset: Path) -> Path:
    return dataset / "runs" / "part-000001.parquet"


@pytest.mark.parametrize("keep", [0, 3, 100, -1, -8, -500])
def test_a_table_that_is_cut_off(command: Command, dataset: Path, keep: int) -> None:
    data = part(dataset).read_bytes()
    part(dataset).write_bytes(data[:keep])
    assert "part-000001.parquet" in refused(command, "stats", dataset)


@FILES
@given(st.data())
def test_a_damaged_table_is_read_or_refused(tmp_path_factory, whole: Path, data: st.DataObject) -> None:
    sound = part(whole).read_bytes()
    at = data.draw(st.integers(0, len(sound) - 1))
    other = data.draw(st.binary(min_size=1, max_size=8))
    file = tmp_path_factory.mktemp("parts") / "part.parquet"
    file.write_bytes(sound[:at] + other + sound[at + len(other) :])
    try:
        parquet.read_parquet([file])
    except InputError as error:
        said = str(error)
    else:
        said = ""
    assert not said or "part.parquet" in said


def write(dataset: Path, table: "pa.Table", **options: Any) -> None:
    pq.write_table(table, part(dataset), **options)


def test_many_millions_of_rows_in_a_small_file(
    command: Command, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = pq.read_table(part(dataset)).select(["point", "seed", "error", "bottleneck_utilization"])
    many = few.take(pa.array([0] * 1_000_000))
    with pq.ParquetWriter(part(dataset), few.schema) as writer:
        for _ in range(3):
            writer.write_table(many)
    assert part(dataset).stat().st_size < 1 << 20
    # Of the limit itself there would be as many as a memory holds; a hundredth of it shows that somebody counts.
    assert parquet.MAX_FILE_CELLS * 8 <= 2e9
    monkeypatch.setattr(parquet, "MAX_FILE_CELLS", parquet.MAX_FILE_CELLS // 100)
    assert "found 3,000,000 rows; allowed: at most 1" in refused(command, "stats", dataset)
    # Of a table with many rows for each run nobody knows how many there may be.
    with pytest.raises(InputError, match="unpacks to 12,000,000 cells"):
        parquet.read_parquet([part(dataset)])


def test_a_long_text_over_and_over(dataset: Path) -> None:
    sound = pq.read_table(part(dataset)).slice(0, 1)
    indices = pa.array([0] * 100_000, pa.int32())
    long = pa.DictionaryArray.from_arrays(indices, pa.array(["x" * (1 << 20)])).cast(
        pa.dictionary(pa.int32(), pa.string())
    )
    table = pa.concat_tables([sound] * 100_000).combine_chunks()
    place = table.column_names.index("error")
    schema = table.schema
    # As a writer does it that keeps the text once: the column says that it is of plain texts.
    pq.write_table(table.set_column(place, "error", long), part(dataset), store_schema=False)
    assert schema.field("error").type == pa.string()
    assert part(dataset).stat().st_size < 1 << 20
    with pytest.raises(InputError, match="too much text in column 'error'"):
        parquet.read_parquet([part(dataset)])


def test_a_table_that_asks_for_more_memory_than_its_size_allows(
    command: Command, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, read = resource.getrlimit(resource.RLIMIT_AS), pq.read_table
    asked: list[int] = []

    def greedy(*arguments: Any, **options: Any) -> "pa.Table":
        # A damaged byte asks for as much. Who may have it does not fill it here.
        asked.append(np.empty(5 << 30, np.uint8).size)
        return read(*arguments, **options)

    monkeypatch.setattr(pq, "read_table", greedy)
    assert "cannot be read as Parquet" in refused(command, "stats", dataset)
    assert asked == []
    assert resource.getrlimit(resource.RLIMIT_AS) == limits


def test_lists_in_a_table(command: Command, dataset: Path) -> None:
    table = pq.read_table(part(dataset))
    write(dataset, table.append_column("more", pa.array([[1, 2]] * len(table))))
    assert "lists or tables in column 'more'" in refused(command, "stats", dataset)


def test_columns_that_are_missing_or_other_ones(command: Command, dataset: Path) -> None:
    table = pq.read_table(part(dataset))
    write(dataset, table.drop_columns(["error"]))
    assert "has no column 'error'" in refused(command, "stats", dataset)
    write(dataset, table.set_column(table.column_names.index("jain_all"), "jain_all", pa.array(["x"] * len(table))))
    assert "its columns are not those of the files beside it" in refused(command, "stats", dataset)


def test_a_pipe_or_a_folder_in_the_place_of_a_table(command: Command, dataset: Path) -> None:
    part(dataset).unlink()
    os.mkfifo(part(dataset))
    # Whoever opens it would wait for ever.
    words = [sys.executable, "-m", "sojourn", "stats", str(dataset)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, "a pipe" in done.stderr) == (2, True)
    part(dataset).unlink()
    part(dataset).mkdir()
    assert "a directory" in refused(command, "stats", dataset)
    shutil.rmtree(dataset / "runs")
    assert "holds no table 'runs' yet" in refused(command, "stats", dataset)


@pytest.fixture
def rooms(tmp_path: Path) -> Path:
    """Return a folder that may be read, beside a recording and a scenario that may not."""
    root = tmp_path / "root"
    root.mkdir()
    for place in (root, tmp_path):
        (place / "link.trace").write_text("5\n", encoding="ascii")
        (place / "base.toml").write_text(SMALL.replace('rate = "10 Mbit/s"', 'trace = "link.trace"'), encoding="utf-8")
    (root / "out.toml").write_text(SMALL.replace('rate = "10 Mbit/s"', 'trace = "../link.trace"'), encoding="utf-8")
    (root / "link.toml").symlink_to(tmp_path / "base.toml")
    return root


def test_a_scenario_reads_only_below_its_root(command: Command, rooms: Path) -> None:
    assert command("check", rooms / "base.toml", "--root", rooms).code == 0
    assert command("check", rooms / "out.toml").code == 0
    for words in (["check"], ["run"]):
        said = refused(command, *words, rooms / "out.toml", "--root", rooms)
        assert "lies outside the folder that may be read" in said
    assert "no such folder" in refused(command, "check", rooms / "base.toml", "--root", rooms / "none")
    text = (rooms / "out.toml").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="lies outside"):
        sojourn.scenario(tomllib.loads(text), base_dir=rooms, root=rooms)
    with pytest.raises(InputError, match="lies outside"):
        sojourn.Scenario.load("first", {"bottleneck": {"trace": "/etc/shadow"}}, root=rooms)


@pytest.mark.parametrize("base", ["../base.toml", "link.toml", "/etc/passwd", "out.toml"])
def test_a_sweep_reads_only_below_its_root(command: Command, rooms: Path, base: str) -> None:
    file = rooms / "sweep.toml"
    file.write_text(f'base = "{base}"\nset = {{ duration = "0.1 s" }}\n', encoding="utf-8")
    outcome = command("sweep", file, "--out", rooms / "results", "--root", rooms)
    assert outcome.code == 2
    assert "lies outside the folder that may be read" in outcome.err
    file.write_text('base = "base.toml"\nset = { duration = "0.1 s" }\n', encoding="utf-8")
    assert command("sweep", file, "--out", rooms / "results", "--root", rooms).code == 0


OUTSIDE = {
    "above": "../link.trace",
    "absolute": "{above}/link.trace",
    "link": "leads-out.trace",
    "link to a folder": "leads-up/link.trace",
    "there and back": "sub/../../link.trace",
}


@pytest.mark.parametrize("trace", OUTSIDE.values(), ids=OUTSIDE)
@pytest.mark.parametrize("where", ["scenario", "set", "axis", "case"])
def test_no_trace_outside_the_root_is_read(command: Command, rooms: Path, trace: str, where: str) -> None:
    """The same file is read without a root: nothing but the confinement refuses it."""
    (rooms / "leads-out.trace").symlink_to(rooms.parent / "link.trace")
    (rooms / "leads-up").symlink_to(rooms.parent)
    (rooms / "sub").mkdir()
    name = json.dumps(trace.format(above=rooms.parent))
    if where == "scenario":
        file = rooms / "scenario.toml"
        file.write_text(SMALL.replace('rate = "10 Mbit/s"', f"trace = {name}"), encoding="utf-8")
        words: list[object] = ["check", file]
    else:
        file = rooms / "sweep.toml"
        given = {
            "set": f"set = {{ duration = '0.1 s', 'bottleneck.trace' = {name} }}",
            "axis": f"set = {{ duration = '0.1 s' }}\naxes.'bottleneck.trace' = ['link.trace', {name}]",
            "case": f"set = {{ duration = '0.1 s' }}\ncases.one = {{ 'bottleneck.trace' = {name} }}",
        }[where]
        file.write_text(f"base = 'base.toml'\n{given}\n", encoding="utf-8")
        words = ["sweep", file, "--out", rooms / "out"]
    said = command(*words, "--root", rooms)
    assert said.code == 2
    assert "lies outside the folder that may be read" in said.err
    assert not (rooms / "out").exists()
    assert command(*words).code == 0


@pytest.mark.parametrize("name", ["../plugin.py", "leads-out.py"])
def test_no_plugin_outside_the_root_is_read(command: Command, rooms: Path, name: str) -> None:
    (rooms.parent / "plugin.py").write_text("", encoding="utf-8")
    (rooms / "leads-out.py").symlink_to(rooms.parent / "plugin.py")
    file = rooms / "scenario.toml"
    file.write_text(f"plugins = [{json.dumps(name)}]\n{SMALL}", encoding="utf-8")
    said = refused(command, "run", file, "--allow-plugins", "--root", rooms)
    assert "lies outside the folder that may be read" in said
    assert "lies outside" not in command("run", file, "--allow-plugins").err


def test_an_error_shows_next_to_nothing_of_a_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "shadow").write_text("root:$y$j9T$precious\x1b[31m\n", encoding="ascii")
    said = refused(command, "run", "first", "--set", f"bottleneck={{trace='{tmp_path / 'shadow'}'}}")
    assert "'root'..." in said.replace('"', "'")
    assert "$y" not in said


BOM = "\ufeff"


def test_a_byte_order_mark_is_no_part_of_a_sweep_or_study(command: Command, tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(BOM + SMALL, encoding="utf-8")
    sweep = 'base = "base.toml"\n[set]\nduration = "0.2 s"\n[axes]\n"group.tcp.flows" = [1, 2]\n'
    (tmp_path / "sweep.toml").write_text(BOM + sweep, encoding="utf-8")
    done = command("sweep", tmp_path / "sweep.toml", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert command("study", "new", tmp_path / "mine").code == 0
    study = tmp_path / "mine" / "study.toml"
    study.write_text(BOM + study.read_text(encoding="utf-8"), encoding="utf-8")
    assert "no verdicts are kept" in command("study", "check", tmp_path / "mine").err


def test_a_half_written_description_loses_nothing(command: Command, dataset: Path, tmp_path: Path) -> None:
    parts = {path: path.read_bytes() for path in dataset.rglob("*.parquet")}
    file = dataset / "sweep.json"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert "sweep.json" in refused(command, "stats", dataset)
    (tmp_path / "base.toml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "sweep.toml").write_text('base = "base.toml"\n[axes]\n"group.tcp.flows" = [1, 2]\n', encoding="utf-8")
    assert "sweep.json" in refused(command, "sweep", tmp_path / "sweep.toml", "--out", dataset)
    assert {path: path.read_bytes() for path in dataset.rglob("*.parquet")} == parts


@pytest.mark.parametrize("words", [("sweep", "sweep.toml"), ("study", "run", "mine"), ("study", "new")])
def test_a_read_only_folder_is_named(
    command: Command, tmp_path: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.toml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "sweep.toml").write_text('base = "base.toml"\n[axes]\n"group.tcp.flows" = [1, 2]\n', encoding="utf-8")
    assert command("study", "new", "mine").code == 0
    (tmp_path / "locked").mkdir()
    # Root may write anywhere, so that the answer of the system is put in its place.
    monkeypatch.setattr("os.access", lambda _path, mode: not mode & os.W_OK)
    out = ["--out", "locked/out"] if words[-1] != "new" else ["locked/mine"]
    said = refused(command, *words, *out)
    assert "locked" in said
    assert "cannot be written" in said
    assert list((tmp_path / "locked").iterdir()) == []


def test_a_truncated_part_is_named(command: Command, dataset: Path) -> None:
    file = part(dataset)
    file.write_bytes(file.read_bytes()[:-100])
    assert file.name in refused(command, "stats", dataset)
    for query in ("--sql", "--metric"):
        assert file.name in refused(
            command, "stats", dataset, query, "select * from runs" if query == "--sql" else "share"
        )
