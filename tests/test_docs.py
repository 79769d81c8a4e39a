"""What the documentation shows works: links lead somewhere, examples run as they are printed."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Command

import sojourn
from sojourn import _native

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md")])
RECORD_PAGE = ROOT / "docs/guide/record.md"
GUIDES = [
    ROOT / "README.md",
    ROOT / "docs/guide/start.md",
    ROOT / "docs/guide/campaigns.md",
    RECORD_PAGE,
    ROOT / "docs/guide/traffic.md",
    ROOT / "docs/guide/access.md",
]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert not missing


@pytest.fixture
def beside_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """Stand in a folder with the files that the page shows, each named in its first line."""
    page: Path = request.param
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    for block in blocks(page, "toml"):
        if named := re.match(r"# (\S+\.toml)\n", block):
            (tmp_path / named[1]).write_text(block, encoding="utf-8")
    return page


@pytest.mark.parametrize("beside_files", GUIDES, ids=name, indirect=True)
def test_commands_run(beside_files: Path, command: Command) -> None:
    lines = "".join(blocks(beside_files, "sh")).splitlines()
    commands = [shlex.split(line, comments=True) for line in lines if line.startswith("sojourn ")]
    assert commands
    for words in commands:
        arguments = words[1 : words.index(">")] if ">" in words else words[1:]
        assert command(*arguments).code == 0, words


@pytest.mark.parametrize("beside_files", [page for page in GUIDES if blocks(page, "python")], ids=name, indirect=True)
def test_python_runs(beside_files: Path, command: Command) -> None:
    for line in "".join(blocks(beside_files, "sh")).splitlines():
        if line.startswith("sojourn sweep"):
            assert command(*shlex.split(line)[1:]).code == 0
    (program,) = blocks(beside_files, "python")
    exec(compile(program, name(beside_files), "exec"), {})


EVERYTHING = {
    "duration": "2 s",
    "bottleneck": {"rate": "10 Mbit/s", "queue": {"kind": "dualpi2"}},
    "reverse": {"rate": "10 Mbit/s", "queue": {"kind": "dualpi2"}},
    "hop": [{"name": "gateway", "at": "before", "rate": "20 Mbit/s", "queue": {"kind": "dualpi2"}}],
    "group": [
        {
            "name": "tcp",
            "control": "newreno",
            "rtt": "20 ms",
            "traffic": {"kind": "bulk", "size": "100 kB"},
        },
        {"name": "call", "rtt": "20 ms", "traffic": "voip"},
        {"name": "film", "control": "newreno", "rtt": "20 ms", "traffic": "video"},
        {
            "name": "loads",
            "control": "newreno",
            "rtt": "20 ms",
            "traffic": {"kind": "transfers", "interval": "200 ms", "size": "10 kB"},
        },
        {
            "name": "pages",
            "control": "newreno",
            "rtt": "20 ms",
            "traffic": {"kind": "web", "objects": 2, "size": "10 kB"},
        },
        {"name": "padding", "rtt": "20 ms", "traffic": "adaptive-padding"},
    ],
}


def test_the_page_of_the_record_lists_every_field() -> None:
    section, _ = RECORD_PAGE.read_text(encoding="utf-8").split("## Time series")
    cells = re.findall(r"^\| `([^`]+)` \|[^|]*\|[^|]*\|$", section, flags=re.M)
    listed = [path for cell in cells for path in expanded(cell)]
    (record,) = sojourn.scenario(EVERYTHING).run(series=False).runs
    assert sorted(listed) == sorted(set(fields(record, "")))


def expanded(cell: str) -> list[str]:
    opening, _, choices = cell.partition("{")
    return [opening + choice for choice in choices.rstrip("}").split(",")]


def fields(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            named = path.endswith(("hops", "groups", "classes", "fct_by_size_ms"))
            place = f"{path}.{'NAME' if named else key}".lstrip(".")
            yield from fields(one, re.sub(r"^(bottleneck|reverse|hops\.NAME)\b", "LINK", place))
    elif isinstance(value, list):
        for one in value:
            yield from fields(one, f"{path}[]")
    else:
        yield path


def test_every_algorithm_says_how_far_it_has_been_checked() -> None:
    page = (ROOT / "docs/algorithms.md").read_text(encoding="utf-8")
    known = json.loads(_native.catalogue())
    names = [entry["name"] for kind in ("queues", "controls") for entry in known[kind]]
    assert [name for name in names if f"`{name}`" not in page] == []
