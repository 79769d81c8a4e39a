"""The machinery of `sojourn paper`, with few seeds and short runs; the study itself is run by hand."""

import dataclasses
import json
import math
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from tests.conftest import Command

from sojourn.papers.__main__ import publish
from sojourn.study.counts import Counts
from sojourn.study.find import find, find_folder
from sojourn.study.kept import read_items, write_item
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Study, Table
from sojourn.study.numbers import Number
from sojourn.study.page import write_page
from sojourn.study.short import markdown_checks, write_short

QUICK = {"seeds": 2, "set": {"duration": "2 s"}}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(tmp_path_factory.mktemp("lab"), 1, overrides=QUICK)


def small_study(found: Findings) -> tuple[Study, dict[str, Findings]]:
    item = Item("one", "One & only", "a <setting>", lambda _lab: found)
    return Study("small", "A study", "Nobody, 2026", [item], lambda _all: "It holds.", [("one", "bars")]), {
        "one": found
    }


def small_findings() -> Findings:
    found = Findings(verdict="Found.", text="First.\n\nSecond.")
    figure = Figure()
    figure.subplots().plot([1, 2])
    found.show("bars", figure, "Some bars")
    found.tables.append(Table("data", "The data", ("name", "value"), (("a, b", 1.5), ("c", math.nan))))
    found.checks = [
        Check("a", "1", "1", agrees=True),
        Check("b", "1", "2", agrees=False, note="Open."),
        Check("c", "1", "2", None),
    ]
    return found


GONG = find("gong")
GONG_FOLDER = find_folder("gong")
FLUID_FOLDER = find_folder("fluid")


@pytest.mark.long
def test_an_item_runs_with_few_seeds_and_is_not_run_again(lab: Lab) -> None:
    fig3 = next(item for item in GONG.items if item.name == "fig3")
    found = fig3.find(lab)
    assert {one.claim.split(":")[0] for one in found.checks} >= {"RED", "CHOKe", "CoDel", "DRR", "SFQ"}
    assert set(found.figures) == set(found.captions) == {"fig3", "as-fig3", "buffers"}
    part = next(lab.folder.glob("data/disciplines/runs/*.parquet"))
    before = part.stat().st_mtime_ns
    again = fig3.find(Lab(lab.folder, 1, overrides=QUICK))
    assert part.stat().st_mtime_ns == before
    assert again.checks == found.checks
    assert again.tables == found.tables


@pytest.mark.long
def test_the_fluid_study_sets_its_model_beside_packets(lab: Lab) -> None:
    quick = Lab(lab.folder, 1, overrides={"seeds": 2, "set": {"duration": "12 s", "warmup": "11 s"}})
    study = FLUID_FOLDER.study()
    found = {item.name: item.find(quick) for item in study.items}
    worked = [one for one in found["targets"].checks if one.claim.startswith("equilibrium")]
    assert [one.agrees for one in worked] == [True] * 4
    assert all(one.agrees for one in found["stability"].checks)
    assert all(item in found and name in found[item].figures for item, name in study.pictures)


def test_the_model_has_no_equilibrium_between_thresholds_that_are_too_low() -> None:
    assert FLUID_FOLDER.module is not None
    resting = {at["max_packets"] for at, *_ in FLUID_FOLDER.module.at_thresholds()}
    assert set(FLUID_FOLDER.module.UPPER) - resting == {20}


def test_larger_windows_leave_the_models_equilibrium_where_it_is() -> None:
    assert FLUID_FOLDER.module is not None
    place = FLUID_FOLDER.module.PLACES["5+5, target 40"]
    plan = FLUID_FOLDER.checked("scale")
    points = [plan.point(index) for index in range(plan.points)]
    once, tenfold = (
        next(p.changes for p in points if p.coordinates == {"place": "5+5, target 40", "windows": times})
        for times in (1, 10)
    )
    assert tenfold["bottleneck.rate"] == "10 Mbit/s"
    assert tenfold["group.background.control.target"] == once["group.background.control.target"] == "400 ms"
    red = [tenfold[f"bottleneck.queue.{end}"] for end in ("min", "max", "limit")]
    assert red == ["100 packets", "1000 packets", "1000 packets"]
    here, there = place.rest(), place.rest(windows=10)
    assert there.queue_packets / 10 == pytest.approx(here.queue_packets, rel=0.02)
    assert there.shares == pytest.approx(here.shares, abs=0.02)


