"""The pages that the tool writes: whole in one file, read in a real browser at three widths, without faults by axe."""

import base64
import hashlib
import html
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from matplotlib.figure import Figure
from tests.conftest import Command
from tests.lab_page import in_chromium

import sojourn
from sojourn import pages
from sojourn.pages import Cell, Fold, Page, Table, Tile, pictures

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

WIDTHS = (360, 768, 1600)
SHOTS = Path(__file__).parent.parent / "target" / "pages"
"""Where screenshots are left to be looked at."""
SHORT = ("--set", "duration=20 s", "--runs", 3)
KINDS = ("run", "comparison", "sweep", "study", "try-control", "try-queue", "detect")

needs_browser = in_chromium(package="axe_playwright_python")

SWEEP = """
base = "motivating-red"
seeds = 2
[set]
duration = "5 s"
[axes]
"bottleneck.rate" = ["4 Mbit/s", "10 Mbit/s"]
[cases]
"DropTail" = { "bottleneck.queue" = "droptail" }
"RED" = { }
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write a page of each kind."""
    from sojourn.cli import run_command_line
    from sojourn.study.find import find_folder
    from sojourn.study.kept import read_items, write_item
    from sojourn.study.page import write_page

    folder = tmp_path_factory.mktemp("pages")
    (folder / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    run, comparison = folder / "run.html", folder / "comparison.html"
    words = ["compare", "backups-beside-calls", "--queue", "droptail,fq_codel,cake", "--for", "calls", "--page"]
    for line in (
        ["run", "voip-under-load", *SHORT, "--page", run],
        [*words, comparison, *SHORT],
        ["sweep", folder / "sweep.toml", "--out", folder / "sweep"],
        ["open", folder / "sweep", "--no-browser"],
        ["try", "vegas", "--page", folder / "try-control.html"],
        ["try", "codel", "--page", folder / "try-queue.html"],
        ["detect", "voip-under-load", "--page", folder / "detect.html"],
    ):
        assert run_command_line(list(map(str, line))) == 0
    study = find_folder("fluid")
    made, means = study.study(), study.replayed()
    # One with claims and a figure; drawing them all takes long.
    item, tables = next(
        both
        for both in zip(made.items, study.tables["item"], strict=True)
        if both[1].get("claim") and both[1].get("figure")
    )
    write_item(folder / "fluid", made, item, study.findings(tables, means))
    page = write_page(folder / "fluid", made, read_items(folder / "fluid", made))
    others = {kind: folder / f"{kind}.html" for kind in KINDS if kind.startswith(("try", "detect"))}
    return {"run": run, "comparison": comparison, "sweep": folder / "sweep" / pages.PAGE, "study": page, **others}


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_script_of_every_page_may_run(written: dict[str, Path], kind: str) -> None:
    text = written[kind].read_text(encoding="utf-8")
    head, _, body = text.partition("<style>")
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', head)
    assert found, head
    rules = dict(rule.split(" ", 1) for rule in html.unescape(found[1]).split("; "))
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", body, flags=re.S)
    hashes = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    assert [rules["script-src"]] == [f"'sha256-{one}'" for one in hashes]
    assert (rules["default-src"], rules["img-src"], rules["base-uri"]) == ("'none'", "data:", "'none'")


def test_a_script_in_a_kept_figure_is_not_the_one_that_may_run(written: dict[str, Path]) -> None:
    from sojourn.study.find import find_folder
    from sojourn.study.kept import read_items
    from sojourn.study.page import write_page

    folder = written["study"].parent
    figure = next(folder.glob("*/*.svg"))
    before = figure.read_text(encoding="utf-8")
    figure.write_text(before.replace("</svg>", "<script>document.title = 'theirs'</script></svg>"), encoding="utf-8")
    try:
        study = find_folder("fluid").study()
        text = write_page(folder, study, read_items(folder, study)).read_text(encoding="utf-8")
    finally:
        figure.write_text(before, encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(b"document.title = 'theirs'").digest()).decode()
    assert "theirs" in text
    assert digest not in text
    assert "'unsafe-inline'" not in html.unescape(text).partition("script-src")[2].partition(";")[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_one_file_that_asks_for_nothing(written: dict[str, Path], kind: str) -> None:
    text = written[kind].read_text(encoding="utf-8")
    # Only who follows a link to the laboratory leaves the page.
    assert not re.search(r"(?:src|href)=\"(?!#|lab\.html#)", text)
    assert not re.search(r"@import|<link|https?://(?!www\.w3\.org/)", text)
    assert re.search(r"<h1>[^<]+</h1>", text)
    assert "Repeat it" in text
    assert "sojourn " in text
    # Each id is there once, and each reference leads to one of them.
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]*)', text)) <= set(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_that_is_open_has_at_most_ten_rows(written: dict[str, Path], kind: str) -> None:
    text = written[kind].read_text(encoding="utf-8")
    (body,) = re.findall(r"<tbody>(.*?)</tbody>", text[: text.index("<details")], re.DOTALL)
    assert 1 <= body.count("<tr>") <= 10


