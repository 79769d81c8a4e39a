"""Access lines of the population: samples, comparisons over lines, and the rate of a gateway's shaper."""

import json
from pathlib import Path

import pytest

import sojourn
from conftest import Command
from sojourn import lines as many
from sojourn.shaping import NONE, named, shaper_rates

SHORT = {"duration": "8 s", "warmup": "3 s"}


def test_a_sample_has_the_parts_of_the_population() -> None:
    """Systematic samples: a technology's part differs from that of the population by less than two of the sample."""
    population = many.of_technology(many.HOME)
    for seed in range(1, 20):
        for count in (30, 97):
            found = many.chosen(f"home:{count}", seed)
            assert len({line["name"] for line in found}) == len(found) <= count
            assert sum(line["weight"] for line in found) == pytest.approx(1)
            for technology in {line["technology"] for line in population}:
                wanted, part = (
                    sum(line["weight"] for line in lines if line["technology"] == technology)
                    for lines in (population, found)
                )
                assert abs(wanted - part) < 2 / count, (seed, count, technology)


def test_all_lines_keep_their_weights() -> None:
    assert sum(line["weight"] for line in many.chosen("all")) == pytest.approx(1)
    assert len(many.chosen("home:100000")) == len(many.chosen("all"))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("cabel", "cable"),
        ("home:0", "NAME:COUNT"),
        ("home:many", "NAME:COUNT"),
        ("cable-100-10-film,cable-100-10-fim", "cable-100-10-film"),
    ],
)
def test_bad_lines_are_refused(spec: str, message: str) -> None:
    with pytest.raises(sojourn.InputError, match=message):
        many.chosen(spec)


def test_a_shaper_below_the_line_saves_calls_and_one_above_it_does_not() -> None:
    base = sojourn.Scenario.load("gateway-and-modem", SHORT)
    variants = {part: base.with_({"access.gateway": float(part)}) for part in ("0", "0.9", "1.3")}
    found = many.on_lines(variants, many.chosen("vdsl-25-5-quiet,cable-50-5-film,cable-25-3-wifi"))
    good = {name: found.good(name)[0] for name in variants}
    assert good == {"0": 0.0, "0.9": 1.0, "1.3": 0.0}
    assert found.order[0] == "0.9"
    assert len(found.rows()) == 3 * 3 * len(found.columns)
    # What only some lines have is no column.
    assert not any("line-" in column.shown.metric for column in found.columns)


def test_quantiles_are_by_weight() -> None:
    [quick] = many.chosen("geo-25-3-wifi")
    heavy, light = {**quick, "weight": 0.9}, {**quick, "weight": 0.1}
    found = many.OnLines((heavy, light), {"a": {"m": [1.0, 9.0]}}, (), None, (), 1)
    assert [found.quantile("a", "m", part) for part in (0.5, 0.9, 0.95)] == [1.0, 1.0, 9.0]
    assert found.quantile("a", "other", 0.5) is None


def test_compare_on_lines(command: Command) -> None:
    arguments = ("compare", "gateway-and-modem", "--queue", "cake,droptail", "--lines", "geo-25-3-wifi,cable-25-3-wifi")
    short = ("--set", "duration=8 s", "--set", "warmup=3 s")
    outcome = command(*arguments, *short)
    assert outcome.code == 0
    assert "Good for calls on most lines is cake" in outcome.out
    assert "2 lines, each stands for as many homes; 1 run each." in outcome.out
    rows = json.loads(command(*arguments, *short, "--json").out)
    assert {row["line"] for row in rows} == {"geo-25-3-wifi", "cable-25-3-wifi"}
    refused = command(*arguments, "--plot", "x.svg")
    assert refused.code == 2
    assert "--plot does not go with --lines" in refused.err


def test_metrics_of_ones_own_and_a_page_on_lines(command: Command, tmp_path: Path) -> None:
    page = tmp_path / "lines.html"
    arguments = ("compare", "gateway-and-modem", "--lines", "geo-25-3-wifi,cable-25-3-wifi", "--page", str(page))
    short = ("--set", "duration=8 s", "--set", "warmup=3 s")
    outcome = command(*arguments, *short, "--metric", "bottleneck_drop_rate,share.backups", "--json")
    assert {row["metric"] for row in json.loads(outcome.out)} == {
        "voip_mos.call",
        "voip_mos.call-down",
        "bottleneck_drop_rate",
        "share.backups",
    }
    text = page.read_text(encoding="utf-8")
    assert "gateway-and-modem on 2 lines" in text
    assert "For calls gateway-and-modem is good on" in text
    assert "part of the lines" in text


