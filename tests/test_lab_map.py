"""The laboratory's map: the ideal strip is the library's, and call quality is a color."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.lab_page import in_browser, settle, wait_until

import sojourn
from sojourn import _native, lab, worlds
from sojourn.data import strip

if TYPE_CHECKING:
    from playwright.sync_api import Page

NOBODY = {"start": "0 s", "stop": "1 ms"}


def test_the_bounds_are_those_of_the_library() -> None:
    text = (Path(__file__).parent.parent / "web" / "strip.js").read_text(encoding="utf-8")
    bounds = strip.BOUNDS
    assert (
        f"BOUNDS = {{ delay_ms: {bounds.delay_ms:g}, share: {bounds.share:g}, "
        f"utilization: {bounds.utilization:g}, alone: {bounds.alone:g} }};"
    ) in text


def record(queue: str, control: str, silent: str | None = None) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "duration": "10 s",
        "bottleneck.queue": {"kind": queue},
        "group.background.control": {"kind": control},
    }
    if any(one["name"] == "limit" for one in parameters(queue)):
        changes["bottleneck.queue"] = {"kind": queue, "limit": "500 packets"}
    if silent:
        changes |= {f"group.{silent}.{key}": value for key, value in NOBODY.items()}
    (run,) = sojourn.Scenario.load("motivating-droptail", changes).run(runs=1).runs
    return dict(run)


def parameters(queue: str) -> list[dict[str, Any]]:
    (found,) = (one for one in sojourn.catalogue()["queues"] if one["name"] == queue)
    listed: list[dict[str, Any]] = found["parameters"]
    return listed


class TestInBrowser:
    pytestmark = in_browser

    def test_cells_inside_the_strip_are_those_of_the_library(
        self, page: "Page", address: str, errors: list[str]
    ) -> None:
        short = sojourn.Scenario.load("motivating-droptail", {"duration": "10 s"})
        page.goto(address + lab.fragment(short))
        settle(page)
        page.locator("#map summary").click()
        page.get_by_role("button", name="Compute the map").click()
        page.locator("#map-state").get_by_text("The strip is drawn").wait_for()
        inside = [cell.get_attribute("data-cell") or "" for cell in page.locator("td:has(button.inside)").all()]
        assert inside
        said = page.locator("#map-inside").inner_text()
        assert all(name in said for name in inside)
        # Some that are inside, one that is not short, and one that does not put the others first.
        for name in [*inside[:3], "droptail ledbat", "codel ledbat"]:
            queue, control = name.split(" ")
            runs = [record(queue, control, silent) for silent in (None, "background", "tcp")]
            place = strip.place(*runs)
            # Without a sparse flow the delay is that of all packets.
            met = [
                runs[0]["bottleneck"]["queue_ms"]["mean"] < strip.BOUNDS.delay_ms,
                (place.share or 0) > strip.BOUNDS.share,
                (place.utilization or 0) > strip.BOUNDS.utilization,
                (place.alone or 0) > strip.BOUNDS.alone,
            ]
            assert all(met) == (name in inside), (name, met)
        drawn = page.locator("#map-strip circle").count()
        assert drawn == page.locator("#map-table td button").count()
        # No cell ends its worker: what cannot be run is refused in words.
        reasons = [cell.get_attribute("title") or "" for cell in page.locator("#map-table td[title]").all()]
        assert reasons
        assert not any("panicked" in reason for reason in reasons)
        assert errors == []

    def test_call_quality_is_a_color(self, page: "Page", address: str, errors: list[str]) -> None:
        short = sojourn.Scenario.load("backups-beside-calls", {"duration": "3 s", "warmup": "1 s"})
        page.goto(address + lab.fragment(short))
        settle(page)
        page.locator("#map summary").click()
        page.locator("#map-metric").select_option(label="call quality, MOS")
        page.get_by_role("button", name="Compute the map").click()
        page.locator("#map-state").get_by_text("The strip is drawn").wait_for()
        cells = page.locator("#map-table td button")
        labels = cells.evaluate_all("buttons => buttons.map((button) => button.getAttribute('aria-label'))")
        scores = [float(found[1]) for label in labels if (found := re.search(r"MOS ([\d.]+)", label))]
        assert len(scores) == len(labels) > 100
        assert all(1 <= score <= 4.5 for score in scores)
        cell = page.locator('[data-cell="fq_codel ledbat"] button')
        turn = page.evaluate("sojournLab.turn")
        cell.click()
        wait_until(page, f"sojournLab.turn > {turn} && document.body.dataset.state === 'done'")
        (run,) = _native.load(page.locator("#text-right").input_value()).run([1], 1, worlds.Wanted().native, None)
        mos = json.loads(run.record())["groups"]["call"]["voip"]["mos"]
        assert cell.inner_text() == f"{mos:.1f}"
        assert "the call" in page.locator("#map-inside").inner_text()
        assert errors == []
