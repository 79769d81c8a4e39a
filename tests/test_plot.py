"""Figures of datasets: every kind draws, and what is refused says why."""

from pathlib import Path

import pytest
from matplotlib.image import imread
from tests.conftest import SMALL, Command

from sojourn.cli.plot import KINDS
from sojourn.figures import campaign
from sojourn.sweeps import Dataset, Plan
from sojourn.sweeps.local import run_local


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "base.toml").write_text(SMALL, encoding="utf-8")
    axes = {"bottleneck.rate": ["1 Mbit/s", "4 Mbit/s"], "bottleneck.queue.kind": ["droptail", "codel"]}
    plan = Plan.of({"base": "base.toml", "seeds": 3, "axes": axes}, folder=str(folder))
    run_local(plan, Dataset.create(folder / "out", plan, 1), 1, lambda status: None)
    return folder / "out"


ONE, THREE = "share", "share,bottleneck_utilization,bottleneck_queue_ms_mean"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_draws(finished: Path, tmp_path: Path, command: Command, kind: str) -> None:
    y = THREE if kind in {"parallel", "kiviat"} else ONE
    out = tmp_path / "figure.png"
    words = ["--kind", kind, "--x", "bottleneck.rate_mbps", "--y", y, "--by", "bottleneck.queue.kind"]
    drawn = command("plot", str(finished), *words, "--where", "group=tcp", "--out", str(out))
    assert (drawn.code, drawn.err) == (0, "")
    picture = imread(out)
    assert picture.min() < 0.5
    assert picture.shape[1] > 1000


def test_the_kinds_are_those_of_the_figures() -> None:
    assert campaign.KINDS == KINDS


def test_a_line_shows_means_and_intervals(finished: Path) -> None:
    dataset = Dataset.open(finished)
    shown = campaign.view(dataset, "bottleneck.rate_mbps", ["share"], "bottleneck.queue.kind", {"group": "tcp"})
    (axes,) = campaign.draw("line", shown).axes
    lines = {line.get_label(): line for line in axes.lines}
    rows = [
        row
        for row in dataset.table("groups").to_pylist()
        if row["group"] == "tcp" and row["bottleneck.queue.kind"] == "codel"
    ]
    means = [100 * sum(row["share"] for row in rows if row["bottleneck.rate_mbps"] == rate) / 3 for rate in (1, 4)]
    assert list(lines["codel"].get_xdata()) == [1, 4]
    assert list(lines["codel"].get_ydata()) == pytest.approx(means)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--y", "shares", "--x", "seed"], "did you mean 'share'"),
        (["--y", "share"], "needs --x"),
        (["--kind", "kiviat", "--y", "share"], "at least 3 columns"),
        (["--kind", "heatmap", "--x", "seed", "--y", "share"], "needs --by"),
        (["--y", "share", "--x", "group"], "a line needs numbers on its x axis"),
        (["--kind", "cdf", "--y", "group"], "holds no numbers"),
        (["--kind", "cdf", "--y", "share"], "share differs from group to group"),
        (["--kind", "cdf", "--y", "share", "--where", "group=udp"], "there is: background, tcp"),
        (["--kind", "cdf", "--y", "share", "--where", "group"], "COLUMN=VALUE"),
    ],
)
def test_what_is_refused(finished: Path, tmp_path: Path, command: Command, words: list[str], complaint: str) -> None:
    out = tmp_path / "figure.png"
    refused = command("plot", str(finished), *words, "--out", str(out))
    assert refused.code == 2
    assert complaint in refused.err
    assert not out.exists()


@pytest.mark.parametrize(
    ("out", "complaint"),
    [
        ("no-such/x.pdf", "no-such: --out: no such directory"),
        ("x.gif", "x.gif: --out: a picture's name ends in .pdf, .png, .svg"),
    ],
)
def test_where_no_picture_can_be_written_none_is_drawn(
    finished: Path, tmp_path: Path, command: Command, out: str, complaint: str
) -> None:
    refused = command("plot", str(finished), "--y", "share", "--kind", "cdf", "--out", str(tmp_path / out))
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.rstrip().endswith(complaint)


def test_a_picture_has_the_width_and_the_letters_that_were_asked_for(command: Command, tmp_path: Path) -> None:
    drawn = {name: tmp_path / name for name in ("narrow.png", "wide.svg")}
    quick = ("run", "first", "--set", "duration=2 s", "--runs", "1", "--plot")
    assert command(*quick, str(drawn["narrow.png"]), "--plot-width", "3.5").code == 0
    assert command(*quick, str(drawn["wide.svg"]), "--plot-width", "10", "--plot-font", "DejaVu Serif").code == 0
    assert int.from_bytes(drawn["narrow.png"].read_bytes()[16:20]) == 3.5 * 300
    text = drawn["wide.svg"].read_text(encoding="utf-8")
    assert f'width="{10 * 72}pt"' in text
    assert "DejaVu Serif" in text
    assert "DejaVu Sans" not in text


def test_a_font_that_is_not_there_is_found_before_the_run(command: Command, tmp_path: Path) -> None:
    done = command("run", "first", "--plot", str(tmp_path / "a.png"), "--plot-font", "DejaVu Sarif")
    assert done.code == 2
    assert "no font here is called 'DejaVu Sarif'; did you mean 'DejaVu Serif'?" in done.err
