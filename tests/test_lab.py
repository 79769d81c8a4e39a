"""The laboratory's page: served, written as one file, and used in a real browser."""

import http.client
import json
import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from tests.conftest import PATIENCE_S, Command
from tests.lab_page import (
    MODULES,
    PAGE,
    PATIENCE_MS,
    WIDTHS,
    assert_numbers_are_native,
    in_browser,
    native,
    needs_page,
    of_record,
    settle,
    table,
)

import sojourn
from sojourn import lab
from sojourn.pages import laboratory
from sojourn.pages.render import digest
from sojourn.trial.laws import MIN_ALONE, MIN_JAIN

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def test_a_page_that_was_not_built_is_said(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lab, "files", lambda _: tmp_path)
    outcome = command("lab", "--export", tmp_path / "lab.html")
    assert outcome.code == 2
    assert "make web" in outcome.err
    assert list(tmp_path.iterdir()) == []


@needs_page
def test_bad_input_is_refused_before_anything_is_served(command: Command, tmp_path: Path) -> None:
    assert "did you mean 'motivating-red'" in command("lab", "motivating-rd").err
    assert command("lab", "--set", "duration=1 s").code == 2
    assert command("lab", "--export", tmp_path / "no" / "lab.html").code == 2


def answer(address: str, path: str, host: str | None = None) -> http.client.HTTPResponse:
    port = urlsplit(address).port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", path, headers={"Host": host or f"127.0.0.1:{port}"})
    return connection.getresponse()


@needs_page
def test_only_who_knows_the_path_gets_the_page(address: str) -> None:
    path = urlsplit(address).path
    assert len(path) > 20
    assert answer(address, path).status == 200
    assert answer(address, path + "engine.wasm").headers["Content-Type"] == "application/wasm"
    for other in (
        "/",
        "/index.html",
        "/x" + path,
        path + "../index.html",
        path + "%2e%2e/lab.py",
        path + "__init__.py",
    ):
        assert answer(address, other).status == 404, other
    # A page elsewhere whose name leads to this machine sends its own name.
    assert answer(address, path, host="rebound.example").status == 404
    policy = answer(address, path).headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "'unsafe-eval'" not in policy


