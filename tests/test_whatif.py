"""`sojourn whatif` and `sojourn tune`: what a line would be, and which settings keep a goal."""

import json
import tomllib
from pathlib import Path

import pytest
from tests.conftest import Command

import sojourn
from sojourn import InputError
from sojourn.goals import Goal, quantity
from sojourn.imported.twins import RATE, RECORDED, twins
from sojourn.reading import toml_text
from sojourn.tune import FILE, tune
from sojourn.whatif import AS_IT_IS, REMEDIES, WIDENING, remedied, what_if, widened

UPLOAD = {"name": "upload", "control": "cubic", "transport": "linux", "rtt": "30 ms"}


def line(**keys: object) -> sojourn.Scenario:
    fifo = {"rate": "6 Mbit/s", "queue": {"kind": "droptail", "limit": "400 ms"}}
    return sojourn.scenario({"duration": "10 s", "warmup": "3 s", "bottleneck": fifo, "group": [UPLOAD], **keys})


def test_a_deep_fifo_needs_a_shaper_and_the_commands_set_it_up() -> None:
    found = what_if(line())
    assert found.count == 1
    assert found.good(AS_IT_IS) == 0
    assert found.best.name.startswith("cake")
    delays = {one.name: found.interval(one.name, "voip_delay_ms_p99.call") for one in REMEDIES}
    assert delays[AS_IT_IS][0] > 300
    assert delays[found.best.name][0] < 40
    commands = found.commands("eth1")
    assert any("cake bandwidth" in one for one in commands)
    # Of the way down nothing is known, and nothing is set.
    assert not any("ifb" in one for one in commands)
    assert "Bulk flows keep" in found.answer


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bottleneck.queue.limt=40..200 packets", 'did you mean "limit"?'),
        ("bottleneck.queue.limit=40..x", "KEY=FROM..TO with a unit"),
        ("bottleneck.queue.limit=40..200 packets", None),
    ],
)
def test_a_range_of_what_is_not_known_is_checked(command: Command, tmp_path: Path, text: str, said: str | None) -> None:
    file = tmp_path / "line.toml"
    file.write_text(toml_text({**line().to_dict(), "unknown": [text]}))
    found = command("check", str(file))
    assert found.code == (0 if said is None else 2)
    assert said is None or said in found.err


def test_a_line_without_bloat_needs_nothing() -> None:
    found = what_if(line(bottleneck={"rate": "6 Mbit/s", "queue": {"kind": "fq_codel", "preset": "linux"}}))
    assert found.best.name == AS_IT_IS
    assert found.commands("eth1") == []
    assert "Nothing needs to be done" in found.answer


def test_what_is_not_known_widens_the_interval_and_the_shaper_stays() -> None:
    unknown = ["bottleneck.rate=3..6 Mbit/s", "bottleneck.queue.limit=200..400 ms"]
    base = line(unknown=unknown)
    found = what_if(base, count=6)
    low, high = found.interval(AS_IT_IS, "goodput_mbps.upload")[1:]
    assert high > 1.3 * low
    # The shaper of nine tenths is faster than the slowest twins, on which it does not help.
    rates = {
        change["bottleneck"]["rate"]
        for change in (remedied(base, REMEDIES[2], one, {"bottleneck": 6.0}) for one in twins(base, 6))
    }
    assert rates == {"5.4 Mbit/s"}
    assert found.good("cake at 90 %") < found.count


def test_the_path_of_all_is_the_twins() -> None:
    """A call beside the upload has the RTT that is drawn for the upload."""
    base = line(unknown=["group.upload.rtt=20..120 ms"])
    found = what_if(base, count=5)
    low, high = found.interval("cake at 80 %", "voip_delay_ms_p99.call")[1:]
    assert high > low + 20


def test_a_download_is_shaped_where_it_comes_in() -> None:
    found = what_if(line(group=[{**UPLOAD, "name": "download"}], duration="30 s", warmup="10 s"))
    commands = found.commands("eth1")
    assert any(one.startswith("tc qdisc add dev ifb4eth1") and "cake" in one for one in commands)
    assert not any(one.startswith("tc qdisc add dev eth1 root") for one in commands)


def test_a_shaper_stays_while_the_line_changes() -> None:
    """The changes of a line are those of the modem behind the shaper."""
    slower = {"at": "5 s", "bottleneck": {"rate": "3 Mbit/s"}}
    changes = remedied(line(change=[slower]), REMEDIES[1], {}, {"bottleneck": 6.0})
    assert changes["change"] == [{"at": "5 s", "hop": [{"name": "modem", "rate": "3 Mbit/s"}]}]
    found = what_if(line(change=[slower]))
    assert found.interval("cake at 80 %", "voip_delay_ms_p99.call")[0] > 100


def test_what_no_router_can_shape_alone_is_refused() -> None:
    for name, key in (("wifi-home", "bottleneck.medium"), ("gateway-and-modem", "access.gateway")):
        with pytest.raises(InputError) as caught:
            what_if(sojourn.Scenario.load(name))
        assert caught.value.diagnostics[0]["key"] == key


def test_where_nothing_helps_nothing_is_recommended() -> None:
    """A path that loses a tenth of all packets has bad calls with any queue."""
    lossy = {"rate": "6 Mbit/s", "loss": 0.1, "queue": {"kind": "droptail", "limit": "20 ms"}}
    found = what_if(line(bottleneck=lossy))
    assert found.best.name == AS_IT_IS
    assert "No remedy" in found.answer
    assert found.page().title == "No remedy that was tried helps calls"