def test_a_starved_ledbat_leaves_the_model_stable() -> None:
    assert FLUID_FOLDER.module is not None
    starved = FLUID_FOLDER.module.Place(5, 12)
    assert starved.rest().shares == (1.0, 0.0)
    assert FLUID_FOLDER.module.root(5, 12, 0.05) < -1e-3


def test_what_is_written_can_be_read_again(tmp_path: Path) -> None:
    found = small_findings()
    study, _ = small_study(found)
    write_item(tmp_path, study, study.items[0], found)
    assert (tmp_path / "one" / "data.csv").read_text(encoding="utf-8") == 'name,value\n"a, b",1.5\nc,nan\n'
    assert {path.name for path in (tmp_path / "one").iterdir()} == {
        *("bars.png", "bars.pdf", "bars.svg", "bars-narrow.svg", "data.csv", "found.json")
    }
    kept = read_items(tmp_path, study)["one"]
    assert (kept.checks, kept.text, kept.verdict) == (found.checks, found.text, found.verdict)
    assert kept.captions == {"bars": "Some bars"}
    assert kept.tables == [Table("data", "The data", ("name", "value"), (("a, b", 1.5), ("c", None)))]


def test_of_an_item_are_written_the_files_that_are_asked_for(tmp_path: Path) -> None:
    study, findings = small_study(small_findings())
    for place, stands in (("few", False), ("one picture", True)):
        chosen = dataclasses.replace(study, pictures=study.pictures if stands else ())
        write_item(tmp_path / place, chosen, study.items[0], findings["one"], page_only=True)
        written = {path.name for path in (tmp_path / place / "one").iterdir()}
        assert written - {"bars.png"} == {"bars.svg", "bars-narrow.svg", "data.csv", "found.json"}
        assert ("bars.png" in written) is stands


def test_data_of_two_items_stand_in_the_page_once(tmp_path: Path) -> None:
    table = Table("shared", "Means of shared", ("name", "value"), (("only here", 1.5),))
    items = [Item(name, f"Item {name}", "none", lambda _lab: Findings()) for name in ("one", "two")]
    study = Study("small", "A study", "Nobody, 2026", items)
    found = {item.name: Findings(tables=[table]) for item in items}
    text = write_page(tmp_path, study, found).read_text(encoding="utf-8")
    assert text.count("only here") == 1
    assert "shared: with Item one." in text
    assert text.index("only here") < text.index("shared: with Item one.")


@pytest.mark.parametrize("key", ["study", "version"])
def test_what_another_study_or_version_wrote_is_not_of_this_one(tmp_path: Path, key: str) -> None:
    study, findings = small_study(small_findings())
    write_item(tmp_path, study, study.items[0], findings["one"])
    path = tmp_path / "one" / "found.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(document | {key: "other"}), encoding="utf-8")
    assert read_items(tmp_path, study) == {}


def test_a_disagreement_says_why_or_that_it_is_open() -> None:
    with pytest.raises(ValueError, match="it rises: disagrees, and says neither why nor that it is open"):
        Check("it rises", "1", "2", agrees=False, note=" ")


def test_one_item_alone_is_renewed_in_the_page_of_all(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"one": "First.", "two": "Second."}
    items = [Item(name, name, "none", lambda _lab, name=name: Findings(verdict=said[name])) for name in said]  # type: ignore[misc]
    study = Study("small", "A study", "Nobody, 2026", items)
    monkeypatch.setattr("sojourn.study.find.find", lambda _name: study)
    out = tmp_path / "out"
    assert command("paper", "small", "--out", out).code == 0
    said["two"] = "Renewed."
    done = command("paper", "small", "two", "--out", out)
    assert done.code == 0
    assert "one " not in done.out
    for page in ("index.html", "summary.md"):
        text = (out / page).read_text(encoding="utf-8")
        assert "First." in text
        assert "Renewed." in text
        assert "Second." not in text


