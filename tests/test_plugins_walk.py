"""From the guide alone to a page: a control and a discipline of one's own run wherever they are promised to."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.conftest import PATIENCE_S

import sojourn
from sojourn.pages import of_dataset
from sojourn.worlds.linux.doctor import survey
from sojourn.worlds.linux.kernels import Kernel, kernels
from sojourn.worlds.linux.options import read_options

pytestmark = pytest.mark.long

GUIDE = Path(__file__).parent.parent / "docs" / "guide" / "your-own.md"
MAX_LINES = 40
LAB = """
duration = "5 s"
bottleneck = { rate = "4 Mbit/s", queue = { kind = "droptail", preset = "linux", limit = "30 packets" } }
group = [{ name = "own", control = "mine", flows = 2, rtt = "20 ms" }]
"""
SWEEP = """
base = "lab.toml"
seeds = 2
[axes]
"bottleneck.queue" = ["codel", "mine-too"]
"""
STUDY = """
title = "A queue of one's own is short"
source = "A question of your own"
base = "../lab.toml"
seeds = 2
metrics = ["bottleneck_queue_ms_mean"]

[axes.queue]
levels.DropTail = { "bottleneck.queue" = { kind = "droptail", limit = "200 packets" } }
levels.Mine = { "bottleneck.queue" = { kind = "mine-too", longest = "20 ms" } }

[sweep.queues]
axes = ["queue"]

[[item]]
name = "queue"

[[item.claim]]
text = "the queue is shorter than with DropTail"
sweep = "queues"
metric = "bottleneck_queue_ms_mean"
where = { queue = "Mine" }
relation = "below"
than = { queue = "DropTail" }

