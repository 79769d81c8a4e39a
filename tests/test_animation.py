"""The animated queue: the packets of real runs, the README's numbers, and nothing that moves for who wants it still."""

import re
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from handbook import animation
from tests.lab_page import in_chromium, marked

import sojourn

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parent.parent


def test_it_is_small_and_whole() -> None:
    assert animation.FILE.stat().st_size < 150_000
    assert ET.parse(animation.FILE).getroot().tag.endswith("svg")
    shown = [
        path for path in (ROOT / "README.md", ROOT / "docs/concepts.md") if animation.FILE.name in path.read_text()
    ]
    assert len(shown) == 2


def test_its_numbers_are_those_of_ten_runs() -> None:
    text = animation.FILE.read_text(encoding="utf-8").replace('<tspan class="wide"> of the link</tspan>', "")
    scenario = sojourn.Scenario.load("backups-beside-calls")
    for title, name in (("DropTail", "droptail"), ("CoDel", "codel")):
        shown = scenario.with_(queue=name).run(runs=10, series=False).summary
        share, wait = 100 * shown["share.backups"]["mean"], shown["bottleneck_queue_ms_mean"]["mean"]
        said = re.search(rf">{title}</tspan>: backups get (\d+) %, packets wait (\d+) ms<", text)
        assert said is not None
        assert float(said[1]) == pytest.approx(share, abs=0.51)
        assert float(said[2]) == pytest.approx(wait, abs=0.51)


def test_the_end_of_the_queue_is_that_of_its_packets() -> None:
    result = sojourn.Scenario.load("backups-beside-calls", {"duration": "42 s"}).run(runs=1, packets=True)
    packets = result.packets.to_pylist()
    groups = {"call", "upload", "backups"}
    left = [row for row in packets if row["event"] == "departure" and row["group"] in groups]
    row = animation._row(
        "droptail", result, {f"share.{'backups'}": {"mean": 0.0}, "bottleneck_queue_ms_mean": {"mean": 1}}
    )
    for percent, px in row.tails[::12]:
        now_ns = 40e9 + percent / 100 * 1.2e9
        waits = [
            one["time_ns"] - now_ns for one in left if one["time_ns"] - one["sojourn_ns"] <= now_ns < one["time_ns"]
        ]
        assert px == pytest.approx(max(waits, default=0) / 1e6, abs=0.2)


def test_a_packet_lies_where_it_leaves() -> None:
    path = animation._path(np.array([10.0, 12.4, 30.0]), np.array([2.4, 0.3, 2.4]))
    assert path == "M0 0m10 0h1.9m0.5 0h1m16.6 0h1.9"


@marked(*in_chromium())
def test_it_moves_unless_the_reader_wants_it_still(browser: "Browser") -> None:
    tab = browser.new_page()
    tab.goto(animation.FILE.as_uri())
    assert tab.evaluate("document.getAnimations().length") > 4
    still = browser.new_page(reduced_motion="reduce")
    still.goto(animation.FILE.as_uri())
    assert still.evaluate("document.getAnimations().length") == 0
    for row in (1, 2):
        where = still.locator(f"#tail{row}").evaluate("one => new DOMMatrix(getComputedStyle(one).transform).e")
        assert where > 5
