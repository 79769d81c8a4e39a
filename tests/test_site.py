"""The site of the documentation: every page is laid out, and no link leads out of it but to the repository."""

import functools
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from tests.lab_page import in_chromium, marked

import sojourn

if TYPE_CHECKING:
    from playwright.sync_api import Browser

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


@functools.cache
def built() -> "subprocess.CompletedProcess[str]":
    """Build the site as `make site` does, once."""
    assert ZENSICAL is not None
    laid_out(ROOT / "build" / "site-pages")
    return subprocess.run([ZENSICAL, "build", "--strict"], cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_address_follows_from_pyproject(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    addresses = importlib.import_module("addresses")
    assert [str(file) for file, _ in addresses.astray()] == []
    sources, site = addresses.addresses()
    theirs, pages = "https://github.com/" + "somebody/sojourn", "https://somebody" + ".github.io/sojourn"
    assert addresses.followed(f"{theirs}/issues, {pages}/lab.html#x") == f"{sources}/issues, {site}/lab.html#x"
    assert addresses.followed(f"{theirs}-sim") == f"{theirs}-sim"


def test_what_a_release_needs_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """What only a person can say, who publishes and when, is left to `make release-check`."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    release = importlib.import_module("release_check")
    for name in ("version", "citation", "paper"):
        assert release.CHECKS[name]()
    monkeypatch.setattr(release, "MAX_WORDS", 100)
    with pytest.raises(ValueError, match=r"paper\.md has \d+ words, allowed: 100"):
        release.paper()
    monkeypatch.setattr(release, "version", lambda: "9.9.9")
    with pytest.raises(ValueError, match="another version"):
        release.one_version()


def test_links_stay_in_the_site_or_lead_to_the_repository(tmp_path: Path) -> None:
    pages = laid_out(tmp_path / "pages")
    missing = [
        (page.name, link)
        for page in pages.rglob("*.md")
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
        if "://" not in link and not (page.parent / link).exists()
    ]
    assert missing == []
    assert "https://github.com/OWNER/sojourn/blob/main/LICENSE-MIT" in (pages / "index.md").read_text(encoding="utf-8")


def test_the_laboratory_is_in_the_site(tmp_path: Path) -> None:
    pages = laid_out(tmp_path / "pages")
    assert 'src="lab.html"' in (pages / "try.md").read_text(encoding="utf-8")
    assert "](lab.html)" in (pages / "try.md").read_text(encoding="utf-8")
    text = (pages / "lab.html").read_text(encoding="utf-8")
    assert ("<canvas" in text or "WebAssembly" in text) is (
        Path(sojourn.__file__).parent / "page" / "engine.wasm"
    ).exists()
    assert "]: ../lab.html#" in (pages / "papers" / "gong.md").read_text(encoding="utf-8")


def test_the_navigation_names_pages_that_there_are_and_the_whole_guide() -> None:
    named = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert [name for name in named - {"index.md"} if not (ROOT / "docs" / name).is_file()] == []
    for folder in ("guide", "queues", "controls"):
        assert {f"{folder}/{path.name}" for path in (ROOT / "docs" / folder).glob("*.md")} <= named


@pytest.mark.skipif(ZENSICAL is None, reason="no zensical: make site installs it")
def test_the_site_is_built_without_a_complaint() -> None:
    done = built()
    assert done.returncode == 0, done.stdout + done.stderr
    assert (ROOT / "build" / "site" / "index.html").is_file()


@marked(*in_chromium())
@pytest.mark.skipif(ZENSICAL is None, reason="no zensical: make site installs it")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", ["index", "gallery", "concepts", "papers/gong"])
def test_a_page_of_the_site_fits_and_has_no_fault_by_axe(
    page: str, scheme: Literal["light", "dark"], browser: "Browser"
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    built()
    for width in (360, 768, 1280):
        tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        tab.goto((ROOT / "build" / "site" / f"{page}.html").as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        found = Axe().run(tab)
        assert found.violations_count == 0, found.generate_report()
