"""What is promised about safety is kept by tests that are there; continuous integration looks at dependencies."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("SECURITY.md", "docs/contributing/threat-model.md", "docs/contributing/testing.md")
# A screen of a wide terminal, or two of a narrow one.
_SCREEN_LINES = 40


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_tests_that_a_page_names_are_there(page: str) -> None:
    rust = [path.relative_to(ROOT) for path in (ROOT / "crates").rglob("*.rs") if "target" not in path.parts]
    python = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("*.py")}
    for name in re.findall(r"`([\w/*.-]+)`", text(page)):
        if name.endswith(".rs"):
            assert any(str(path).endswith(name) for path in rust), name
        elif name.endswith(".py") and name.rpartition("/")[2].startswith("test_"):
            assert list((ROOT / "tests").glob(name.rpartition("/")[2])), name
        elif name.startswith("test_"):
            assert any(f"def {name}(" in source for source in python.values()), name


def test_each_promise_names_what_keeps_it() -> None:
    promised = text("SECURITY.md").partition("## What is promised")[2].partition("\n## ")[0]
    lines = [line for line in promised.splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    assert rows[0] == ["Situation", "Promise", "Kept by"]
    for situation, _, kept in rows[1:]:
        assert re.search(r"`(tests/test_\w+\.py|test_\w+|make \w+)`", kept), situation


@pytest.mark.parametrize("command", ["torture", "soak", "fuzz", "busy", "audit"])
def test_commands_that_the_pages_name_are_there(command: str) -> None:
    assert f"make {command}" in " ".join(text("docs/contributing/testing.md").split())
    assert re.search(rf"^{command}:", text("Makefile"), flags=re.M)


def test_what_is_promised_is_said() -> None:
    said = " ".join(text("SECURITY.md").split())
    assert "No code from it runs" in said
    assert "What a peer can make it do at worst, and how its limits are set: [docs/guide/hosts.md]" in said
    assert "## What runs as root, and why" in said
    assert text("docs/contributing/threat-model.md").count("\n") <= _SCREEN_LINES


def test_licences_sources_and_duplicates_are_looked_at_and_dependencies_listed() -> None:
    rules = tomllib.loads(text("deny.toml"))
    assert rules["licenses"]["allow"]
    assert (rules["sources"]["unknown-registry"], rules["sources"]["unknown-git"]) == ("deny", "deny")
    assert rules["bans"]["multiple-versions"] == "deny"
    audit = text("scripts/audit")
    assert "cargo deny" in audit
    for locked in ("crates/sojourn-py/Cargo.toml", "requirements/run.txt"):
        assert locked in audit
    assert "make audit" in text(".ci/run")
