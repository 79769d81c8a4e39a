"""What people notice, in the laboratory's page: the guide, a call that is heard, a page that loads, and the lessons."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab_page import PATIENCE_MS, WIDTHS, in_browser, native, of_record, serve_modules, settle, table, wait_until

import sojourn

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = in_browser

SOUND = """(side) => {
    const { calls } = sojournLab.people;
    const [mouth, ear] = calls.sound(side, 10, 15);
    const { spoken, played } = calls.calls[side];
    const silent = (samples) => {
        let count = 0;
        for (let at = 0; at < samples.length; at += 160) {
            count += samples.subarray(at, at + 160).every((one) => one === 0);
        }
        return count;
    };
    const loudest = (samples) => samples.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
    // The shift at which what is heard follows what is said most closely, in samples.
    let [best, shift] = [-Infinity, 0];
    for (let lag = 0; lag < 12000; lag += 8) {
        let sum = 0;
        for (let at = 0; at + lag < ear.length; at += 1) sum += mouth[at] * ear[at + lag];
        if (sum > best) [best, shift] = [sum, lag];
    }
    const inside = spoken.map((_, row) => row).filter((row) => spoken[row] >= 10 && spoken[row] < 25);
    const delays = inside.filter((row) => !Number.isNaN(played[row])).map((row) => played[row] - spoken[row]);
    return {
        loudest: [loudest(mouth), loudest(ear)], silent: [silent(mouth), silent(ear)], shift_s: shift / 8000,
        delay_s: [Math.min(...delays), Math.max(...delays)],
        missing: inside.filter((row) => Number.isNaN(played[row])).length,
    };
}"""


def begin_guide(page: "Page", address: str) -> None:
    page.goto(address)
    settle(page)
    page.get_by_role("button", name="Why do calls break").click()
    page.locator("#guide-steps li").first.wait_for()
    page.locator("#call svg path").first.wait_for(state="attached")
    # The first screen has a call too, but no pages.
    wait_until(page, "sojournLab.people.visits.pages !== null")


def assert_page_is_native(page: "Page") -> list[dict[str, Any]]:
    records = [native(page, index) for index in (0, 1)]
    for side, record in zip(table(page), records, strict=True):
        assert side == {key: of_record(record, key) for key in side}
    return records


def test_the_guide_shows_why_a_call_breaks_and_what_helps(page: "Page", address: str, errors: list[str]) -> None:
    begin_guide(page, address)
    left, right = assert_page_is_native(page)
    assert left["groups"]["call"]["voip"]["mos"] < 3
    assert right["groups"]["call"]["voip"]["mos"] > 4
    assert table(page)[0]["groups.call.voip.mos"] == left["groups"]["call"]["voip"]["mos"]
    steps = page.locator("#guide-steps").inner_text()
    for record in (left, right):
        assert f"{record['groups']['call']['voip']['mos']:.3g} of 4.5" in steps
    assert "SQM" in steps
    # Another queue on the right is no longer what the guide speaks of.
    page.get_by_label("Queue, right").select_option("red")
    page.get_by_role("heading", name="red (right)").wait_for()
    assert page.locator("#guide-steps li").count() == 0
    assert errors == []


def test_a_call_is_heard_with_the_delays_and_losses_of_its_packets(
    page: "Page", address: str, errors: list[str]
) -> None:
    begin_guide(page, address)
    sounds = [page.evaluate(SOUND, side) for side in (0, 1)]
    for sound in sounds:
        assert 0 < sound["loudest"][1] <= 0.3001
        assert 0 < sound["loudest"][0] <= 0.1501
        # What is heard follows what is said after the delay of the engine's playout buffer.
        least, largest = sound["delay_s"]
        assert least - 0.01 <= sound["shift_s"] <= largest + 0.01
    assert sounds[0]["shift_s"] > 0.5
    assert sounds[1]["shift_s"] < 0.1
    assert sounds[0]["missing"] > sounds[1]["missing"]


def test_a_lost_or_late_packet_is_concealed_and_a_longer_gap_is_silent(page: "Page", address: str) -> None:
    serve_modules(page, "call.js", "charts.js", "plot.js", "quantity.js", "voice.js")
    page.goto(address)
    heard = page.evaluate(
        """async () => {
            const { heard } = await import("./call.js");
            const said = new Float32Array(8000).fill(1);
            const frames = Array.from({ length: 50 }, (_, row) => row * 0.02);
            // Of 50 frames 10 is missing, and 20 to 29 are.
            const played = frames.map((at, row) => (row === 10 || (row >= 20 && row < 30) ? NaN : at + 0.1));
            const ear = heard({ spoken: frames, played, frameS: 0.02 }, said, 0, 2);
            return Array.from({ length: 100 }, (_, row) => ear[row * 160 + 80]);
        }"""
    )
    assert heard[:5] == [0] * 5
    assert heard[5:15] == [1] * 10
    assert 0 < heard[15] < 1
    assert heard[16:25] == [1] * 9
    assert 1 > heard[25] > heard[26] > heard[27] > 0
    assert heard[28:35] == [0] * 7
    assert heard[35:55] == [1] * 20
    assert heard[55:] == [0] * 45


def test_listening_starts_by_a_click_and_stops(page: "Page", address: str, errors: list[str]) -> None:
    begin_guide(page, address)
    assert page.evaluate("sojournLab.people.calls.playing") is None
    page.get_by_role("button", name="Hear the left call").last.click()
    stop = page.locator("#call").get_by_role("button", name="Stop")
    stop.wait_for()
    # The packets in the queue are those of the moment that is heard.
    page.locator("#time-said").get_by_text(re.compile(r"^1\d\.\d+ s")).wait_for()
    # A change of the scenario ends the sound.
    page.get_by_label("Queue, left").select_option("codel")
    page.get_by_role("heading", name="codel (left)").wait_for()
    assert page.evaluate("sojournLab.people.calls.playing") is None
    page.get_by_role("button", name="Hear the right call").last.click()
    stop.click()
    assert page.evaluate("sojournLab.people.calls.playing") is None
    assert errors == []


def test_a_page_loads_on_both_sides_in_the_same_time(page: "Page", address: str, errors: list[str]) -> None:
    from playwright.sync_api import expect

    begin_guide(page, address)
    took = page.evaluate("sojournLab.people.visits.pages.map((side) => side[sojournLab.people.visits.page].tookS)")
    # Beside the full buffer every round trip takes half a second longer.
    assert took[0] > took[1] + 0.5
    page.evaluate("sojournLab.people.visits.draw(0)")
    assert page.locator(".screen .there").count() == 0
    page.evaluate("(timeS) => sojournLab.people.visits.draw(timeS)", took[1])
    right, left = page.locator(".screen").nth(1).locator(".there"), page.locator(".screen").nth(0).locator(".there")
    assert right.count() == 12 > left.count()
    page.get_by_role("button", name="See a page load").click()
    expect(page.locator("#visit button")).to_have_text(re.compile(r"Load page \d+ of \d+"), timeout=PATIENCE_MS)
    assert page.locator(".screen .there").count() == 24
    said = page.locator("#visit").inner_text()
    assert all(f"is there after {seconds:.3g} s" in said for seconds in took)
    # The page's times are those of the record.
    counts = [native(page, index)["groups"]["pages"]["page_ms"]["count"] for index in (0, 1)]
    measured = page.evaluate(
        "sojournLab.people.visits.pages.map((side) => side.filter((page) => page.beganS + page.tookS >= 10).length)"
    )
    assert measured == counts
    assert errors == []


def test_a_call_and_pages_are_added_to_any_scenario(page: "Page", motivating: str, errors: list[str]) -> None:
    page.goto(motivating)
    settle(page)
    assert not page.locator("#call").is_visible()
    page.get_by_role("button", name="Add a call and web pages").click()
    page.locator("#call svg path").first.wait_for(state="attached")
    assert not page.locator("#no-guests").is_visible()
    left, right = assert_page_is_native(page)
    assert left["groups"]["call"]["voip"]["mos"] < right["groups"]["call"]["voip"]["mos"]
    assert left["groups"]["pages"]["page_ms"]["count"] > 0
    assert "the quality of your call is" in page.locator("#verdict").inner_text()
    page.get_by_role("button", name="Take back").click()
    page.locator("#no-guests").wait_for()
    assert errors == []


def test_a_call_of_a_network_goes_the_way_of_its_first_group(
    page: "Page", address: str, errors: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "lot.toml"
    file.write_text(sojourn.Scenario.load("parking-lot", {"duration": "20 s", "warmup": "5 s"}).to_toml())
    page.goto(address)
    settle(page)
    page.locator("#files summary").click()
    page.get_by_label("Open a scenario, record").set_input_files(file)
    page.locator("#no-guests").wait_for()
    settle(page)
    page.get_by_role("button", name="Add a call and web pages").click()
    page.locator("#call svg path").first.wait_for(state="attached")
    settle(page)
    left = native(page, 0)
    # Four full queues of 39 ms each, and the path.
    assert left["groups"]["call"]["voip"]["delay_ms"]["p99"] > 100
    assert errors == []


@pytest.mark.parametrize("width", WIDTHS)
def test_no_barriers_where_people_notice(page: "Page", address: str, width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page.set_viewport_size({"width": width, "height": 900})
    begin_guide(page, address)
    found = Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize(
    ("lesson", "slider", "place"),
    [
        ("1. What a full buffer does", "rate", 800),
        ("2. What RED costs", "buffer", 450),
        ("3. Why LEDBAT loses its place", "rate", 300),
        ("4. What fair queueing protects", "flows-background", 900),
        ("5. What a mark of lower effort does", "flows-background", 700),
    ],
)
def test_a_lesson_is_answered_by_its_slider(
    page: "Page", address: str, errors: list[str], lesson: str, slider: str, place: int
) -> None:
    from playwright.sync_api import expect

    page.goto(address)
    settle(page)
    before = page.evaluate("sojournLab.turn")
    page.get_by_role("button", name=lesson).click()
    wait_until(page, f"sojournLab.turn > {before}")
    settle(page)
    answer = page.locator("#lesson p").last
    assert answer.inner_text() == ""
    page.locator(f"#slider-{slider}").fill(str(place))
    expect(answer).not_to_be_empty(timeout=PATIENCE_MS)
    settle(page)
    assert_page_is_native(page)
    assert errors == []


def test_without_webassembly_it_is_said(page: "Page", address: str) -> None:
    page.add_init_script("delete globalThis.WebAssembly")
    page.goto(address)
    page.locator("#notice").get_by_text("needs a browser with WebAssembly").wait_for()
    assert page.locator("#verdict").inner_text() == ""


@pytest.mark.parametrize("place", [0, 1000])
def test_sliders_at_their_ends_give_a_run_or_a_sentence(page: "Page", motivating: str, place: int) -> None:
    page.goto(motivating)
    settle(page)
    for slider in page.locator("#sliders input").all():
        before = json.dumps(table(page))
        turn = page.evaluate("sojournLab.turn")
        slider.fill(str(place))
        wait_until(page, f"sojournLab.turn > {turn} && document.body.dataset.state !== 'running'")
        if page.locator("body").get_attribute("data-state") == "refused":
            assert any(page.locator("#sides .problems").all_inner_texts())
            assert json.dumps(table(page)) == before
        else:
            assert_page_is_native(page)


def test_a_million_flows_are_refused_and_the_numbers_stay(page: "Page", address: str) -> None:
    page.goto(address)
    settle(page)
    before = table(page)
    page.locator("#files summary").click()
    editor = page.locator("#text-right")
    editor.fill(editor.input_value().replace("flows = 5", "flows = 1000000"))
    settle(page, "refused")
    assert "found 1000000; allowed" in page.locator("#texts .problems").nth(1).inner_text()
    assert table(page) == before


def test_what_is_refused_while_packets_move_is_said_and_they_go_on_afterwards(
    page: "Page", address: str, errors: list[str]
) -> None:
    page.goto(address)
    settle(page)
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Pause").wait_for()
    page.locator("#files summary").click()
    editor = page.locator("#text-right")
    written = editor.input_value()
    editor.fill(written.replace("rate = ", "rat = ", 1))
    settle(page, "refused")
    page.locator("#time-said").get_by_text("These runs cannot be played").wait_for()
    page.get_by_role("button", name="Play").wait_for()
    editor.fill(written)
    settle(page)
    page.get_by_role("button", name="Pause").wait_for()
    assert errors == []


def test_a_lesson_is_not_answered_by_another_slider(page: "Page", address: str) -> None:
    page.goto(address)
    settle(page)
    page.get_by_role("button", name="2. What RED costs").click()
    settle(page)
    page.get_by_label("Flows of LEDBAT").fill("1000")
    answer = page.locator("#lesson p").last
    answer.get_by_text("That is another way to it, by Flows of LEDBAT").wait_for()


def test_the_first_screen_is_a_call_beside_a_backup(page: "Page", address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(address)
    settle(page)
    for name in ("Play", "Hear the left call", "Copy the link"):
        place = page.get_by_role("button", name=name).first.bounding_box()
        assert place is not None
        assert place["y"] + place["height"] <= 844
    for seen in (page.get_by_label("Return rate"), page.get_by_label("Base RTT"), page.locator("#sides svg").first):
        place = seen.bounding_box()
        assert place is not None
        assert place["y"] <= 800
    first = (
        page.get_by_label("Queue, right")
        .locator("option")
        .evaluate_all("all => all.slice(0, 6).map((one) => one.value)")
    )
    assert first == ["droptail", "red", "codel", "fq_codel", "pie", "cake"]
