"""The site of the documentation: every page is laid out, and no link leads out of it but to the repository."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ZENSICAL = shutil.which("zensical") or shutil.which("zensical", path=ROOT / ".venv" / "bin")


def laid_out(target: Path) -> Path:
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "scripts" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.lay_out(target)
    return target


def test_links_stay_in_the_site_or_lead_to_the_repository(tmp_path: Path) -> None:
    pages = laid_out(tmp_path / "pages")
    missing = [
        (page.name, link)
        for page in pages.rglob("*.md")
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
        if "://" not in link and not (page.parent / link).exists()
    ]
    assert missing == []
    assert "https://github.com/OWNER/sojourn/blob/main/ARCHITECTURE.md" in (pages / "index.md").read_text(
        encoding="utf-8"
    )


def test_the_navigation_names_pages_that_there_are_and_the_whole_guide() -> None:
    named = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert [name for name in named - {"index.md"} if not (ROOT / "docs" / name).is_file()] == []
    for folder in ("guide", "queues", "controls"):
        assert {f"{folder}/{path.name}" for path in (ROOT / "docs" / folder).glob("*.md")} <= named


@pytest.mark.skipif(ZENSICAL is None, reason="no zensical: make site installs it")
def test_the_site_is_built_without_a_complaint() -> None:
    laid_out(ROOT / "build" / "site-pages")
    done = subprocess.run([ZENSICAL, "build", "--strict"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (ROOT / "build" / "site" / "index.html").is_file()
