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
GUIDES = [ROOT / "README.md", ROOT / "docs/guide/start.md"]


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
def beside_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """Stand in a folder with the scenario that the page begins with."""
    page: Path = request.param
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    (tmp_path / "first.toml").write_text(blocks(page, "toml")[0], encoding="utf-8")
    return page


@pytest.mark.parametrize("beside_first", GUIDES, ids=name, indirect=True)
def test_commands_run(beside_first: Path, command: Command) -> None:
    lines = "".join(blocks(beside_first, "sh")).splitlines()
    commands = [shlex.split(line, comments=True) for line in lines if line.startswith("sojourn ")]
    assert commands
    for words in commands:
        arguments = words[1 : words.index(">")] if ">" in words else words[1:]
        assert command(*arguments).code == 0, words


@pytest.mark.parametrize("beside_first", GUIDES, ids=name, indirect=True)
def test_python_runs(beside_first: Path) -> None:
    (program,) = blocks(beside_first, "python")
    exec(compile(program, name(beside_first), "exec"), {})


def test_every_algorithm_says_how_far_it_has_been_checked() -> None:
    page = (ROOT / "docs/algorithms.md").read_text(encoding="utf-8")
    known = json.loads(_native.catalogue())
    names = [entry["name"] for kind in ("queues", "controls") for entry in known[kind]]
    assert [name for name in names if f"`{name}`" not in page] == []
