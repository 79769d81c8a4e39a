"""`sojourn compare` and what it is made of: variants, columns, marks."""

import csv
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import sojourn
from conftest import Command
from sojourn.cli import render
from sojourn.compared import BEST, BEYOND_CHANCE
from sojourn.purposes import PURPOSES, columns
from sojourn.report import Grid
from sojourn.variants import variants
from sojourn.worlds import registry, sim

SHORT = ("--set", "duration=20 s", "--runs", 3)


def test_one_row_for_each_queue_with_columns_of_what_is_there(command: Command) -> None:
    outcome = command("compare", "voip-under-load", "--queue", "droptail,fq_codel", *SHORT, "--format", "markdown")
    assert outcome.code == 0
    header, _, *rows = [line.split("|")[1:-1] for line in outcome.out.splitlines() if line.startswith("|")]
    names = [cell.strip() for cell in header]
    assert [row[0].strip() for row in rows] == ["droptail", "fq_codel"]
    assert "page [ms]" not in " ".join(names)
    mos = names.index("speaks: MOS")
    assert BEST in rows[1][mos]
    assert BEST not in rows[0][mos]
    # The reference differs from itself by nothing; of three runs that are alike each difference is beyond chance.
    assert BEYOND_CHANCE not in "".join(rows[0])
    assert BEYOND_CHANCE in rows[1][mos]


def test_numbers_are_those_of_single_runs(command: Command) -> None:
    words = ("compare", "voip-under-load", "--queue", "droptail,codel", *SHORT)
    rows = json.loads(command(*words, "--format", "json").out)
    alone = sojourn.Scenario.load("voip-under-load", {"duration": "20 s", "bottleneck.queue": {"kind": "codel"}})
    (mos,) = [row["mean"] for row in rows if (row["variant"], row["metric"]) == ("codel", "voip_mos.speaks")]
    assert mos == alone.run(runs=3, series=False).summary["voip_mos.speaks"]["mean"]
    listed = list(csv.DictReader(io.StringIO(command(*words, "--format", "csv").out)))
    assert [row["metric"] for row in listed] == [row["metric"] for row in rows]


def test_the_kind_that_is_there_keeps_its_parameters() -> None:
    base = sojourn.Scenario.load("voip-under-load")
    made = variants(base, queues=["droptail", "codel"], controls=["cubic", "ledbat"])
    assert list(made) == ["droptail, cubic", "droptail, ledbat", "codel, cubic", "codel, ledbat"]
    assert made["droptail, cubic"] == base
    assert made["codel, ledbat"].to_dict().group[0].control.kind == "ledbat"


def test_columns_follow_the_traffic() -> None:
    tables = sojourn.Scenario.load("cake-lower-effort").to_dict()
    names = [column.shown.metric for column in columns(tables)]
    assert names[:2] == ["share.tcp", "goodput_mbps.tcp"]
    assert not any("voip" in name for name in names)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--queue", "droptail"], "at least two scenarios"),
        (["--queue", "droptail,codle"], "codel"),
        (["--queue", "codel,codel"], "two variants are called 'codel'"),
        (["--variant", "nothing"], "NAME:KEY=VALUE"),
    ],
)
def test_wrong_input_is_refused(command: Command, words: list[str], says: str) -> None:
    outcome = command("compare", "voip-under-load", *words)
    assert outcome.code == 2
    assert says in outcome.err


def test_control_needs_one_group_that_has_one(command: Command) -> None:
    outcome = command("compare", "cake-lower-effort", "--control", "cubic,ledbat")
    assert outcome.code == 2
    assert "tcp, background" in outcome.err


def test_messages_name_the_parameters_of_python() -> None:
    base = sojourn.Scenario.load("cake-lower-effort")
    with pytest.raises(sojourn.InputError, match=r"controls= groups with a control: tcp, background.*own="):
        variants(base, controls=["cubic", "ledbat"])
    with pytest.raises(sojourn.InputError, match="own= found 'nothing'; allowed: KEY=VALUE"):
        variants(base, own=["a:nothing"])


