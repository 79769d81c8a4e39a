"""The gallery: every ready scenario in one group, with a thumbnail of its own, and nothing else."""

from xml.etree import ElementTree as ET

import pytest
from handbook import gallery

import sojourn
from sojourn import ready

NAMES = [one["name"] for one in sojourn.catalogue()["scenarios"]]


def test_every_scenario_is_in_one_group() -> None:
    listed = [name for names in ready.GROUPS.values() for name in names]
    assert sorted(listed) == sorted(NAMES), "give it a place in GROUPS of sojourn/ready.py"


def test_a_scenario_without_a_group_is_still_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "GROUPS", {"Some": ("first", "one that is gone")})
    found = ready.grouped()
    assert list(found) == ["Some", ready.OTHERS]
    assert [one["name"] for one in found["Some"]] == ["first"]
    assert len(found[ready.OTHERS]) == len(NAMES) - 1


def test_the_page_is_that_of_the_scenarios() -> None:
    assert gallery.PAGE.read_text(encoding="utf-8") == gallery.text(), "run `make docs`"
    assert all(f"scenarios/{name}.toml)" in gallery.text() for name in NAMES)


def test_no_thumbnail_is_missing_or_left_over() -> None:
    found = {path.name for path in gallery.IMAGES.iterdir()}
    assert found == {f"{name}.svg" for name in NAMES}, "run `python -m handbook --gallery`"


def test_thumbnails_are_small_and_whole() -> None:
    sizes = {}
    for path in gallery.IMAGES.iterdir():
        assert ET.parse(path).getroot().tag.endswith("svg")
        sizes[path.name] = path.stat().st_size
    assert max(sizes.values()) < 22_000
    assert sum(sizes.values()) / len(sizes) < 15_000


def test_a_thumbnail_is_drawn_from_a_run() -> None:
    drawn = gallery.drawn("motivating-red")
    # The ground of picture and panels, queue, capacity and both groups are areas, and so are both marks of the legend.
    assert drawn.count("z\n") == 9
    assert ">tcp</text>" in drawn
    assert ">LEDBAT</text>" in drawn
    assert len(drawn) < 15_000
    # Ticks keep their digits, of which coordinates lose most.
    assert ">0.25</text>" in gallery.drawn("padding")


def test_stations_that_only_send_show_their_own_queues() -> None:
    delay, throughput = gallery.thumbnail("wifi-anomaly").axes
    assert delay.dataLim.height > 1
    assert len(throughput.patches) == 2
