"""Networks: shares by max-min, where data waits, drawings, and what tools say that want a chain."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Command

import sojourn
from sojourn import InputError, fairness, networks

NEWRENO = {"control": "newreno", "rtt": "20 ms"}
LINK = {"rate": "10 Mbit/s", "delay": "5 ms"}


def lot(queue: str = "fq_codel", **keys: object) -> sojourn.Scenario:
    link = {**LINK, "queue": queue}
    return sojourn.scenario(
        {
            "duration": "20 s",
            "warmup": "5 s",
            "bottleneck": {**link, "from": "a", "to": "b"},
            "hop": [{**link, "name": "second", "from": "b", "to": "c"}],
            "group": [
                {"name": "long", "from": "a", "to": "c", **NEWRENO},
                {"name": "one", "path": "bottleneck", **NEWRENO},
                {"name": "two", "path": "second", **NEWRENO},
            ],
            **keys,
        }
    )


@given(
    st.lists(st.tuples(st.sets(st.sampled_from("abcd"), min_size=1), st.floats(0.1, 50)), min_size=1, max_size=8),
    st.lists(st.floats(1, 20), min_size=4, max_size=4),
)
def test_a_max_min_division_fits_and_no_flow_can_have_more(
    drawn: list[tuple[set[str], float]], rates: list[float]
) -> None:
    capacities = dict(zip("abcd", rates, strict=True))
    flows = [(tuple(sorted(links)), wanted) for links, wanted in drawn]
    given_ = fairness.max_min(capacities, flows)
    load = {
        link: sum(own for own, (links, _) in zip(given_, flows, strict=True) if link in links) for link in capacities
    }
    assert all(load[link] <= capacities[link] * (1 + 1e-6) for link in capacities)
    for own, (links, wanted) in zip(given_, flows, strict=True):
        assert own <= wanted * (1 + 1e-9)
        full = [link for link in links if load[link] >= capacities[link] * (1 - 1e-6)]
        # It has what it wants, or is among those with most at a link that is full (Bertsekas and Gallager 6.5.2).
        most = [
            max(other for other, (crossed, _) in zip(given_, flows, strict=True) if link in crossed) for link in full
        ]
        assert own >= wanted * (1 - 1e-6) or any(own >= top * (1 - 1e-6) for top in most)


def test_fair_queueing_gives_nearly_max_min_shares() -> None:
    found = {one.group: one for one in fairness.divisions(lot().run())}
    assert [round(one.fair_mbps, 2) for one in found.values()] == [4.83] * 3
    assert all(0.85 < one.least <= one.most < 1.15 for one in found.values())


def test_a_division_among_many_takes_no_time() -> None:
    capacities = {"core": 1e4, **{f"home-{number}": 25.0 for number in range(2_000)}}
    flows = [(("core", f"home-{number % 2_000}"), 1.0 + number / 1e4) for number in range(40_000)]
    given = fairness.max_min(capacities, flows)
    assert sum(given) == pytest.approx(1e4)
    assert max(given) == pytest.approx(0.25)


def test_what_others_get_is_left_out_of_the_shares() -> None:
    cbr = {"kind": "cbr", "rate": "4 Mbit/s"}
    tables = lot().to_dict()
    group = [*tables["group"][:2], {"name": "two", "path": "second", "rtt": "20 ms", "traffic": cbr}]
    found = fairness.divisions(lot(group=group).run())
    assert [one.group for one in found] == ["long", "one"]
    # Half of the first link, which is less than the 6 Mbit/s that the second has left.
    assert found[0].fair_mbps == pytest.approx(4.83, abs=0.05)


def test_shares_are_of_what_framing_leaves() -> None:
    # 1,500 bytes and 40 of PPPoE with AAL5 are 33 cells of 53; in the second link they are themselves.
    tables = lot().to_dict()
    bottleneck = {**tables["bottleneck"], "framing": "pppoe-llcsnap"}
    found = {one.group: one for one in fairness.divisions(lot(bottleneck=bottleneck).run())}
    half = 10 / 2 * 1500 / (33 * 53)
    assert found["one"].fair_mbps == pytest.approx(half * 1448 / 1500)
    assert found["two"].fair_mbps == pytest.approx((10 - half) * 1448 / 1500)
    assert all(0.85 < one.least <= one.most < 1.15 for one in found.values())


def test_a_page_says_why_a_medium_has_no_shares(tmp_path: Path) -> None:
    from sojourn.pages import write

    page = tmp_path / "page.html"
    result = sojourn.Scenario.load("home-wifi", {"duration": "3 s", "warmup": "0.5 s", "runs": 1}).run(series=True)
    write(result.page("sojourn run home-wifi"), page)
    assert "No max-min shares: what a medium that stations share can carry depends on who sends." in page.read_text()


def test_data_waits_where_a_queue_is() -> None:
    tables = lot("droptail").to_dict()
    hop = [{**tables["hop"][0], "rate": "5 Mbit/s"}]
    found = fairness.waits(lot("droptail", hop=hop).run(series=True))
    assert set(found["one"]) == {"bottleneck"}
    assert set(found["two"]) == {"second"}
    assert found["long"]["second"] > 0.8
    assert sum(found["long"].values()) == pytest.approx(1.0)


def test_only_groups_that_cross_the_bottleneck_are_its_own() -> None:
    result = lot().run(series=True)
    assert networks.crossing(result.native) == ["long", "one"]
    shown = [text.get_text() for text in result.plot().axes[1].get_legend().get_texts()]
    assert [text for text in shown if "other links" in text] == ["two (other links)"]


def test_links_stand_in_the_order_of_the_file(command: Command) -> None:
    phase = [{"name": "late", "from": "1 s", "to": "2 s"}]
    run = (
        sojourn.Scenario.load("parking-lot", {"duration": "2 s", "warmup": "0.5 s", "phase": phase}).run(runs=1).runs[0]
    )
    assert list(run.hops) == list(run.phases["late"].hops) == ["second", "third", "fourth"]
    heads = command("run", "parking-lot", "--set", "duration=2 s", "--set", "warmup=0.5 s", "--runs", "1").out
    assert re.search(r"bottleneck +second +third +fourth", heads)


def test_many_links_are_shown_as_one(command: Command, tmp_path: Path) -> None:
    hop = [{"name": "down", "count": 9, "from": "b", "to": "home-*", "rate": ["5 Mbit/s", "10 Mbit/s"]}]
    group = [{"name": "calls", "flows": 9, "from": "a", "to": "home-*", "rtt": "20 ms", "traffic": "voip"}]
    scenario = lot(hop=hop, group=group)
    file = tmp_path / "homes.toml"
    file.write_text(scenario.to_toml())
    printed = command("run", str(file)).out
    assert "down-* (mean of 9)" in printed
    assert "down-3" not in printed
    (down,) = [one for one in networks.drawn(scenario.run().native, scenario.to_dict()) if one.name.startswith("down")]
    assert (down.name, down.start, down.end, down.count) == ("down-*", "b", "home-*", 9)
    assert (min(down.rates_mbps), max(down.rates_mbps)) == (5, 10)


@pytest.mark.parametrize("name", ["parking-lot", "home-network", "access-concentrator", "motivating-red", "rrul"])
def test_networks_and_chains_are_drawn(command: Command, tmp_path: Path, name: str) -> None:
    out = tmp_path / "drawn.svg"
    assert command("draw", name, "--out", str(out)).code == 0
    text = out.read_text()
    assert "bottleneck" in text
    # A second time the same bytes.
    again = tmp_path / "again.svg"
    command("draw", name, "--out", str(again))
    assert again.read_text() == text


def test_a_drawing_after_a_run_says_how_far_links_were_used(command: Command, tmp_path: Path) -> None:
    out, file = tmp_path / "drawn.svg", tmp_path / "lot.toml"
    file.write_text(lot().to_toml())
    assert command("draw", str(file), "--run", "--out", str(out)).code == 0
    assert re.search(r"10 Mbit/s, \d+ %", out.read_text())


@pytest.mark.parametrize(
    ("name", "reason"),
    [("wifi-home", "near-0, near-1, far"), ("two-bottlenecks", "enters")],
)
def test_what_cannot_be_a_network_says_why(command: Command, tmp_path: Path, name: str, reason: str) -> None:
    if name == "two-bottlenecks":
        file = tmp_path / f"{name}.toml"
        group = [{"name": "late", "enters": "bottleneck", **NEWRENO}]
        hop = [{**LINK, "name": "first", "at": "before"}]
        tables = {"duration": "5 s", "bottleneck": LINK, "hop": hop, "group": group}
        file.write_text(sojourn.scenario(tables).to_toml())
        name = str(file)
    for asked in (["draw", name, "--out", str(tmp_path / "a.svg")], ["show", name, "--network"]):
        found = command(*asked)
        assert found.code == 2
        assert reason in found.err


def test_a_chain_is_shown_as_a_network_that_runs_the_same(command: Command, tmp_path: Path) -> None:
    chain = sojourn.Scenario.load("gateway-and-modem", {"duration": "4 s", "warmup": "1 s", "runs": 1})
    file = tmp_path / "chain.toml"
    file.write_text(chain.to_toml())
    file.write_text(command("show", str(file), "--network").out)
    network = sojourn.Scenario.load(file)
    assert networks.is_network(network.to_dict())
    one, other = chain.run(), network.run()
    assert one.summary == other.summary
    assert one.runs[0].events == other.runs[0].events


@pytest.mark.parametrize(
    "asked",
    [
        ("check", "parking-lot", "--world", "fluid"),
        ("export", "parking-lot", "--as", "netem", "--device", "eth0"),
        ("whatif", "parking-lot"),
        ("detect", "path", "parking-lot"),
    ],
)
def test_what_wants_a_chain_says_so_once(command: Command, asked: tuple[str, ...]) -> None:
    found = command(*asked)
    assert found.code == 2
    assert "bottleneck.from" in found.err
    assert "links that form a network" in found.err
    assert "a chain of links" in found.err


def test_pings_of_a_network_go_the_way_of_its_first_group(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "lot.toml"
    file.write_text(lot().to_toml())
    found = command("compare", str(file), "--queue", "droptail,fq_codel", "--grade", "--runs", "1", "--json")
    assert found.code == 0, found.err
    assert json.loads(found.out)


def test_a_page_has_the_network(tmp_path: Path) -> None:
    from sojourn.pages import write

    page = tmp_path / "page.html"
    write(lot().run(series=True).page("sojourn run lot"), page)
    text = page.read_text()
    assert "The network, and what would be fair" in text
    assert "Of what the bottleneck delivers" not in text


def test_a_group_of_a_network_needs_a_way() -> None:
    with pytest.raises(InputError, match="the name of a node, since the links form a network"):
        lot(group=[{"name": "nowhere", **NEWRENO}])