def test_a_narrow_terminal_turns_or_stacks_and_a_pipe_keeps_every_number(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ["one", "1234.5 ± 67.8", "9.99 *≠"]
    grid = Grid(["variant", "a long heading of a column", "another heading"], [row])
    render.print_grid(grid)
    assert "1234.5 ± 67.8" in capsys.readouterr().out.splitlines()[-1]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "45")
    render.print_grid(grid)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["another", "heading", "9.99", "*≠"] in lines
    assert "one" in " ".join(lines[0])
    # Three variants side by side are too wide either way.
    render.print_grid(Grid(grid.headers, [row, ["two", *row[1:]], ["three", *row[1:]]]))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines.count(["another", "heading", "9.99", "*≠"]) == 3
    assert "one" in lines[0][0]


def test_the_table_of_the_readme_is_what_its_command_prints(command: Command) -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    (words,) = re.findall(r"^sojourn (compare (?:[^\n]*\\\n)*[^\n]*markdown)$", readme, re.MULTILINE)
    assert command(*shlex.split(words.replace("\\\n", " "))).out in readme


@pytest.mark.parametrize(
    ("purpose", "best", "says"),
    [
        ("calls", "fq_codel", "Best for calls is fq_codel"),
        ("background", "droptail", "Best for background is droptail"),
    ],
)
def test_a_purpose_sorts_and_answers(command: Command, purpose: str, best: str, says: str) -> None:
    words = ("compare", "backups-beside-calls", "--queue", "codel,droptail,fq_codel", *SHORT, "--for", purpose)
    outcome = command(*words, "--format", "markdown")
    rows = [line.split("|")[1].strip() for line in outcome.out.splitlines() if line.startswith("|")][2:]
    assert rows[0] == best
    assert says in outcome.out
    header = outcome.out.splitlines()[0].split("|")
    assert header[2].strip().startswith("call:" if purpose == "calls" else "backups:")


def test_a_purpose_that_the_scenario_has_no_groups_for_is_refused(command: Command) -> None:
    outcome = command("compare", "voip-under-load", "--queue", "droptail,codel", "--for", "pages")
    assert outcome.code == 2
    assert 'a group with traffic "web"' in outcome.err
    assert "upload, speaks, hears" in outcome.err


def test_a_mark_alone_makes_background_traffic() -> None:
    base = sojourn.Scenario.load("cake-lower-effort")
    (purpose,) = [one for one in PURPOSES.values() if one.name == "background"]
    assert purpose.groups([base.to_dict()]) == ["background"]
    assert purpose.groups([base.with_({"group.background.dscp": "default"}).to_dict()]) == []
    found = sojourn.compare(
        {"be": base.with_({"group.background.dscp": "default"}), "le": base}, runs=2, purpose="background"
    )
    assert found.order == ["le", "be"]


def test_columns_in_which_nothing_differs_are_named_below(command: Command) -> None:
    words = ("compare", "voip-under-load", "--variant", "a:seed=1", "--variant", "b:seed=1")
    outcome = command(*words, "--variant", "c:bottleneck.queue=codel", *SHORT, "--format", "markdown")
    header = outcome.out.splitlines()[0]
    assert "speaks: MOS" in header
    assert "hears: one-way delay" not in header
    assert "No variant differs in" in outcome.out
    assert "hears: one-way delay p99 [ms] (20.16 ± 0.00)" in outcome.out


def test_metrics_by_name_with_the_nearest_one_for_what_is_unknown(command: Command) -> None:
    words = ("compare", "voip-under-load", "--queue", "droptail,codel", *SHORT)
    header = command(*words, "--metric", "voip_mos,voip_jitter_ms.speaks", "--format", "markdown").out.splitlines()[0]
    assert [name.strip() for name in header.split("|")[2:-1]] == [
        "hears: MOS",
        "speaks: MOS",
        "speaks: voip_jitter_ms [ms]",
    ]
    outcome = command(*words, "--metric", "mos")
    assert outcome.code == 2
    assert "did you mean 'voip_mos'" in outcome.err