def page_of(folder: Path, found: Findings) -> str:
    study, findings = small_study(found)
    write_item(folder, study, study.items[0], findings["one"])
    return write_page(folder, study, read_items(folder, study)).read_text(encoding="utf-8")


def test_the_page_of_a_study_leads_with_what_was_found(tmp_path: Path) -> None:
    page = page_of(tmp_path, small_findings())
    assert "One &amp; only" in page
    assert "a &lt;setting&gt;" in page
    assert "1 of 2 claims hold. 1 further value is shown without a verdict." in page
    assert "sojourn paper small --out DIR" in page
    assert page.count("It holds.") == 1
    assert "Found." in page
    assert page.index("It holds.") < page.index("Some bars") < page.index("Found.")


def test_points_are_counted_and_not_claims(tmp_path: Path) -> None:
    found = small_findings()
    found.checks = [Check("a", "all", "most", agrees=False, note="Open.", held=421, points=430, main=True)]
    page = page_of(tmp_path, found)
    assert "at 421 of 430 points" in page
    assert "<dd>421 of 430</dd>" in page


def test_the_short_page_is_published_with_its_pictures(tmp_path: Path) -> None:
    study, findings = small_study(small_findings())
    write_item(tmp_path / "out", study, study.items[0], findings["one"])
    write_short(tmp_path / "out", study, findings)
    page = publish("small", tmp_path / "out", tmp_path / "docs")
    text = page.read_text(encoding="utf-8")
    assert "![Some bars](small/bars.png)" in text
    assert (tmp_path / "docs" / "small" / "bars.png").is_file()
    assert "**1 of 2 claims hold. 1 further value is shown without a verdict.**" in text
    assert "- The reason is open. (1 check)" in text
    assert "[All claims, item by item](small-claims.md)" in text
    claims = (tmp_path / "docs" / "small-claims.md").read_text(encoding="utf-8")
    assert "| b | 1 | 2 | | no | Open. |" in claims
    assert "[What was found](small.md)" in claims


def test_readings_of_a_claim_are_counted_once() -> None:
    def check(claim: str, of: str, *, agrees: bool | None, own: bool = False) -> Check:
        return Check(claim, "", "", agrees, "Open.", of=of, own=own)

    checks = [
        check("a, 6 ms", "a", agrees=False),
        check("a, 50 ms", "a", agrees=True),
        check("b", "b", agrees=False),
        check("ours", "ours", agrees=True, own=True),
        check("seen", "seen", agrees=None),
    ]
    assert Counts.of(checks) == Counts(claims=2, held=1, several=1, everywhere=0, own=1, own_held=1, shown=1)


def test_checks_keep_their_columns_in_markdown() -> None:
    assert markdown_checks([Check("a|b", "1", "2", agrees=True)]).splitlines()[-1] == "| a\\|b | 1 | 2 | | yes | |"


def test_orderings_ask_for_more_than_chance() -> None:
    low, high = Number.of([1.0, 1.1, 0.9]), Number.of([2.0, 2.1, 1.9])
    assert high.above(low)
    assert not low.above(high)
    wide = Number.of([0.0, 2.0, 4.0])
    assert not wide.above(low)


def test_chokes_thresholds_are_what_ns2_computes_for_red() -> None:
    # Digest of the source: 2500 and 7500 B at 4 Mbit/s, 3125 and 9375 B at 10 Mbit/s; weight 1.0e-3 at 4 Mbit/s.
    assert GONG_FOLDER.module is not None
    slow, fast = (GONG_FOLDER.module.choke(rate_mbps) for rate_mbps in (4.0, 10.0))
    assert (slow["min"], slow["max"]) == ("2500 B", "7500 B")
    assert (fast["min"], fast["max"]) == ("3125 B", "9375 B")
    assert slow["weight"] == pytest.approx(1.0e-3, rel=1e-3)


def test_the_grid_is_table_1() -> None:
    grid = {name: GONG_FOLDER.checked(name) for name in ("capacity", "duty", "rtts", "flows")}
    # Over 3,000 simulations at each reading of the default round-trip time.
    assert sum(plan.runs for plan in grid.values()) == 2 * 3180
    assert grid["capacity"].points == 2 * 6 * 8 * 4
    mixed = [point.changes for point in map(grid["rtts"].point, range(72)) if point.coordinates["rtts"] == "mixed"]
    for changes, default_ms in ((mixed[0], 6), (mixed[-1], 50)):
        assert changes["group.tcp.rtt"] == changes["group.background.rtt"]
        expected = [part * default_ms / 6 for part in (2, 4, 6, 8, 10)]
        assert [float(rtt.split()[0]) for rtt in changes["group.tcp.rtt"]] == pytest.approx(expected, abs=1e-3)


