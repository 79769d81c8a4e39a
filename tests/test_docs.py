"""What the documentation shows works: links lead somewhere, examples run as they are printed."""

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.conftest import Command

from sojourn import _native

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md")])
GUIDES = [ROOT / "README.md", ROOT / "docs/guide/start.md", ROOT / "docs/guide/campaigns.md"]


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


@pytest.mark.parametrize("beside_files", GUIDES, ids=name, indirect=True)
def test_python_runs(beside_files: Path, command: Command) -> None:
    for line in "".join(blocks(beside_files, "sh")).splitlines():
        if line.startswith("sojourn sweep"):
            assert command(*shlex.split(line)[1:]).code == 0
    (program,) = blocks(beside_files, "python")
    exec(compile(program, name(beside_files), "exec"), {})


def test_every_algorithm_says_how_far_it_has_been_checked() -> None:
    page = (ROOT / "docs/algorithms.md").read_text(encoding="utf-8")
    known = json.loads(_native.catalogue())
    names = [entry["name"] for kind in ("queues", "controls") for entry in known[kind]]
    assert [name for name in names if f"`{name}`" not in page] == []
