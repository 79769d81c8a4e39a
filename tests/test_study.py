"""Studies as data: what a study keeps, and that a changed claim is noticed."""

import dataclasses
import importlib.metadata
import json
import re
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from matplotlib.container import ErrorbarContainer
from tests.conftest import Command

from sojourn import InputError, plugins
from sojourn.cli import run_command_line
from sojourn.data.provenance import Provenance
from sojourn.study import replay
from sojourn.study.drawings import draw
from sojourn.study.find import find_folder, folders, titles
from sojourn.study.lab import Lab
from sojourn.study.load import StudyFolder
from sojourn.study.mutate import score
from sojourn.study.replay import differences
from sojourn.study.template import make
from sojourn.sweeps import Dataset


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study") / "mine"
    make(folder)
    return folder


@pytest.fixture(scope="module")
def kept(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out")
    assert run_command_line(["study", "run", str(study), "--out", str(out), "--keep"]) == 0
    return out


def test_the_template_runs_as_it_is(kept: Path, study: Path) -> None:
    assert (kept / "priority" / "share.png").is_file()
    assert "TCP has less under CoDel" in (kept / "index.html").read_text(encoding="utf-8")
    assert (study / "data" / "capacity.parquet").stat().st_size < 20_000
    dataset = Dataset.open(kept / "data" / "capacity")
    # Axes are columns, to be plotted and queried as those of any sweep.
    assert {"queue", "rate_mbps"} <= set(dataset.table().column_names)


@pytest.mark.long
def test_a_sweep_that_becomes_another_one_says_that_its_runs_are_removed(tmp_path: Path, command: Command) -> None:
    make(tmp_path / "mine")
    file, out = tmp_path / "mine" / "study.toml", tmp_path / "out"
    file.write_text(re.sub('duration = ".*"', 'duration = "2 s"', file.read_text(encoding="utf-8")), encoding="utf-8")
    for _ in range(2):
        done = command("study", "run", tmp_path / "mine", "--out", out)
        assert done.code == 0
        assert "note: " not in done.err
    file.write_text(file.read_text(encoding="utf-8").replace('"2 s"', '"3 s"'), encoding="utf-8")
    done = command("study", "run", tmp_path / "mine", "--out", out)
    assert done.code == 0
    assert "note: " in done.err
    assert f"{out / 'data' / 'capacity'}: held another sweep" in done.err
    assert "which is removed: all runs are made anew" in done.err


@pytest.mark.long
def test_runs_of_another_engine_are_made_again_in_a_studys_folder(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "mine")
    file, out = tmp_path / "mine" / "study.toml", tmp_path / "out"
    file.write_text(re.sub('duration = ".*"', 'duration = "2 s"', file.read_text(encoding="utf-8")), encoding="utf-8")
    assert command("study", "run", tmp_path / "mine", "--out", out).code == 0
    made = Provenance.of
    monkeypatch.setattr(Provenance, "of", lambda *given: dataclasses.replace(made(*given), build="another"))
    done = command("study", "run", tmp_path / "mine", "--out", out)
    assert done.code == 0
    assert "were made before the engine changed and are made again" in done.err
    part = next((out / "data" / "capacity" / "runs").iterdir())
    again = Provenance.read(part)
    assert again is not None
    assert again.build == "another"


def test_a_study_has_no_numbers_where_a_run_failed(kept: Path, study: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    shutil.copytree(study, tmp_path / "mine")
    shutil.copytree(kept, tmp_path / "out")
    code = (
        'from sojourn.study import measure\n\n@measure("own", of="capacity")\ndef own(plan, dataset):\n    return []\n'
    )
    (tmp_path / "mine" / "study.py").write_text(code, encoding="utf-8")
    part = next((tmp_path / "out" / "data" / "capacity" / "runs").iterdir())
    table = pq.read_table(part)
    place = table.column_names.index("error")
    errors = pa.array([*["it broke"], *[None] * (len(table) - 1)], pa.string())
    pq.write_table(table.set_column(place, table.schema.field(place), errors), part)
    # What a function makes of runs needs all of them, as means do.
    for name in ("capacity", "own"):
        with pytest.raises(RuntimeError, match=r"capacity, .*: it broke"):
            StudyFolder.load(tmp_path / "mine").measured(Lab(tmp_path / "out", 1), [name])


def test_kept_means_give_kept_verdicts(kept: Path, study: Path, command: Command) -> None:
    assert kept
    done = command("study", "check", study, "--mutate")
    assert done.code == 0, done.err
    assert "the kept means give the kept verdicts" in done.out
    assert "(100 %)" in done.out
    assert re.search(r"0 of [1-9]\d* verdicts? survives? a number that is wrong by ten", done.out)


def test_a_verdict_that_survives_a_number_wrong_by_ten_is_named(
    kept: Path, study: Path, tmp_path: Path, command: Command
) -> None:
    assert kept
    loose = tmp_path / "loose"
    shutil.copytree(study, loose)
    file = loose / "study.toml"
    # No share comes near the bound, also where that is ten times as small.
    text = file.read_text(encoding="utf-8")
    claim = 'name = "loose"\ntext = "any"\nsweep = "capacity"\nmetric = "share"\n'
    claim += 'relation = "less than"\nvalue = 100000\nsays = "any"\n'
    file.write_text(text.replace("[[item.claim]]", f"[[item.claim]]\n{claim}\n[[item.claim]]", 1), encoding="utf-8")
    done = command("study", "check", loose, "--mutate")
    assert "survives: " in done.out
    assert "loose: value is wrong by ten" in done.out


def test_a_changed_claim_is_noticed(kept: Path, study: Path, tmp_path: Path, command: Command) -> None:
    assert kept
    changed = tmp_path / "changed"
    shutil.copytree(study, changed)
    file = changed / "study.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("value = 50", "value = 51"), encoding="utf-8")
    done = command("study", "check", changed)
    assert done.code == 1
    assert "margin was" in done.err
    assert differences(StudyFolder.load(changed))


def test_an_outside_study_of_thirty_lines_works_from_another_folder(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    guide = (Path(__file__).parents[1] / "docs" / "guide" / "studies.md").read_text(encoding="utf-8")
    text = guide.split("```toml\n# codel/study.toml\n", 1)[1].split("```", 1)[0]
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) <= 30
    folder = tmp_path / "theirs" / "codel"
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(text.replace("20 s", "5 s"), encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    done = command("paper", "../theirs/codel", "--out", "out")
    assert done.code == 0, done.err
    page = Path("out/index.html").read_text(encoding="utf-8")
    assert "TCP has less under CoDel than under DropTail" in page
    assert command("study", "run", "../theirs/codel", "--out", "out", "--keep").code == 0
    assert command("study", "check", "../theirs/codel").code == 0
    # Its dataset is one like any other.
    assert command("stats", "out/data/queues", "--metric", "share", "--by", "queue,group").code == 0


CODE = """
from sojourn.study import Number, Outcome, changes, claim, figure, measure


@changes("capacity")
def limit(queue, rate_mbps):
    return {"bottleneck.queue.limit": f"{20 * rate_mbps} packets"} if queue == "DropTail" else {}


@measure("model")
def model():
    yield {"rate_mbps": 5}, "tcp", "share", Number(0.5, 0.0, 1)


@measure("rows", of=("capacity", "capacity"))
def rows(plan, dataset):
    yield {"sweep": plan.name}, "", "rows", Number(len(dataset.table()), 0.0, 1)


@claim("priority", "{rate_mbps} Mbit/s: the model is near", paper="half")
def near(means):
    for cell in means.cells("model", "share"):
        gap = abs(cell.number.mean - 50)
        yield Outcome(gap <= 5, f"{gap:.1f} points", margin=5 - gap, at=cell.at)


@figure("priority", "drawn", "Nothing.")
def drawn(means):
    from matplotlib.figure import Figure

    return Figure()
"""


@pytest.mark.long
def test_functions_do_what_tables_will_not(tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "mine"
    make(folder)
    (folder / "study.py").write_text(CODE, encoding="utf-8")
    file = folder / "study.toml"
    text = file.read_text(encoding="utf-8").replace(
        'name = "priority"', 'name = "priority"\nsweeps = ["model", "rows"]', 1
    )
    file.write_text(text.replace("20 s", "2 s"), encoding="utf-8")
    plan = StudyFolder.load(folder).checked("capacity")
    assert [plan.point(index).changes.get("bottleneck.queue.limit") for index in range(4)] == [
        "100 packets",
        "200 packets",
        None,
        None,
    ]
    out = tmp_path / "out"
    done = command("paper", folder, "--out", out)
    assert done.code == 0, done.err
    found = json.loads((out / "priority" / "found.json").read_text(encoding="utf-8"))
    assert "5 Mbit/s: the model is near" in [check["claim"] for check in found["checks"]]
    assert (out / "priority" / "drawn.png").is_file()
    assert command("study", "run", folder, "--out", out, "--keep").code == 0
    assert score(StudyFolder.load(folder)).survivors == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("title =", "titel ="), "did you mean 'title'?"),
        (("levels.CoDel", "level.CoDel"), "did you mean 'levels'?"),
        (('axes = ["queue", "rate_mbps"]', 'axes = ["queue", "rate"]'), "the study has no axis 'rate'"),
        (('kind = "codel"', 'kind = "codle"'), "codel"),
        (("seeds = 3", "seeds = 3\nsets.a = ["), "not TOML"),
        (('where = { queue = "CoDel" }', 'where = { queue = "@aqms" }'), "no set 'aqms'"),
    ],
)
def test_a_wrong_study_says_where(wrong: tuple[str, str], said: str, tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "mine"
    make(folder)
    file = folder / "study.toml"
    file.write_text(file.read_text(encoding="utf-8").replace(*wrong), encoding="utf-8")
    done = command("study", "check", folder)
    assert done.code == 2
    assert said in done.err


def test_a_sweep_loads_the_plug_ins_of_its_folder_and_no_others(tmp_path: Path) -> None:
    make(tmp_path / "mine")
    file = tmp_path / "mine" / "study.toml"
    shutil.copyfile(Path(__file__).parent / "plugins" / "newreno.py", tmp_path / "mine" / "own.py")
    sound = file.read_text(encoding="utf-8")
    named = sound.replace("[sweep.capacity]", '[sweep.capacity]\nplugins = ["own.py"]')
    assert named != sound
    file.write_text(named, encoding="utf-8")
    study = StudyFolder.load(tmp_path / "mine")
    assert [item.laboratory() for item in study.study().items] == [{"share": []}]
    assert plugins.added()["controls"] == []
    study.plan("capacity")
    try:
        assert len(plugins.added()["controls"]) == 1
    finally:
        plugins.unload()
    file.write_text(named.replace("own.py", "../own.py"), encoding="utf-8")
    with pytest.raises(InputError, match=r"allowed: names of files in the study's folder"):
        StudyFolder.load(tmp_path / "mine").plan("capacity")


def test_a_study_writes_only_where_the_command_says(tmp_path: Path, command: Command) -> None:
    """Names of items, figures and sweeps become names of files: none may lead elsewhere."""
    make(tmp_path / "in" / "mine")
    file = tmp_path / "in" / "mine" / "study.toml"
    sound = file.read_text(encoding="utf-8")
    for wrong in (
        sound.replace('name = "priority"', 'name = "../../../priority"'),
        sound.replace('name = "share"', 'name = "../../../../share"'),
        sound.replace("[sweep.capacity]", '[sweep.capacity]\nname = "../../../capacity"'),
        sound.replace("[sweep.capacity]", '[sweep."../../../capacity"]'),
    ):
        assert wrong != sound
        file.write_text(wrong.replace("20 s", "0.2 s"), encoding="utf-8")
        done = command("study", "run", file.parent, "--out", tmp_path / "in" / "out" / "results")
        assert done.code == 2
        assert "allowed: a name of letters, digits" in done.err
        assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_what_is_no_study_is_refused(tmp_path: Path, command: Command) -> None:
    done = command("paper", str(tmp_path), "--out", tmp_path / "out")
    assert done.code == 2
    assert "holds no study" in done.err
    (tmp_path / "file").touch()
    assert "not empty" in command("study", "new", str(tmp_path)).err
    assert "no study and no folder is called" in command("paper", "gongg", "--out", tmp_path / "out").err


@pytest.mark.parametrize("folder", list(folders()), ids=lambda folder: folder.name)
def test_the_packages_studies_replay_their_verdicts(folder: Path) -> None:
    assert differences(find_folder(folder.name)) == []


@pytest.mark.long
@pytest.mark.parametrize("folder", list(folders()), ids=lambda folder: folder.name)
def test_changed_claims_of_the_packages_studies_are_noticed(folder: Path) -> None:
    found = score(find_folder(folder.name))
    assert found.part >= 0.95, found.survivors


@pytest.mark.long
@pytest.mark.parametrize("folder", list(folders()), ids=lambda folder: folder.name)
def test_figures_of_the_packages_studies_have_their_intervals(folder: Path) -> None:
    study = find_folder(folder.name)
    means = study.replayed()
    for item in study.tables["item"]:
        for tables in study.figures(item):
            # Whiskers and ellipses show the spread itself.
            if tables.get("kind") in {"whiskers", "heat", "ellipses"}:
                continue
            for axes in draw(tables, means, study.axes).axes:
                bars = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
                assert bars, (item["name"], tables["name"])
                assert all(one.lines[2] for one in bars)


def test_a_package_brings_studies_by_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    make(tmp_path / "brought")
    (tmp_path / "brought" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    entry = importlib.metadata.EntryPoint("brought", "brought", "sojourn.studies")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: [entry] if group == entry.group else [])
    assert re.search(r"^brought +\d+ +A question of your own$", command("paper").out, re.MULTILINE)
    assert command("study", "check", "brought").code == 2


def test_the_listing_reads_no_code_of_studies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make(tmp_path / "mine")
    (tmp_path / "mine" / "study.py").write_text("raise RuntimeError('was run')", encoding="utf-8")
    study = StudyFolder.load(tmp_path / "mine")
    assert study.study().title
    with pytest.raises(RuntimeError, match="was run"):
        assert study.module


def listed(tables: Mapping[str, Any]) -> tuple[str, Mapping[str, str]]:
    return tables["source"], {item["name"]: item.get("title", item["name"]) for item in tables["item"]}


def test_the_heads_of_a_studys_file_say_what_the_whole_file_says() -> None:
    whole = {folder: StudyFolder.load(folder) for folder in folders()}
    assert list(titles()) == [(study.name, *listed(study.tables)) for study in whole.values()]


@pytest.mark.parametrize(
    "text",
    [
        # A cut through a value, items as one value, an item of another spelling, and one that ends the file.
        'source = """\n[[item]]\nname = "no item"\n"""\n[[item]]\nname = "one"',
        'source = "S"\nitem = [\n{ name = "one" },\n]\n[units]',
        'source = "S"\n[units]\n[[ item ]]\nname = "one"\n[[item.claim]]\ntext = "name"\n',
        'source = "S"\n[[item]]\nname = "one"\ntitle = "T"',
    ],
)
def test_a_head_is_found_however_the_file_is_written(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(text, encoding="utf-8")
    monkeypatch.setattr("sojourn.study.find.folders", lambda: [tmp_path])
    monkeypatch.setattr(StudyFolder, "load", lambda folder: StudyFolder(folder, tomllib.loads(file.read_text())))
    assert list(titles()) == [(tmp_path.name, *listed(tomllib.loads(text)))]


def test_the_list_of_studies_says_what_is_wrong_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.setattr("sojourn.study.find.folders", lambda: [tmp_path])
    for wrong, said in (
        (b"source = 1", "source: found 1; allowed: a text"),
        (b"\xff", "study.toml"),
        (None, "holds no study"),
    ):
        if wrong is None:
            (tmp_path / "study.toml").unlink()
        else:
            (tmp_path / "study.toml").write_bytes(wrong)
        done = command("paper")
        assert (done.code, done.out) == (2, ""), done.out
        assert said in done.err


@pytest.mark.long
def test_items_of_a_kernel_are_left_out_where_nothing_is_kept_of_them(tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "braud"
    shutil.copytree(find_folder("braud").folder, folder)
    (folder / "data" / "table2-linux.parquet").unlink()
    kept = replay.kept(StudyFolder.load(folder))
    others = [row for row in kept if row["item"] != "table2-linux"]
    assert len(others) < len(kept)
    replay.write(folder / replay.VERDICTS, others)
    done = command("study", "check", folder)
    assert done.code == 0, done.err
    assert "table2-linux: no means are kept; they need a kernel" in done.err


@pytest.mark.long
def test_a_changed_study_is_about_the_readers_question(command: Command, tmp_path: Path) -> None:
    study, out = str(tmp_path / "mine"), tmp_path / "own"
    assert command("study", "new", study).code == 0
    asked = ("--set", "group.background.control=nice", "--set", "duration=5 s")
    assert command("paper", study, *asked, "--out", str(out)).code == 0
    changed = "group.background.control = nice, duration = 5 s"
    page, claims = ((out / name).read_text(encoding="utf-8") for name in ("summary.md", "claims.md"))
    assert f"3 runs; changed: {changed}.*" in claims
    assert '--set "group.background.control=nice"' in page
    assert "takes the priority away" not in page
    assert "The setting was changed." in page
    assert f"Who has the link? Changed: {changed}." in (out / "index.html").read_text(encoding="utf-8")
    refused = str(tmp_path / "refused")
    assert command("paper", study, "--set", "duration", "--out", refused).code == 2
    assert command("paper", "gong", "--kept", *asked, "--out", refused).code == 2
    assert not (tmp_path / "refused").exists()


@pytest.mark.long
def test_a_copied_study_draws_its_own_runs(command: Command, tmp_path: Path) -> None:
    study = str(tmp_path / "mine")
    assert command("study", "new", study, "--from", "gong").code == 0
    copied = sorted(one.name for one in (tmp_path / "mine").iterdir())
    assert copied == ["figures.py", "printed.csv", "study.py", "study.toml"]
    for folder, words in (("plain", ()), ("own", ("--set", "group.background.control=nice"))):
        assert command("paper", study, "fig2", *words, "--out", str(tmp_path / folder)).code == 0
    own, plain = ((tmp_path / folder / "fig2" / "fig2.svg").read_text() for folder in ("own", "plain"))
    assert ("5 nice flows" in own, "5 LEDBAT flows" in own) == (True, False)
    assert ("5 nice flows" in plain, "5 LEDBAT flows" in plain) == (False, True)


@pytest.mark.long
def test_a_change_is_not_blamed_for_what_fails_without_it(command: Command, tmp_path: Path) -> None:
    plugin = Path(__file__).parent / "plugins" / "newreno.py"
    asked = ("--plugin", str(plugin), "--set", "group.background.control=nice")
    assert command("paper", "gong", "fig2", *asked, "--out", str(tmp_path)).code == 0
    claims, page = ((tmp_path / name).read_text(encoding="utf-8") for name in ("claims.md", "index.html"))
    (share,) = (line for line in claims.splitlines() if line.startswith("| RED, starts within 0.1 s: TCP's share"))
    assert "It does not hold without the change either: The paper prints neither" in share
    assert "--plugin newreno.py fig2 --out DIR" in page


@pytest.mark.parametrize(("item", "sweep"), [("fig4", "disciplines"), ("fig10", "rtts")])
def test_what_the_points_of_a_sweep_differ_in_is_not_changed(
    item: str, sweep: str, command: Command, tmp_path: Path
) -> None:
    done = command("paper", "gong", item, "--set", "group.background.rtt=100 ms", "--out", str(tmp_path / "out"))
    assert done.code == 2
    assert f"--set group.background.rtt: the points of the sweep {sweep} differ in it" in done.err
    assert not (tmp_path / "out").exists()


def test_claims_are_tried_again_over_other_sweeps(tmp_path: Path) -> None:
    """A claim and its second reading count once; an item that there is not is refused."""
    (tmp_path / "study.toml").write_text(
        'title = "t"\nsource = "s"\nmetrics = ["share"]\nbase = "motivating-red"\nseeds = 1\n'
        '[sweep.one]\n[sweep.two]\nset = { "group.background.control.gain" = 0.5 }\n'
        '[[item]]\nname = "a"\ndefaults = { sweep = "one", metric = "share", group = "tcp" }\n'
        '[[item.claim]]\ntext = "half"\nrelation = "at least"\nvalue = 50\nsays = "half"\n'
        '[[item.claim]]\ntext = "seen"\nrelation = "shown"\n'
        '[[item]]\nname = "b"\nagain = { items = ["a"], sweeps = { one = "two" } }\n',
        encoding="utf-8",
    )
    study = StudyFolder.load(tmp_path)
    a, b = study.tables["item"]
    (again,) = study.claims(b)
    assert (again["text"], again["of"], again["sweep"]) == ("a: half", "a: half", "two")
    assert [one["of"] for one in study.claims(a)] == ["a: half", "a: seen"]
    b["again"]["items"] = ["c"]
    with pytest.raises(InputError, match="again: the study has no item"):
        study.claims(b)