def test_a_discipline_has_the_buffer_and_the_thresholds_of_its_point() -> None:
    plan = GONG_FOLDER.checked("capacity")
    for one in map(plan.point, range(plan.points)):
        at, changes = one.coordinates, one.changes
        own = at["queue"] in {"DRR", "SFQ"}
        assert changes.get("bottleneck.queue.limit") == (None if own else f"{at['packets']} packets")
        assert changes["bottleneck.rate"] == f"{at['rate_mbps']} Mbit/s"
        assert ("bottleneck.queue.min" in changes) is (at["queue"] == "CHOKe")


def test_a_setting_of_choke_changes_what_it_names() -> None:
    plan = GONG_FOLDER.checked("choke")
    found = {point.coordinates["setting"]: point.changes for point in map(plan.point, range(plan.points))}
    assert found["max_p 0.3"]["bottleneck.queue.max_p"] == 0.3
    assert found["max_p 0.3"]["bottleneck.queue.min"] == found["RED's thresholds in ns-2"]["bottleneck.queue.min"]
    assert found["10 and 30 packets"]["bottleneck.queue.max"] == "30 packets"
    assert [key for key in found["Linux"] if key.startswith("bottleneck")] == ["bottleneck.queue"]


def test_on_and_off_times_make_the_duty_cycle() -> None:
    assert GONG_FOLDER.module is not None
    on_off = GONG_FOLDER.module.on_off
    assert on_off(30, 10.0) == {"kind": "on-off", "on": "3000 ms", "off": "7000 ms"}
    assert on_off(100, 10.0) == {"kind": "bulk"}


def test_the_summary_says_where_the_claim_holds_and_what_does_not() -> None:
    said = {"claim": "less", "paper": "", "measured": "", "name": "only droptail, 6", "main": True}
    more = Check(**said | {"name": "only droptail, 50"}, agrees=True)
    kept = Findings(checks=[Check(**said, agrees=True, held=15, points=15), more])
    lost = Findings(checks=[Check(**said | {"name": "grid, 6"}, agrees=False, note="Open.", held=210, points=215)])
    assert GONG.summary is not None
    assert "The finding holds at all 15 points" in GONG.summary({"fig5": kept})
    text = GONG.summary({"fig5": kept, "table1": lost})
    assert "holds at 225 of 230 points" in text
    assert text.startswith("Behind a plain buffer")
    assert "The finding holds" not in GONG.summary({"fig2": Findings()})


def test_items_have_names_of_their_own_and_pictures_are_theirs() -> None:
    for study in map(find, ("gong", "fluid", "braud", "gong-testbed")):
        names = [item.name for item in study.items]
        assert len(set(names)) == len(names)
        assert {item for item, _ in study.pictures} <= set(names)


def test_the_command_lists_and_refuses(command: Command, tmp_path: Path) -> None:
    assert "gong" in command("paper").out
    listed = command("paper", "gong")
    assert listed.code == 0
    assert all(item.name in listed.out for item in GONG.items)
    assert command("paper", "gong", "fig3").code != 0
    wrong = command("paper", "gong", "fig33", "--out", str(tmp_path / "out"))
    assert wrong.code != 0
    assert "fig3" in wrong.err
    assert not (tmp_path / "out").exists()


def test_figures_of_a_paper_have_the_width_that_was_asked_for(command: Command, tmp_path: Path) -> None:
    drawn = command("paper", "gong", "fig2", "--kept", "--out", str(tmp_path), "--plot-width", "3.5")
    assert drawn.code == 0
    assert int.from_bytes((tmp_path / "fig2" / "fig2.png").read_bytes()[16:20]) == 3.5 * 300
    assert (tmp_path / "fig2" / "fig2.pdf").is_file(), "an item that is named has its PDF"