[[item.figure]]
name = "queue"
caption = "The queue is short. Two runs each."
sweep = "queues"
metric = "bottleneck_queue_ms_mean"
x = "queue"
"""
OWN = ("control", "discipline")


def block_of(kind: str) -> str:
    """Return what the guide shows of a kind of plug-in."""
    blocks = [block.partition("```")[0] for block in GUIDE.read_text(encoding="utf-8").split("```python\n")[1:]]
    (block,) = [block for block in blocks if f"@sojourn.{kind}(" in block]
    assert len(block.splitlines()) <= MAX_LINES
    return block


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder outside the tree with the classes of the guide, each in a file of its own."""
    place = tmp_path_factory.mktemp("own")
    for kind in OWN:
        (place / f"{kind}.py").write_text(block_of(kind), encoding="utf-8")
    (place / "lab.toml").write_text(LAB, encoding="utf-8")
    (place / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    (place / "study").mkdir()
    (place / "study" / "study.toml").write_text(STUDY, encoding="utf-8")
    return place


def said(folder: Path, *words: str, plug_ins: Sequence[str] = OWN) -> str:
    """Return what a command prints in a process of its own, which knows no plug-in but those it is told."""
    own = [word for kind in plug_ins for word in ("--plugin", f"{kind}.py")]
    done = subprocess.run(
        [sys.executable, "-m", "sojourn", *words, *own],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_both_run_in_the_simulator_and_the_page_names_them(folder: Path) -> None:
    own_queue = ("--set", "bottleneck.queue=mine-too")
    (run,) = json.loads(said(folder, "run", "lab.toml", *own_queue, "--json"))["runs"]
    assert run["groups"]["own"]["goodput_mbps"] > 2
    assert run["bottleneck"]["drops"] > 0
    said(folder, "run", "lab.toml", *own_queue, "--page", "run.html")
    assert named((folder / "run.html").read_text(encoding="utf-8")) == {"control.py", "discipline.py"}


def test_both_run_in_a_sweep_of_two_processes(folder: Path) -> None:
    said(folder, "sweep", "sweep.toml", "--out", "one", "--jobs", "1")
    said(folder, "sweep", "sweep.toml", "--out", "two", "--jobs", "2")
    one, two = (sojourn.Dataset.open(folder / name) for name in ("one", "two"))
    assert one.table("runs").to_pylist() == two.table("runs").to_pylist()
    assert len(one.table("runs").to_pylist()) == 4
    assert named(" ".join(of_dataset.page(one).notes)) == {"control.py", "discipline.py"}


def test_both_run_in_a_study_whose_captions_say_which_code_it_was(folder: Path) -> None:
    said(folder, "study", "run", "study", "--out", "results")
    found = json.loads((folder / "results" / "queue" / "found.json").read_text(encoding="utf-8"))
    assert [check["agrees"] for check in found["checks"]] == [True]
    page = (folder / "results" / "index.html").read_text(encoding="utf-8")
    for text in (found["figures"]["queue"], found["text"], page):
        assert named(text) == {"control.py", "discipline.py"}


def named(text: str) -> set[str]:
    """Return the files of plug-ins that a text names with the beginning of their hash."""
    return set(re.findall(r"of (\w+\.py) \(SHA-256 [0-9a-f]{12}\)", text))


ENTRY_POINTS = """
[sojourn.controls]
mine = control
[sojourn.disciplines]
mine = discipline
[sojourn.traffic]
mine = traffic
[sojourn.worlds]
my-lab = world:WORLD
[sojourn.studies]
my-study = my_study
"""
WORLD = """
from sojourn.worlds.sim import Sim


class Lab(Sim):
    name = "my-lab"
    summary = "the simulation under another name"


WORLD = Lab()
"""


def test_a_package_announces_all_five_kinds(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (*OWN, "traffic"):
        (tmp_path / f"{kind}.py").write_text(block_of(kind), encoding="utf-8")
    (tmp_path / "world.py").write_text(WORLD, encoding="utf-8")
    (tmp_path / "my_study").mkdir()
    (tmp_path / "my_study" / "__init__.py").touch()
    study = STUDY.replace("../lab.toml", str(folder / "lab.toml"))
    (tmp_path / "my_study" / "study.toml").write_text(study, encoding="utf-8")
    installed = tmp_path / "own-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n", encoding="utf-8")
    (installed / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def told(*words: str) -> str:
        return said(folder, *words, plug_ins=())

    for what, name in (("controls", "mine"), ("queues", "mine-too"), ("traffic", "mine-three"), ("worlds", "my-lab")):
        assert re.search(rf"^{name}\b", told("list", what), re.MULTILINE), what
    assert "my_study" in told("paper")
    assert "traffic.py" in told("show", "mine-three")
    own = ("--set", "bottleneck.queue=mine-too", "--set", "group.own.traffic=mine-three", "--world", "my-lab")
    (run,) = json.loads(told("run", "lab.toml", *own, "--json"))["runs"]
    assert run["groups"]["own"]["fct_ms"]["count"] > 0


def makes_paths(kernel: Kernel) -> bool:
    """Tell whether a kernel is there and has what every path is made of; a machine's own may not."""
    return {"htb", "netem"} <= set(survey(kernel, read_options()).qdiscs)


@pytest.mark.testbed
@pytest.mark.parametrize("more", [(), ("traffic",)], ids=["control", "and traffic"])
def test_the_control_and_traffic_run_over_real_udp(folder: Path, more: tuple[str, ...]) -> None:
    """Sojourn's own sender runs them between namespaces of a real kernel, which has the queue."""
    name = next((kernel.name for kernel in kernels().values() if makes_paths(kernel)), None)
    if name is None:
        pytest.skip("no kernel is there that has htb and netem: sojourn testbed doctor")
    words = ["run", "lab.toml", "--world", "linux", "--kernel", name, "--json"]
    for kind in more:
        (folder / f"{kind}.py").write_text(block_of(kind), encoding="utf-8")
        words += ["--set", "group.own.traffic=mine-three"]
    (run,) = json.loads(said(folder, *words, plug_ins=("control", *more)))["runs"]
    assert run["kernel"]["name"] == name
    own = run["groups"]["own"]
    if more:
        assert own["fct_ms"]["count"] > 0
    else:
        assert own["goodput_mbps"] > 1
        assert run["bottleneck"]["drops"] > 0