def opened(browser: "Browser", path: Path, width: int, *, dark: bool = False) -> "Tab":
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light")
    faults: list[str] = []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.goto(path.as_uri())
    assert faults == []
    return tab


@pytest.mark.parametrize("kind", KINDS)
class TestInABrowser:
    pytestmark = needs_browser

    @pytest.mark.parametrize("width", WIDTHS)
    def test_a_page_fits_its_width(self, browser: "Browser", written: dict[str, Path], kind: str, width: int) -> None:
        tab = opened(browser, written[kind], width)
        SHOTS.mkdir(parents=True, exist_ok=True)
        tab.screenshot(path=SHOTS / f"{kind}-{width}.png", full_page=True)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        # One drawing of each figure is seen: the one laid out for the width.
        seen = tab.locator("main > figure > .wide" if width > 640 else "main > figure > .narrow")
        assert all(seen.nth(place).is_visible() for place in range(seen.count()))
        assert tab.locator("main > figure svg:visible").count() == seen.count()
        # No column of a table is hidden behind a scroll, also in what is folded.
        tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        tab.wait_for_function(
            "[...document.querySelectorAll('.scroll')].every((one) => one.scrollWidth <= one.clientWidth + 1)"
        )
        tab.close()

    @pytest.mark.parametrize("dark", [False, True])
    def test_axe_finds_no_fault(self, browser: "Browser", written: dict[str, Path], kind: str, dark: bool) -> None:
        from axe_playwright_python.sync_playwright import Axe

        tab = opened(browser, written[kind], 1280, dark=dark)
        found = Axe().run(tab)
        assert found.violations_count == 0, found.generate_report()
        tab.close()


def small() -> Page:
    rows = [[Cell(f"<{name}>"), Cell.of(value)] for name, value in (("b", 10), ("a", 9), ("c", 100))]
    many = Table(["name", "value"], [[Cell(str(place)), Cell.of(place)] for place in range(12)], "Many")
    return Page(
        "A & B",
        "of a test",
        tiles=[Tile("1", "one")],
        heading="How much?",
        table=Table(["name", "value"], rows),
        folds=[Fold("All", tables=[many], name="all")],
        command="sojourn run x",
    )


def test_what_others_wrote_is_text() -> None:
    text = pages.render(small())
    assert "<h1>A &amp; B</h1>" in text
    assert "&lt;b&gt;" in text


