"""The laboratory's page where Rust's target for it cannot be had: one built elsewhere from the same sources serves."""

import hashlib
import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ("crates", "scenarios", "web", "Cargo.toml", "Cargo.lock", "scripts/web", "scripts/join_modules.py")

pytestmark = pytest.mark.skipif(not all(map(shutil.which, ("git", "bash", "curl"))), reason="needs git, bash and curl")


def git(folder: Path, *words: str) -> str:
    name = ("-c", "user.name=nobody", "-c", "user.email=nobody@localhost")
    return subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with all that the page is made from, in small."""
    folder = tmp_path / "clone"
    for name in ("crates/a", "scenarios/a", "web/a", "Cargo.toml", "Cargo.lock"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "python" / "sojourn").mkdir(parents=True)
    (folder / "scripts").mkdir()
    for name in ("web", "join_modules.py"):
        shutil.copy(ROOT / "scripts" / name, folder / "scripts" / name)
    shutil.copy(ROOT / "pyproject.toml", folder / "pyproject.toml")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "all")
    return folder


@pytest.fixture
def published(clone: Path, tmp_path: Path) -> Path:
    """Where the page of these sources is, as `scripts/web --pack` leaves it."""
    ids = "".join(git(clone, "rev-parse", f"HEAD:{name}") for name in SOURCES)
    name = f"page-{hashlib.sha256(ids.encode()).hexdigest()[:16]}.tar.gz"
    folder = tmp_path / "published"
    folder.mkdir()
    with tarfile.open(folder / name, "w:gz") as archive:
        about = tarfile.TarInfo("index.html")
        about.size = 4
        archive.addfile(about, io.BytesIO(b"page"))
    checksum = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (clone / "scripts" / "page.sha256").write_text(f"{checksum}  {name}\n")
    return folder


def web(clone: Path, published: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/web with a Rust that has no target for the page, and no rustup."""
    tools = clone.parent / "tools"
    tools.mkdir()
    (tools / "rustc").write_text("#!/bin/sh\necho /nowhere\n")
    (tools / "rustc").chmod(0o755)
    for name in (
        "bash",
        "git",
        "curl",
        "sed",
        "sha256sum",
        "cut",
        "tar",
        "gzip",
        "mktemp",
        "mkdir",
        "rm",
        "mv",
        "dirname",
        "grep",
        "cp",
    ):
        (tools / name).symlink_to(str(shutil.which(name)))
    environment = os.environ | {"PATH": str(tools), "SOJOURN_PAGES": published.as_uri()}
    return subprocess.run(
        ["scripts/web", *words], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )


def test_the_page_of_the_same_sources_is_used(clone: Path, published: Path) -> None:
    done = web(clone, published, "--if-possible")
    assert (done.returncode, done.stderr) == (0, "")
    assert (clone / "python/sojourn/page/index.html").read_text() == "page"


def test_a_page_that_is_not_what_its_checksum_says_is_refused(clone: Path, published: Path) -> None:
    (archive,) = published.glob("*.gz")
    archive.write_bytes(archive.read_bytes() + b"more")
    done = web(clone, published)
    assert done.returncode == 1
    assert "the page was not built" in done.stderr
    assert not (clone / "python/sojourn/page").exists()


def test_other_sources_have_another_page(clone: Path, published: Path) -> None:
    (clone / "web/a").write_text("changed")
    assert web(clone, published).returncode == 1
    git(clone, "commit", "--quiet", "--all", "--message", "changed")
    shutil.rmtree(clone.parent / "tools")
    assert web(clone, published).returncode == 1