def test_a_kernel_stands_beside_and_is_compared_with_its_own_reference(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Kernel:
        """The simulation with ten packets less of buffer, in the kernel's place."""

        name, summary, keeps, options = "linux", "", frozenset(), sim.WORLD.options
        parallel = True

        def fit(self, scenario: Any, options: Any) -> list[str]:
            return []

        def run(self, scenario: Any, seeds: Any, wanted: Any, options: Any, **settings: Any) -> Any:
            ran.append(list(seeds))
            return sim.WORLD.run(scenario, seeds, wanted, options, **settings)

    ran: list[list[int]] = []
    monkeypatch.setitem(vars(registry), "_load_own", lambda name: Kernel() if name == "linux" else sim.WORLD)
    words = ("compare", "voip-under-load", "--queue", "droptail,codel", *SHORT, "--kernel", "--kernel-runs", 2)
    outcome = command(*words, "--format", "markdown", "--for", "calls")
    rows = [line.split("|")[1].strip() for line in outcome.out.splitlines() if line.startswith("|")][2:]
    assert rows == ["codel", "codel (linux)", "droptail", "droptail (linux)"]
    assert ran == [[1, 2], [1, 2]]
    assert "compared with droptail (linux)" in outcome.out


@pytest.mark.testbed
def test_the_kernel_itself_stands_beside(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(
        """
duration = "2 s"
bottleneck = { rate = "4 Mbit/s", queue = { kind = "droptail", limit = "100 packets" } }
group = [
    { name = "tcp", control = "cubic", transport = "linux", rtt = "20 ms" },
    { name = "call", traffic = "voip", rtt = "20 ms" },
]
""",
        encoding="utf-8",
    )
    words = ("compare", file, "--queue", "droptail,codel", "--runs", 1, "--kernel", "--kernel-runs", 1)
    outcome = command(*words, "--format", "markdown")
    assert outcome.code == 0, outcome.err
    header, _, *rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in outcome.out.splitlines() if line.startswith("|")
    ]
    assert [row[0] for row in rows] == ["droptail", "droptail (linux)", "codel", "codel (linux)"]
    queue = header.index("queue [ms]")
    simulated, real, managed, really = (float(row[queue].split()[0]) for row in rows)
    # CoDel empties the queue in both worlds, and what is simulated is near what the kernel does.
    assert managed < simulated / 4
    assert really < real / 4
    assert real == pytest.approx(simulated, rel=0.25)
    assert "A kernel does not measure call: MOS" in outcome.out


def test_with_a_kernel_a_kind_takes_its_preset_linux() -> None:
    base = sojourn.Scenario.load("voip-under-load")
    own, linux = (
        variants(base, queues=["droptail", "codel", "sqf"], preset=preset)["codel"].to_dict()
        for preset in (None, "linux")
    )
    assert own == base.with_(queue="codel").to_dict()
    assert linux == base.with_({"bottleneck.queue": {"kind": "codel", "preset": "linux"}}).to_dict()


def test_what_the_kernel_cannot_have_is_refused_before_anything_runs(command: Command) -> None:
    outcome = command("compare", "voip-under-load", "--queue", "droptail,sqf", "--kernel")
    assert outcome.code == 2
    assert "the Linux kernel cannot have" in outcome.err


def test_the_link_whose_queue_decides_is_named(command: Command) -> None:
    shorter = ("--set", "duration=30 s", "--set", "warmup=5 s", "--runs", "1")
    done = command("compare", "web-pages", "--queue", "droptail,codel", *shorter)
    assert "The bottleneck's link is used to 3.3 % at most, reverse to 100.0 %" in done.out
    assert "the queue that decides is there (such as reverse.queue=fq_codel)" in done.out
    assert "the queue that decides" not in command("compare", "first", "--queue", "droptail,codel", *shorter).out
