"""Links from pages into the laboratory: the whole scenarios of what is shown, side by side, in a real browser too."""

import base64
import html
import importlib.util
import json
import re
import shutil
import tomllib
import zlib
from pathlib import Path

import pytest
from tests.conftest import PATIENCE_S, Command

import sojourn
from sojourn import lab
from sojourn.pages import laboratory
from sojourn.papers import links as papers
from sojourn.study.find import find_folder, named

PAGE = Path(sojourn.__file__).parent / "page"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SHORT = ("--set", "duration=15 s", "--runs", 2)
STUDIES = sorted(named())


def sides(address: str) -> list[str]:
    """Return the two scenario files that an address holds, as the page unpacks them."""
    name, _, packed = html.unescape(address).partition("#")
    assert name == laboratory.FILE
    text = zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), -zlib.MAX_WBITS)
    given = json.loads(text)["sides"]
    assert [side["changes"] for side in given] == [[], []]
    return [side["text"] for side in given]


def addresses(page: str) -> dict[str, str]:
    return {text: address for address, text in re.findall(r'<a href="(lab[^"]*)">([^<]*)</a>', page)}


def test_a_run_opens_its_scenario() -> None:
    scenario = sojourn.Scenario.load("motivating-red", {"duration": "5 s"})
    page = scenario.run(runs=1).page()
    (picture,) = page.pictures
    (link,) = picture.laboratory
    assert sides(link.address) == [scenario.with_(runs=1).to_toml()] * 2
    assert page.has_laboratory


def test_each_variant_opens_beside_the_reference() -> None:
    base = sojourn.Scenario.load("voip-under-load", {"duration": "15 s"})
    variants = {name: base.with_(queue=name) for name in ("droptail", "codel", "fq_codel")}
    page = sojourn.compare(variants, runs=1).page()
    links = {link.text: sides(link.address) for link in page.pictures[0].laboratory}
    assert list(links) == ["codel beside droptail", "fq_codel beside droptail"]
    for text, (left, right) in links.items():
        assert tomllib.loads(left)["bottleneck"]["queue"]["kind"] == "droptail"
        assert tomllib.loads(right)["bottleneck"]["queue"]["kind"] == text.partition(" ")[0]


@pytest.mark.parametrize("name", STUDIES)
def test_figures_of_studies_open_two_points_of_their_sweeps(name: str) -> None:
    found = 0
    for item in find_folder(name).study().items:
        for links in item.laboratory().values():
            for link in links:
                both = [tomllib.loads(text) for text in sides(link.address)]
                assert (" beside " in link.text) == (both[0] != both[1]), link.text
                assert all(sojourn.scenario(tables).groups for tables in both)
                found += 1
    assert found >= 1


def test_a_figure_opens_its_reference_beside_another_value_of_the_same_axis() -> None:
    (item,) = (item for item in find_folder("gong").study().items if item.name == "fig3")
    links = item.laboratory()
    assert [link.text for link in links["fig3"]] == ["CoDel beside DropTail"]
    left, right = (tomllib.loads(text) for text in sides(links["fig3"][0].address))
    assert left["bottleneck"]["queue"]["kind"] == "droptail"
    assert right["bottleneck"]["queue"]["kind"] == "codel"
    assert left["group"] == right["group"]
    assert [link.text for link in links["buffers"]] == ["10 packets beside 400 packets"]


def test_what_the_page_cannot_run_has_no_link(tmp_path: Path) -> None:
    (tmp_path / "link.trace").write_text("1\n2\n3\n", encoding="utf-8")
    ready = sojourn.Scenario.load("cellular")
    own = ready.with_({"bottleneck.trace": str(tmp_path / "link.trace")})
    assert laboratory.link("it", ready.to_toml())
    assert laboratory.link("it", own.to_toml()) == []
    assert laboratory.link("both", ready.to_toml(), own.to_toml()) == []
    assert laboratory.link("a cell", sojourn.Scenario.load("5g-uploads").to_toml()) == []
    assert not own.with_(duration="8 s").run(runs=1).page().has_laboratory


def test_without_the_laboratory_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "files", lambda _: tmp_path)
    lab.write_beside(tmp_path / "index.html")
    assert list(tmp_path.iterdir()) == []


DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", sorted((DOCS / "papers").glob("*.md")), ids=lambda page: page.stem)
def test_figures_of_the_documentation_open_their_scenarios_on_its_site(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    addresses = dict(re.findall(r"^\[(lab-[^\]]+)\]: (\S+)$", text, re.MULTILINE))
    below = re.findall(r"^!\[.*\]\(\S+/(\S+)\.png\)\n\nOpen in the laboratory: (.*)\.$", text, re.MULTILINE)
    found = {figure: re.findall(r"\[([^\]]+)\]\[([^\]]+)\]", links) for figure, links in below}
    shown = re.findall(r"^!\[.*\]\(\S+/(\S+)\.png\)$", text, re.MULTILINE)
    expected = {figure: of for figure, of in papers.of_study(page.stem).items() if figure in shown and of}
    assert list(found) == [figure for figure in shown if figure in expected], "make docs renews them"
    for figure, links in found.items():
        assert [name for name, _ in links] == [link.text for link in expected[figure]]
        for link, (_, name) in zip(expected[figure], links, strict=True):
            site, _, address = addresses[name].rpartition("/")
            assert site == papers.site()
            # The packer of another machine may give other bytes.
            both = [[sojourn.scenario(tomllib.loads(side)) for side in sides(one)] for one in (address, link.address)]
            assert both[0] == both[1], "make docs renews them"
    assert papers.without(papers.linked(page.stem, text)) == papers.without(text)
    assert papers.site() not in papers.local(text, "../")


@pytest.mark.filterwarnings("default")
@pytest.mark.skipif(not (PAGE / "engine.wasm").exists(), reason="the page is not built: make web")
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
@pytest.mark.skipif(importlib.util.find_spec("playwright") is None, reason="no playwright")
def test_a_click_opens_both_scenarios(command: Command, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    words = ("compare", "voip-under-load", "--queue", "droptail,codel", *SHORT, "--out", tmp_path / "both")
    assert command(*words).code == 0
    (text,) = addresses((tmp_path / "both" / "index.html").read_text(encoding="utf-8"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.set_default_timeout(200 * PATIENCE_S)
        tab.goto((tmp_path / "both" / "index.html").as_uri())
        tab.get_by_role("link", name=text).click()
        tab.locator("body[data-state=done]").wait_for(state="attached")
        chosen = [tab.get_by_label(f"Queue, {side}").input_value() for side in ("left", "right")]
        assert chosen == ["droptail", "codel"]
        browser.close()