@needs_page
def test_one_file_asks_for_nothing_else(command: Command, tmp_path: Path) -> None:
    assert command("lab", "motivating-red", "--export", tmp_path / "lab.html").code == 0
    text = (tmp_path / "lab.html").read_text(encoding="utf-8")
    assert '<link rel="stylesheet"' not in text
    assert "<script src=" not in text
    assert "import {" not in text
    # Only this script and this style are known to the page's policy.
    found = re.search(r'<head>\n<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    assert found
    (script,) = re.findall(r'<script type="module">(.*?)</script>', text, flags=re.S)
    (style,) = re.findall(r"<style>(.*?)</style>", text, flags=re.S)
    rules = dict(rule.split(" ", 1) for rule in found[1].split("; "))
    assert rules["script-src"] == f"{digest(script)} 'wasm-unsafe-eval' 'unsafe-eval'"
    assert (rules["style-src"], rules["default-src"]) == (digest(style), "'none'")


def test_the_page_judges_laws_by_the_bounds_of_the_command_line() -> None:
    text = (Path(__file__).parent.parent / "web" / "laws.js").read_text(encoding="utf-8")
    assert f"MIN_ALONE = {MIN_ALONE};" in text
    assert f"MIN_JAIN = {MIN_JAIN};" in text


@needs_page
def test_the_right_side_can_have_another_queue(command: Command, tmp_path: Path) -> None:
    scenario = sojourn.Scenario.load("motivating-droptail")
    right = scenario.with_({"bottleneck.queue": "codel"})
    assert lab.fragment(scenario, "codel") == laboratory.fragment(scenario.source, right.source)
    assert lab.fragment(scenario, "codel") != lab.fragment(scenario)
    out = tmp_path / "lab.html"
    assert "--queue needs a scenario" in command("lab", "--queue", "codel", "--export", str(out)).err
    assert 'did you mean "codel"?' in command("lab", "first", "--queue", "codle", "--export", str(out)).err
    assert not out.exists()


@needs_page
@pytest.mark.long
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_page_is_no_larger_than_its_budget() -> None:
    size = ["node", str(Path(__file__).parent.parent / "scripts" / "page-size.mjs"), str(PAGE)]
    done = subprocess.run(size, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@needs_page
def test_every_module_is_in_what_is_fetched() -> None:
    scopes = [re.findall(r"(?m)^const (\w+)_js = ", (PAGE / name).read_text()) for name in ("main.js", "worker.js")]
    assert {f"{name}.js" for name in scopes[0] + scopes[1]} == {path.name for path in MODULES.glob("*.js")}
    for names in scopes:
        assert len(names) == len(set(names))


class TestInBrowser:
    pytestmark = in_browser

    @pytest.mark.parametrize("width", WIDTHS)
    def test_numbers_are_those_of_the_exported_scenario(
        self, page: "Page", address: str, errors: list[str], width: int
    ) -> None:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(address)
        settle(page)
        assert_numbers_are_native(page)
        before = table(page)
        page.locator("#slider-rate").focus()
        for _ in range(30):
            page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(200)
        settle(page)
        assert table(page) != before
        assert_numbers_are_native(page)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert errors == []

    def test_pickers_editor_and_link(
        self, browser: "Browser", page: "Page", motivating: str, errors: list[str]
    ) -> None:
        page.goto(motivating)
        settle(page)
        page.get_by_label("Queue, right").select_option("fq_codel")
        page.get_by_role("heading", name="fq_codel (right)").wait_for()
        page.get_by_label("Control of tcp, left").select_option("cubic")
        page.wait_for_timeout(200)
        settle(page)
        assert_numbers_are_native(page)
        page.locator("#files summary").click()
        editor = page.locator("#text-left")
        wrong = editor.input_value().replace('kind = "droptail"', 'kind = "droptial"')
        editor.fill(wrong)
        settle(page, "refused")
        assert 'did you mean "droptail"?' in page.locator("#texts .problems").first.inner_text()
        assert table(page)[0]["bottleneck.queue_ms.mean"] > 0
        editor.fill(wrong.replace('kind = "droptial"', 'kind = "droptail"').replace('"10 Mbit/s"', '"5 Mbit/s"'))
        settle(page)
        assert_numbers_are_native(page)
        shown = table(page)
        page.get_by_role("button", name="Copy the link").click()
        page.locator("#copied").get_by_text("characters").or_(page.locator("#copied").get_by_text("refused")).wait_for()
        link = page.url
        other = browser.new_page()
        other.set_default_timeout(PATIENCE_MS)
        other.goto(link)
        settle(other)
        assert table(other) == shown
        other.close()
        assert errors == []

    def test_a_broken_link_is_said_and_the_page_stays(self, page: "Page", address: str) -> None:
        page.goto(address + "#nonsense")
        settle(page)
        assert "This link cannot be read" in page.locator("#notice").inner_text()
        assert_numbers_are_native(page)

    def test_too_many_flows_are_refused_with_a_sentence(self, page: "Page", motivating: str) -> None:
        page.goto(motivating)
        settle(page)
        page.locator("#files summary").click()
        editor = page.locator("#text-right")
        editor.fill(editor.input_value().replace("flows = 5", "flows = 1500"))
        settle(page, "refused")
        assert "allowed in a page: at most 2000" in page.locator("#texts .problems").nth(1).inner_text()

    def test_one_file_opens_without_a_server(
        self, page: "Page", errors: list[str], command: Command, tmp_path: Path
    ) -> None:
        file = tmp_path / "lab.html"
        assert command("lab", "controlled-delay", "--set", "duration=5 s", "--export", file).code == 0
        page.goto(file.as_uri())
        settle(page)
        page.get_by_role("heading", name="codel (left)").wait_for()
        numbers = table(page)
        assert numbers[0] == numbers[1]
        record = native(page, 0)
        assert numbers[0] == {key: of_record(record, key) for key in numbers[0]}
        assert errors == []

    def test_the_map_opens_a_cell_on_the_right(self, page: "Page", address: str, errors: list[str]) -> None:
        short = sojourn.Scenario.load("motivating-droptail", {"duration": "1 s"})
        page.goto(address + lab.fragment(short))
        settle(page)
        page.locator("#map summary").click()
        page.get_by_role("button", name="Compute the map").click()
        page.locator("#map-state").get_by_text("cells in").wait_for()
        cell = page.locator('[data-cell="codel cubic"] button')
        cell.click()
        page.get_by_role("heading", name="codel (right)").wait_for()
        settle(page)
        share = round(table(page)[1]["groups.background.share"])
        assert cell.inner_text() == str(share)
        # What cannot be run says why.
        assert page.locator('[data-cell^="prio "]').first.get_attribute("title")
        assert errors == []

    @pytest.mark.parametrize("width", WIDTHS)
    def test_no_barriers(self, page: "Page", address: str, errors: list[str], width: int) -> None:
        from axe_playwright_python.sync_playwright import Axe

        page.set_viewport_size({"width": width, "height": 900})
        page.goto(address)
        settle(page)
        page.locator("#files summary").click()
        page.locator("#map summary").click()
        page.locator("#own summary").click()
        page.get_by_role("button", name="Next packet").click()
        page.locator("#time-said").get_by_text("packets waiting").wait_for()
        found = Axe().run(page).response["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert errors == []

    def test_packets_are_played_and_stepped_through(self, page: "Page", address: str, errors: list[str]) -> None:
        from playwright.sync_api import expect

        page.goto(address)
        settle(page)
        said = page.locator("#time-said")
        page.locator("#time").fill("5000")
        said.get_by_text("At 30.0000 s").wait_for()
        assert page.locator("canvas.queue:visible").count() == 2
        waiting = [int(text.split()[0]) for text in said.inner_text().replace("right ", "left ").split("left ")[1:]]
        # The mean of the bin around that time, from the engine's own instrument.
        for index, count in enumerate(waiting):
            bins = page.evaluate(f"sojournLab.answers[{index}].columns['queue.queue_packets'][150]")
            assert abs(count - bins) < 0.3 * bins + 10
        page.get_by_role("button", name="Next packet").click()
        page.wait_for_timeout(200)
        first = said.inner_text()
        assert first != "At 30.0000 s"
        page.locator("#speed-of-play").select_option("4")
        page.get_by_role("button", name="Play", exact=True).click()
        page.get_by_role("button", name="Pause").wait_for()
        expect(said).to_have_text(re.compile(r"^(3[1-9]|[45]\d|60)\."), timeout=PATIENCE_MS)
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Play", exact=True).wait_for()
        assert float(said.inner_text().split()[1]) > 30.5
        # Another scenario has other packets.
        page.get_by_label("Queue, right").select_option("codel")
        page.get_by_role("heading", name="codel (right)").wait_for()
        assert page.locator("canvas.queue:visible").count() == 0
        assert errors == []

    def test_a_kick_is_written_into_both_scenarios(self, page: "Page", address: str, errors: list[str]) -> None:
        page.goto(address)
        settle(page)
        before = table(page)
        for kick in ("Halve the rate", "Add a newcomer", "Turn it into a mobile link"):
            page.get_by_role("button", name=kick).click()
            page.wait_for_timeout(300)
            settle(page)
            assert_kicked(page)
        text = page.locator("#files textarea").nth(0).input_value()
        assert 'rate = "5 Mbit/s"' in text
        assert 'name = "newcomer"' in text
        assert 'trace = "ready:synthetic-lte"' in text
        for _ in range(3):
            page.get_by_role("button", name="Take back").click()
            page.wait_for_timeout(300)
            settle(page)
        assert table(page) == before
        assert errors == []

    def test_ten_seeds_make_a_band_around_the_first(self, page: "Page", address: str, errors: list[str]) -> None:
        page.goto(address)
        settle(page)
        before = table(page)
        page.get_by_label("Ten seeds as a band").check()
        page.locator("#speed").get_by_text("Bands span 10 seeds").wait_for()
        settle(page)
        assert table(page) == before
        inside = page.evaluate(
            """() => sojournLab.answers.every(({ curve }) => curve.delays.every((delay, row) =>
                delay === null || (curve.band.delay[0][row] <= delay && delay <= curve.band.delay[1][row])))"""
        )
        assert inside
        assert errors == []

    def test_a_control_in_javascript_runs_as_the_same_one_in_python(
        self, page: "Page", motivating: str, errors: list[str]
    ) -> None:
        page.goto(motivating)
        settle(page)
        before = table(page)
        page.locator("#own summary").click()
        page.get_by_role("button", name="Try it").click()
        use_own(page)
        judged = page.locator("#own-laws li").all_inner_texts()
        assert [law[0] for law in judged[:3]] == ["✓", "✓", "✓"]
        assert table(page)[0] == before[0]
        assert table(page)[1] != before[1]
        # What stands in the editor is the control that `sojourn new control` writes.
        template = (Path(sojourn.__file__).parent / "templates" / "control.template").read_text(encoding="utf-8")
        exec(compile(template.replace("NAME", "mine"), "mine.py", "exec"), {})
        assert_numbers_are_native(page)
        assert errors == []

    @pytest.mark.parametrize(
        ("code", "sentence"),
        [
            ("class Control { constructor() { this.window = 4; } on_ack() { for (;;); } on_congestion() {} }", "ended"),
            (
                "class Control { constructor() { this.window = 4; } on_ack() { this.no.such; } on_congestion() {} }",
                "such",
            ),
            (
                "class Control { constructor() { this.window = -4; } on_ack() {} on_congestion() {} }",
                "the window is -4",
            ),
            ("class Control { constructor() { this.window = 4; } on_ack() {} }", "no method on_congestion"),
            ("class Control {", "Unexpected"),
        ],
    )
    def test_a_control_that_cannot_be_used_is_said(self, page: "Page", address: str, code: str, sentence: str) -> None:
        page.goto(address)
        settle(page)
        before = table(page)
        page.locator("#own summary").click()
        page.locator("#own-code").fill(code)
        page.get_by_role("button", name="Try it").click()
        said = page.locator("#own-said").get_by_text("What was shown stays.")
        said.wait_for()
        assert sentence in said.inner_text()
        assert table(page) == before

    def test_a_control_in_webassembly(self, page: "Page", motivating: str, errors: list[str], tmp_path: Path) -> None:
        page.goto(motivating)
        settle(page)
        page.locator("#own summary").click()
        module = tmp_path / "four.wasm"
        module.write_bytes(FOUR_SEGMENTS)
        page.locator("#own-file").set_input_files(module)
        use_own(page)
        # Five flows with four segments in flight each, and no more: the queue of RED stays nearly empty.
        assert table(page)[1]["groups.tcp.goodput_mbps"] < 5 * 4 * 12e-3 / 0.05
        module.write_bytes(b"nonsense")
        page.locator("#own-file").set_input_files(module)
        page.locator("#own-said").get_by_text("is no WebAssembly module").wait_for()
        assert errors == []

    def test_pictures_and_files(self, page: "Page", address: str, errors: list[str], tmp_path: Path) -> None:
        page.goto(address)
        settle(page)
        page.locator("#files summary").click()
        saved = {}
        for kind in ("SVG", "PNG"):
            with page.expect_download() as download:
                page.get_by_role("button", name=f"Save picture as {kind}").click()
            saved[kind] = Path(download.value.path()).read_bytes()
        assert saved["SVG"].startswith(b"<svg ")
        assert b"droptail (left)" in saved["SVG"]
        assert saved["PNG"].startswith(b"\x89PNG")
        file = tmp_path / "mine.toml"
        file.write_text(
            sojourn.Scenario.load("sudden-changes", {"duration": "25 s", "group.newcomer.start": "22 s"}).to_toml(),
            encoding="utf-8",
        )
        page.get_by_label("Open a scenario, record").set_input_files(file)
        page.get_by_role("columnheader", name="Left: droptail").wait_for()
        page.wait_for_timeout(300)
        settle(page)
        assert_kicked(page, sides=1)
        assert errors == []

    def test_a_record_and_a_recorded_link_are_opened(
        self, page: "Page", address: str, errors: list[str], command: Command, tmp_path: Path
    ) -> None:
        page.goto(address)
        from playwright.sync_api import expect

        settle(page)
        page.locator("#files summary").click()
        file, chooser = tmp_path / "record.json", page.get_by_label("Open a scenario, record")
        run = command("run", "controlled-delay", "--set", "duration=5 s", "--runs", 1, "--json")
        file.write_text(run.out, encoding="utf-8")
        chooser.set_input_files(file)
        page.get_by_role("columnheader", name="Left: codel").wait_for()
        settle(page)
        record = json.loads(run.out)["runs"][0]
        left = table(page)[0]
        assert {key: left[key] for key in left if "bottleneck" in key} == {
            key: of_record(record, key) for key in left if "bottleneck" in key
        }
        file.write_text('{"scenario": 7}', encoding="utf-8")
        chooser.set_input_files(file)
        page.locator("#notice").get_by_text("it holds no scenario").wait_for()
        # A packet in 10 ms on both sides: 1.2 Mbit/s.
        trace = tmp_path / "bus.up"
        trace.write_text("".join(f"{time}\n" for time in range(10, 1001, 10)), encoding="utf-8")
        chooser.set_input_files(trace)
        expect(page.locator("#text-right")).to_have_value(re.compile('trace = "bus.up"'), timeout=PATIENCE_MS)
        settle(page)
        for index in (0, 1):
            text = page.locator("#files textarea").nth(index).input_value()
            (tmp_path / "scenario.toml").write_text(text, encoding="utf-8")
            scenario = sojourn.Scenario.load(tmp_path / "scenario.toml")
            (native,) = scenario.run(runs=1).runs
            assert table(page)[index]["bottleneck.queue_ms.mean"] == native["bottleneck"]["queue_ms"]["mean"]
        trace.write_bytes(b"10\nten\n")
        chooser.set_input_files(trace)
        settle(page, "refused")
        assert "in line 2 of" in page.locator("#sides .problems").first.inner_text()
        trace.write_bytes(b"1\n" * 25_000_000)
        chooser.set_input_files(trace)
        page.locator("#notice").get_by_text("has 50.0 MB; a file for this page has at most 5 MB").wait_for()
        assert errors == []

    def test_the_first_screen_moves_until_it_is_paused(self, browser: "Browser", address: str) -> None:
        page = browser.new_page(reduced_motion="no-preference")
        page.set_default_timeout(PATIENCE_MS)
        page.goto(address)
        pause = page.get_by_role("button", name="Pause", exact=True)
        pause.wait_for()
        assert page.locator("canvas.queue:visible").count() == 2
        # A change goes on moving with the packets of the new run.
        page.get_by_label("Queue, right").select_option("codel")
        page.get_by_role("heading", name="codel (right)").wait_for()
        pause.wait_for()
        pause.click()
        page.locator("#time-said").get_by_text("packets waiting").wait_for()
        page.close()


def use_own(page: "Page") -> None:
    """Wait until the control of one's own has passed its trials and runs on the right."""
    from playwright.sync_api import expect

    page.locator("#own-said").get_by_text("The control is called mine").wait_for()
    expect(page.get_by_label("Control of tcp, right")).to_have_value("mine", timeout=PATIENCE_MS)
    settle(page)


def wasm(*sections: tuple[int, bytes]) -> bytes:
    """Return a module of these sections, each shorter than 128 bytes."""
    return b"\0asm\1\0\0\0" + b"".join(bytes([number, len(body)]) + body for number, body in sections)


# (func (result f64) f64.const 4), exported as window, and two functions that do nothing.
FOUR_SEGMENTS = wasm(
    (1, bytes([2, 0x60, 0, 1, 0x7C, 0x60, 0, 0])),
    (3, bytes([2, 0, 1])),
    (7, b"\3\6window\0\0\6on_ack\0\1\15on_congestion\0\1"),
    (10, bytes([2, 11, 0, 0x44]) + struct.pack("<d", 4.0) + bytes([0x0B, 2, 0, 0x0B])),
)


def assert_kicked(page: "Page", sides: int = 2) -> None:
    """The page's numbers are those of a native run of the changed scenarios."""
    for index, side in list(enumerate(table(page)))[:sides]:
        record = native(page, index)
        mine = {
            key: value for key, value in side.items() if key.split(".")[1] in record["groups"] or "bottleneck" in key
        }
        assert mine == {key: of_record(record, key) for key in mine}