def test_nothing_is_not_run_on_lines() -> None:
    with pytest.raises(sojourn.InputError, match="at least one scenario"):
        many.on_lines({}, many.chosen("geo-25-3-wifi"))


def test_a_line_takes_the_place_of_the_links(command: Command) -> None:
    outcome = command("run", "motivating-droptail", "--line", "cable-50-5-quiet", "--set", "duration=2 s", "--json")
    scenario = json.loads(outcome.out)["scenario"]
    assert scenario["bottleneck"]["rate"] == "5 Mbit/s"
    down = command("run", "motivating-droptail", "--line", "cable-50-5-quiet:down", "--set", "duration=2 s", "--json")
    assert json.loads(down.out)["scenario"]["bottleneck"]["rate"] == "50 Mbit/s"
    wrong = command("run", "motivating-droptail", "--line", "cable-50-5-quite")
    assert wrong.code == 2
    assert "cable-50-5-quiet" in wrong.err


def test_lines_are_an_axis_of_sweeps() -> None:
    base = sojourn.Scenario.load("gateway-and-modem", SHORT)
    found = sojourn.sweep(base, {"access.line": ["vdsl-25-5-quiet", "leo-200-20-film"]}, seeds=1)
    assert found.table()["access.line"].to_pylist() == ["vdsl-25-5-quiet", "leo-200-20-film"]


def test_the_knee_is_where_rate_over_delay_is_largest() -> None:
    base = sojourn.Scenario.load("gateway-and-modem", SHORT)
    found = shaper_rates(base, [0.6, 0.9, 1.2], runs=2)
    assert found.line_mbps == pytest.approx((10, 50))
    power = {part: min(part, 1) / found.delay_ms(named(part), "forward") for part in found.parts}
    assert found.knee("forward") == max(power, key=power.__getitem__) == 0.9
    assert found.delay_ms(NONE, "forward") > 5 * found.delay_ms("90 %", "forward")
    assert "Up: give the shaper 90 % of the line, 9 Mbit/s." in found.answer
    assert found.way("reverse") == "down"


def test_a_line_whose_queue_is_empty_needs_no_shaper() -> None:
    """The ISP's policer drops what is too much, and nothing waits behind it."""
    base = sojourn.Scenario.load("gateway-and-modem", {**SHORT, "access.line": "fibre-100-20-quiet"})
    found = shaper_rates(base, [0.9], runs=2)
    assert found.knee("forward") is None
    assert "Up, no rate that was tried is better for calls than no shaper" in found.answer


def test_shaper(command: Command, tmp_path: object) -> None:
    short = ("--set", "duration=8 s", "--set", "warmup=3 s", "--runs", "2", "--parts", "80,90 %")
    outcome = command("shaper", *short, "--page", f"{tmp_path}/shaper.html")
    assert outcome.code == 0
    assert "Up: give the shaper 90 % of the line" in outcome.out
    knees = json.loads(command("shaper", *short, "--json").out)["knees"]
    assert knees["forward"] == 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("first",), "no access line"),
        (("--set", "access.line=cable-100-10-fim"), "cable-100-10-film"),
        (("--parts", "ninety"), "numbers in percent"),
        (("--parts", "0.9"), "from 5 to 200"),
        (("lte-own-download", "--set", "access.profile=lte"), "stations share"),
    ],
)
def test_a_shaper_needs_a_line(command: Command, arguments: tuple[str, ...], message: str) -> None:
    outcome = command("shaper", *arguments)
    assert outcome.code == 2
    assert message in outcome.err


def test_without_a_shaper_the_modem_keeps_its_own_queue() -> None:
    """A queue that is set beside a gateway is the gateway's: without one it is neither the modem's nor the ISP's."""
    line = {"access.line": "adsl-16-1-film", "duration": "8 s", "warmup": "3 s"}
    queues = {"bottleneck.queue": "fq_codel", "reverse.queue": "fq_codel"}
    found = shaper_rates(sojourn.Scenario.load("gateway-and-modem", line | queues), [0.9], runs=1)
    as_bought = sojourn.Scenario.load("gateway-and-modem", line | {"access.gateway": 0}).to_dict()
    for link in ("bottleneck", "reverse"):
        assert found.scenario[link]["queue"] == as_bought[link]["queue"]
        assert found.found.results[named(0.9)].scenario[link]["queue"]["kind"] == "fq_codel"


def test_a_shaper_that_a_controller_sets_has_no_rate_to_look_for():
    with pytest.raises(
        sojourn.InputError, match=r"a controller, which sets the shaper's rate; allowed: one without \[shaper\]"
    ):
        shaper_rates(sojourn.Scenario.load("leo-gateway"))