def test_a_range_that_cannot_be_read_names_what_is_allowed() -> None:
    for text in ("bottleneck.rate=6..3 Mbit/s", "bottleneck.rate", "bottleneck.rate=1 Mbit/s..2 kbit/s"):
        with pytest.raises(InputError, match="allowed"):
            twins(line(unknown=[text]))


def test_the_command_writes_a_page(tmp_path: Path, command: Command) -> None:
    file, page = tmp_path / "line.toml", tmp_path / "whatif.html"
    file.write_text(toml_text(line().to_dict()), encoding="utf-8")
    said = command("whatif", file, "--page", page)
    assert "calls good" in said.out
    assert "On the router" in said.out
    assert "Best for calls" in page.read_text(encoding="utf-8")
    document = json.loads(command("whatif", file, "--json").out)
    assert [one["name"] for one in document["remedies"]] == [one.name for one in REMEDIES]


def test_quantities_have_words() -> None:
    call = {"name": "call", "traffic": {"kind": "voip"}}
    page = {"name": "browser", "traffic": {"kind": "web"}}
    bulk = {"name": "upload", "traffic": {"kind": "bulk"}}
    scenario = {"group": [call, page, bulk]}
    assert quantity("p99 of calls", scenario).metrics == ("voip_delay_ms_p99.call",)
    assert quantity("mean of browser", scenario).metrics == ("page_ms_mean.browser",)
    assert quantity("goodput", scenario).metrics == ("goodput_mbps.upload",)
    assert Goal.of("p99 of pages <= 2 s", scenario).bound == 2000
    for wrong in ("p99 of games", "goodput of nobody", "voip_mos.cal", "queue"):
        with pytest.raises(InputError):
            quantity(wrong, scenario)
    with pytest.raises(InputError, match="allowed"):
        Goal.of("p99 of calls", scenario)


def test_a_search_finds_the_edge_and_says_what_it_costs(tmp_path: Path) -> None:
    """The largest buffer that keeps the bound is the best for goodput: the bound itself."""
    base = line()
    how = {"maximize": "goodput", "goal": "bottleneck_queue_ms_p99 < 60 ms", "trials": 24, "runs": 1}
    found = tune(base, ["bottleneck.queue.limit=5..400 ms"], **how, out=tmp_path)
    assert found.best is not None
    limit = float(found.best.settings["bottleneck.queue.limit"].split()[0])
    assert 30 < limit <= 62
    assert found.judged is not None
    assert found.judged.keeps
    assert found.front[-1].objective >= found.best.objective
    # What is known is not run again, and the same search has the same trials.
    before = (tmp_path / FILE).read_bytes()
    again = tune(base, ["bottleneck.queue.limit=5..400 ms"], **how, out=tmp_path)
    assert again.trials == found.trials
    assert (tmp_path / FILE).read_bytes() == before
    with pytest.raises(InputError, match="another search"):
        tune(base, ["bottleneck.queue.limit=5..300 ms"], **how, out=tmp_path)


def test_a_goal_that_nothing_keeps_says_how_near_it_came() -> None:
    found = tune(
        line(),
        ["bottleneck.queue.limit=100..400 ms"],
        maximize="goodput",
        goal="bottleneck_queue_ms_p99 < 5",
        trials=8,
        runs=1,
    )
    assert found.best is None
    assert found.judged is None
    assert found.answer.startswith("No trial keeps bottleneck_queue_ms_p99 < 5")


def test_where_nothing_is_better_the_scenario_is_as_good() -> None:
    found = tune(line(), ["warmup=2..3 s"], minimize="bottleneck_queue_ms_p99", trials=8, runs=1)
    assert "as it is is as good" in found.answer


def test_settings_may_serve_many_lines() -> None:
    """A gateway's part that serves slow and fast lines, judged on others of them."""
    home = sojourn.Scenario.load("gateway-and-modem", {"duration": "6 s", "warmup": "2 s"})
    how = {"maximize": "goodput", "goal": "p99 of calls < 80 ms", "trials": 8, "runs": 1}
    found = tune(home, ["access.gateway=0.6..1.1"], lines="adsl:3", **how)
    assert found.count == 3
    assert found.best is not None
    with pytest.raises(InputError, match="cabel"):
        tune(home, ["access.gateway=0.6..1"], lines="cabel:3", **how)


def test_keys_and_ends_are_tried_before_anything_is_run() -> None:
    with pytest.raises(InputError, match="limti"):
        tune(line(), ["bottleneck.queue.limti=5..400 ms"], maximize="goodput")
    with pytest.raises(InputError, match="unit"):
        tune(line(), ["bottleneck.rate=5..400"], maximize="goodput")
    with pytest.raises(InputError, match="one of"):
        tune(line(), ["bottleneck.rate=5..6 Mbit/s"])


def test_every_remedy_has_what_imported_lines_were_off_by() -> None:
    known = tomllib.loads(WIDENING.read_text(encoding="utf-8"))
    assert list(known) == [RATE, RECORDED]
    for kind in known.values():
        assert list(kind) == [one.name for one in REMEDIES]
        assert all(0 <= part < 3 for of in kind.values() for part in of.values())
    # That part of the median on both sides, and nothing below zero.
    for kind, is_recorded in ((RATE, False), (RECORDED, True)):
        part = known[kind][AS_IT_IS]["voip_delay_ms_p99"]
        found = widened(AS_IT_IS, "voip_delay_ms_p99.call", (40.0, 39.0, 41.0), is_recorded=is_recorded)
        assert found == pytest.approx((40.0, 39.0 - 40 * part, 41.0 + 40 * part))
    assert widened(AS_IT_IS, "voip_delay_ms_p99.call", (40.0, 1.0, 41.0))[1] == 0.0