class TestWithScript:
    pytestmark = needs_browser

    def test_columns_sort_by_number_and_by_name(self, browser: "Browser", tmp_path: Path) -> None:
        tab = opened(browser, pages.write(small(), tmp_path / "page.html"), 768)
        column = tab.locator("main > .scroll tbody tr td:first-child")
        assert column.all_text_contents() == ["<b>", "<a>", "<c>"]
        tab.get_by_role("button", name="value").first.click()
        assert column.all_text_contents() == ["<a>", "<b>", "<c>"]
        tab.get_by_role("button", name="value").first.click()
        assert column.all_text_contents() == ["<c>", "<b>", "<a>"]
        tab.get_by_role("button", name="name").first.click()
        assert column.all_text_contents() == ["<a>", "<b>", "<c>"]

    def test_a_table_that_is_too_wide_becomes_cards(self, browser: "Browser", tmp_path: Path) -> None:
        columns = [f"column {place} of the table" for place in range(9)]
        rows = [[Cell(f"row {row}"), *(Cell.of(row * place) for place in range(1, 9))] for row in (2, 1)]
        path = pages.write(Page("A", "b", table=Table(columns, rows, "Wide")), tmp_path / "page.html")
        tab = opened(browser, path, 360)
        frame = tab.locator(".scroll.stacked")
        frame.wait_for()
        assert tab.get_by_role("row").count() == 3
        last = tab.get_by_role("cell").last
        box = last.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 360
        assert last.evaluate("(cell) => getComputedStyle(cell, '::before').content") == f'"{columns[-1]}"'
        tab.get_by_role("button", name=columns[1]).click()
        assert tab.locator("tbody tr td:first-child").all_text_contents() == ["row 1", "row 2"]
        tab.set_viewport_size({"width": 1600, "height": 900})
        tab.locator(".scroll:not(.stacked)").wait_for()
        tab.close()

    def test_long_tables_filter_and_links_open_folds(self, browser: "Browser", tmp_path: Path) -> None:
        tab = browser.new_page()
        tab.goto(pages.write(small(), tmp_path / "page.html").as_uri() + "#all")
        tab.get_by_label("Filter rows of: Many").fill("11")
        assert tab.locator("#all tbody tr:visible").count() == 1

    def test_a_figure_says_what_is_under_the_pointer(self, browser: "Browser", written: dict[str, Path]) -> None:
        tab = opened(browser, written["run"], 1000)
        drawing = tab.locator("main > figure .wide svg")
        told = tab.locator("main > figure .wide .told")
        assert not told.is_visible()
        drawing.scroll_into_view_if_needed()
        box = drawing.bounding_box()
        assert box is not None
        tab.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.8 * box["height"])
        said = told.inner_text().splitlines()
        record = sojourn.Scenario.load("voip-under-load", {"duration": "20 s"}).run(runs=1)
        assert said[0].startswith("time [s]")
        assert {line.split(":")[0].removesuffix(" (return link)") for line in said[1:]} == set(record.groups)
        at_s = float(said[0].split()[-1])
        # The upload has the link alone; what is told is near its rate there.
        upload = float(next(line for line in said if line.startswith("upload")).split()[-1])
        assert 0 < at_s < 20
        assert 1.0 < upload < 2.1
        tab.mouse.move(1, 1)
        assert not told.is_visible()

    def test_a_figure_is_saved_with_its_data(
        self, browser: "Browser", written: dict[str, Path], tmp_path: Path
    ) -> None:
        tab = opened(browser, written["comparison"], 1000)
        for label, beginning in (("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("data as CSV", b"panel,line,x")):
            with tab.expect_download() as download:
                tab.get_by_role("button", name=f"Save {'' if label.startswith('data') else 'as '}{label}").first.click()
            download.value.save_as(tmp_path / "saved")
            saved = (tmp_path / "saved").read_bytes()
            assert saved.startswith(beginning)
            assert b"var(--" not in saved
        assert b"fq_codel: 4.38" in saved

    def test_a_script_in_a_figure_does_not_run(
        self, browser: "Browser", written: dict[str, Path], tmp_path: Path
    ) -> None:
        # Somebody else's results folder may have it.
        text = written["study"].read_text(encoding="utf-8")
        theirs = (
            "<script>document.title = 'theirs'</script><image href='x:' onerror=\"document.title = 'theirs'\"/></svg>"
        )
        (tmp_path / "page.html").write_text(text.replace("</svg>", theirs, 1), encoding="utf-8")
        tab = browser.new_page()
        refused: list[str] = []
        tab.on("console", lambda message: refused.append(message.text))
        tab.goto((tmp_path / "page.html").as_uri())
        tab.locator("figure button").first.wait_for()
        assert tab.title() != "theirs"
        assert any("Content Security Policy" in text for text in refused)

    def test_without_script_all_is_there(self, browser: "Browser", written: dict[str, Path]) -> None:
        context = browser.new_context(java_script_enabled=False)
        tab = context.new_page()
        tab.goto(written["comparison"].as_uri())
        assert tab.locator("button").count() == 0
        assert tab.locator("figure svg:visible").count() == 1
        tab.locator("summary").first.click()
        assert tab.locator("details table").first.is_visible()


def test_a_page_that_somebody_else_wrote_is_not_shown(
    command: Command, written: dict[str, Path], tmp_path: Path
) -> None:
    page = tmp_path / pages.PAGE
    page.write_text("<!doctype html>\n<script>alert(1)</script>\n", encoding="utf-8")
    found = command("open", tmp_path, "--no-browser")
    said = "is no page of this version of Sojourn, and may hold somebody's program; make it again with --out DIR"
    assert (found.code, found.err) == (2, f"error: {page}: {said}\n")
    # One of this version is, whatever follows its policy.
    page.write_bytes(written["comparison"].read_bytes())
    assert command("open", tmp_path, "--no-browser").code == 0
    # Another policy is none.
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("script-src", "script-src &#39;unsafe-inline&#39;", 1), encoding="utf-8")
    assert command("open", tmp_path, "--no-browser").code == 2


@pytest.mark.parametrize("width_in", [3.5, 5.0, 7.16])
def test_a_legend_has_as_many_columns_as_fit(width_in: float) -> None:
    """The throughput's legend has six entries, the last of 23 letters: at 7.16 inches one row of them is too wide."""
    figure = pictures.of_width(sojourn.Scenario.load("gateway-and-modem").run().plot(), width_in)
    figure.draw_without_rendering()
    legend = figure.axes[-1].get_legend()
    assert legend is not None
    assert legend.get_window_extent().x1 <= figure.bbox.x1 + 1
    assert figure.axes[-1].get_window_extent().x1 > 0.96 * figure.bbox.x1


def test_panels_stand_below_each_other_on_narrow_screens() -> None:
    figure = Figure(figsize=(7, 3), layout="constrained")
    for axes in figure.subplots(1, 3):
        axes.plot([1, 2])
    narrow = pictures.narrowed(figure)
    narrow.draw_without_rendering()
    bottoms = [axes.get_position().y0 for axes in narrow.axes]
    assert bottoms == sorted(bottoms, reverse=True)
    assert bottoms[0] > bottoms[1] + 0.1
    assert narrow.get_figwidth() < figure.get_figwidth()


def test_a_long_legend_leaves_the_panels_their_width() -> None:
    result = sojourn.Scenario.load("voip-under-load", {"duration": "15 s"}).run()
    narrow = pictures.narrowed(result.plot())
    narrow.draw_without_rendering()
    assert all(axes.get_position().width > 0.6 for axes in narrow.axes)


def test_open_makes_the_page_of_a_run(command: Command, tmp_path: Path) -> None:
    assert command("run", "motivating-red", *SHORT, "--out", tmp_path / "run").code == 0
    outcome = command("open", tmp_path / "run", "--no-browser")
    assert outcome.out.strip() == str(tmp_path / "run" / "index.html")
    assert "motivating-red" in (tmp_path / "run" / "index.html").read_text(encoding="utf-8")
    (tmp_path / "other").mkdir()
    refused = command("open", tmp_path / "other", "--no-browser")
    assert refused.code == 2
    assert "holds no run, sweep, comparison or study" in refused.err


@pytest.mark.long
def test_the_page_of_a_study_from_the_means_that_it_keeps(command: Command, tmp_path: Path) -> None:
    outcome = command("paper", "gong", "fig3", "--kept", "--out", tmp_path / "page")
    assert outcome.out.strip() == str(tmp_path / "page" / "index.html")
    assert not (tmp_path / "page" / "data").exists()
    assert "CHOKe" in (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    assert command("study", "new", tmp_path / "mine").code == 0
    without = command("paper", tmp_path / "mine", "--kept", "--out", tmp_path / "other")
    assert without.code == 2
    assert "means" in without.err


@pytest.mark.long
def test_a_page_from_kept_means_names_the_plug_ins_that_they_are_from(command: Command, tmp_path: Path) -> None:
    assert command("paper", "answer", "ablations", "--kept", "--out", tmp_path / "page").code == 0
    page = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    named = re.search(r"Plug-ins: the congestion controls (scout-without[^.]*) of ablations\.py\.", page)
    assert named
    assert "SHA-256" not in named[0]


@pytest.mark.long
def test_a_comparison_in_a_folder(command: Command, tmp_path: Path) -> None:
    words = ("compare", "voip-under-load", "--queue", "droptail,codel", *SHORT, "--out", tmp_path / "both")
    assert command(*words).code == 0
    names = {path.name for path in (tmp_path / "both").iterdir()}
    assert names - {"lab.html"} == {"index.html", "comparison.svg", "comparison.csv", "comparison.json"}
    assert command(*words).code == 2
    assert command(*words, "--force").code == 0
    assert command("open", tmp_path / "both", "--no-browser").code == 0


def test_the_page_in_python(tmp_path: Path) -> None:
    base = sojourn.Scenario.load("voip-under-load", {"duration": "15 s"})
    found = sojourn.compare({"droptail": base, "codel": base.with_(queue="codel")}, runs=2, purpose="calls")
    assert "codel" in found.page().title
    assert pages.write(found.page(), tmp_path / "page.html").is_file()
    assert base.run().page().pictures
    assert not base.run(series=False).page().pictures
