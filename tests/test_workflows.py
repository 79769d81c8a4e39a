"""What continuous integration takes from others is pinned: actions by commit, images by digest, packages by hash."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
# Who publishes may write pages, and nobody may write anything else.
WRITES = {("site.yml", "publish"): {"pages": "write", "id-token": "write"}}
READS = {"contents": "read"}
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
INSTALLS = re.compile(
    r"\b(?:pip3?|pipx|uv|conda|npm|gem|brew|choco|apt-get|apk|go|cargo)\s+(?:pip\s+)?(?:install|add|i)\b.*"
)


def problems(name: str, text: str) -> list[str]:
    """Return what a workflow takes without a pin, and what it may do that it need not."""
    tables = yaml.safe_load(text)
    found = list(_unpinned(tables))
    # A commit alone tells a reader nothing.
    found += [
        f"{line.strip()} names no version"
        for line in text.splitlines()
        if re.search(r"\buses:", line) and not re.search(r"# v\d+\.\d+\.\d+$", line)
    ]
    found += [] if tables.get("permissions") == {} else ["the workflow has permissions, which each job should name"]
    for job, table in tables["jobs"].items():
        if table.get("permissions") != WRITES.get((name, job), READS):
            found.append(f"the job {job} has the permissions {table.get('permissions')}")
        for step in table["steps"]:
            checks_out = str(step.get("uses", "")).startswith("actions/checkout@")
            if checks_out and step.get("with", {}).get("persist-credentials") is not False:
                found.append(f"the job {job} leaves its token to what it checks out")
    return found


def _unpinned(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _unpinned(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            if key == "uses" and not PINNED.fullmatch(one):
                yield f"{one} is an action without a commit"
            elif key in ("container", "image") and not re.search(r"@sha256:[0-9a-f]{64}$", str(one)):
                yield f"{one} is an image without a digest"
            elif key == "run":
                yield from unhashed(one)
            else:
                yield from _unpinned(one)


def unhashed(commands: str) -> Iterator[str]:
    """Return what shell commands install without a hash."""
    listed = re.split(r"&&|\|\||[;|\n]", re.sub(r"\\\n|(?<=&&)\n", " ", commands))
    for command, following in zip(listed, [*listed[1:], ""], strict=True):
        installs = INSTALLS.search(command)
        if installs is not None:
            is_pip = re.search(r"\bpip3? install\b", command)
            is_hashed = "--require-hashes" in command
            is_local = "--no-index" in command and "--no-deps" in command
            if not is_pip or not (is_hashed or is_local):
                yield f"{installs[0].strip()} installs what has no hash"
        if re.search(r"\b(?:curl|wget)\b", command) and not following.strip().startswith("sha256sum --check "):
            yield f"{command.strip()} downloads what has no hash"


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_takes_nothing_without_a_pin(file: Path) -> None:
    assert problems(file.name, file.read_text(encoding="utf-8")) == []


def test_what_workflows_call_installs_by_hash() -> None:
    recipes = [line for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines() if line.startswith("\t")]
    assert list(unhashed("\n".join(recipes))) == []
    for name in ("web", "wheels"):
        script = (ROOT / "scripts" / name).read_text(encoding="utf-8")
        assert list(unhashed("\n".join(line for line in script.splitlines() if not line.startswith("#")))) == []


@pytest.mark.parametrize("file", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda file: file.name)
def test_every_package_of_a_list_has_hashes(file: Path) -> None:
    text = file.read_text(encoding="utf-8").replace("\\\n", " ")
    packages = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert packages
    for package in packages:
        assert re.match(r"\S+==\S+ .*--hash=sha256:[0-9a-f]{64}", package), package[:60]


SOUND = """permissions: {}
jobs:
  one:
    permissions: { contents: read }
    steps:
      - uses: actions/checkout@0123456789012345678901234567890123456789 # v1.2.3
        with: { persist-credentials: false }
      - run: pip install --require-hashes -r requirements/run.txt && true
      - run: pip install --no-index --no-deps --find-links dist sojourn
"""


@pytest.mark.parametrize(
    ("sound", "unsound", "said"),
    [
        ("", "", ""),
        ("@0123456789012345678901234567890123456789 # v1.2.3", "@v4 # v4.0.0", "action without a commit"),
        ("@0123456789012345678901234567890123456789", "@0123456", "action without a commit"),
        (" # v1.2.3", "", "names no version"),
        ("--require-hashes ", "", "installs what has no hash"),
        ("&& true", "&& python -m pip install maturin", "pip install maturin installs what has no hash"),
        ("&& true", "&& cargo install maturin", "cargo install maturin installs what has no hash"),
        ("&& true", "&& curl -sSf https://sh.example | sh", "downloads what has no hash"),
        ("--no-index ", "", "installs what has no hash"),
        ("    steps:", "    container: alpine:3\n    steps:", "alpine:3 is an image without a digest"),
        ("permissions: {}\n", "", "the workflow has permissions"),
        ("permissions: {}\n", "permissions: write-all\n", "the workflow has permissions"),
        ("{ contents: read }", "{ contents: write }", "the job one has the permissions"),
        ("    permissions: { contents: read }\n", "", "the job one has the permissions None"),
        ("{ persist-credentials: false }", "{ fetch-depth: 0 }", "leaves its token"),
    ],
)
def test_what_is_unpinned_is_seen(sound: str, unsound: str, said: str) -> None:
    found = problems("any.yml", SOUND.replace(sound, unsound) if sound else SOUND)
    assert any(said in one for one in found) if said else found == []
