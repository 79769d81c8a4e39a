"""Controllers of a gateway's shapers of one's own: as good as built-in ones, and unable to do harm unnoticed."""

from pathlib import Path

import pytest

import sojourn
from sojourn import plugins, trial
from sojourn.registry import plug_ins_in

HERE = Path(__file__).parent / "plugins"
SHORT = {"duration": "25 s", "warmup": "5 s"}


def gateway(controller, scenario="leo-gateway", **changes):
    return sojourn.Scenario.load(scenario, {**SHORT, "shaper.controller": controller, **changes})


def record(scenario):
    return {key: value for key, value in scenario.run(runs=1).runs[0].items() if key != "wall_s"}


@pytest.fixture
def mine():
    """Add a class as the controller `mine`, and take it away again."""

    def add(step, **others):
        sojourn.shaper("mine")(type("Mine", (), {"step": step, **others}))
        return "mine"

    yield add
    plugins.unload(*plugins.added()["shapers"])


def test_the_rule_written_in_python_sends_the_same_packets():
    plugins.load(HERE / "autorate.py")
    for scenario in ("leo-gateway", "lte-gateway"):
        built_in, own = (record(gateway(one, scenario)) for one in ({"kind": "autorate"}, "py-autorate"))
        assert built_in == own
        # A rule that did nothing would be the same, too.
        fixed = record(gateway({"kind": "autorate", "min": 1, "max": 1}, scenario))
        assert fixed["reverse"] != own["reverse"]


def test_listings_and_records_of_what_was_run_know_it():
    plugins.load(HERE / "autorate.py")
    (entry,) = [one for one in sojourn.catalogue()["shapers"] if one["name"] == "py-autorate"]
    assert entry["origin"]["from"].endswith("autorate.py")
    assert "py-autorate" in plugins.added()["shapers"]
    # A congestion control of the same name would be another plug-in.
    tables = {"shaper": {"controller": "py-autorate", "pings": "x"}, "group": [{"control": "py-autorate"}]}
    (used,) = plug_ins_in(tables)
    assert str(used).startswith("the shaper's controller py-autorate of autorate.py (SHA-256 ")
    assert not plug_ins_in({"group": tables["group"]})


def test_what_it_is_told_and_what_it_sets(mine):
    about, told = [], []

    def init(self, gateway):
        about.append(gateway)
        told.clear()

    def step(self, now_ns, replies, sent_bytes):
        told.append((now_ns, sent_bytes, [(one.at_ns, one.reflector, one.rtt_ns, one.delays_ns) for one in replies]))
        return 5e6, 20e6

    name = mine(step, __init__=init)
    tables = {
        "duration": "2 s",
        "bottleneck": {"rate": "10 Mbit/s"},
        "reverse": {"rate": "40 Mbit/s"},
        "hop": [{"name": "modem", "at": "after", "rate": "100 Mbit/s"}],
        "shaper": {"controller": name, "pings": "pings", "interval": "500 ms"},
        "group": [
            {
                "name": "pings",
                "rtt": "20 ms",
                "start": "0 s",
                "traffic": {"kind": "ping", "every": "1 s", "packet": "125 B"},
            },
            {
                "name": "up",
                "rtt": "20 ms",
                "start": "1 ms",
                "traffic": {"kind": "cbr", "rate": "20 Mbit/s", "packet": "1250 B"},
            },
        ],
    }
    lab = sojourn.scenario(tables)
    found = lab.run(runs=1, series=0.5, probes=True)
    assert (list(about[0].base_bps), list(about[0].packet_bytes)) == ([10_000_000, 40_000_000], [1250, 1250])
    # 125 bytes take 100 us on the shaper up, 10 us on the modem's link, and 25 us on the shaper down.
    assert told[0][2] == [(20_135_000, 0, 20_135_000, (10_110_000, 10_025_000))]
    assert [one[0] for one in told] == [500_000_000, 1_000_000_000, 1_500_000_000, 2_000_000_000]
    # A packet takes 1 ms from 1 ms on, and the one that ends at 500 ms counts later; then 2 ms.
    assert [one[1][0] for one in told[:2]] == [125 + 498 * 1250, 125 + (498 + 1 + 249) * 1250]
    assert found.runs[0].bottleneck.utilization > 0.999


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "it returned None; allowed: two rates from 1 to 1e12 bit/s"),
        (5e6, "it returned 5000000.0; allowed: two rates"),
        ((5e6, float("nan")), "nan"),
        ((0, 5e6), "it returned (0, 5000000.0)"),
        ((5e6, 5e6, 5e6), "allowed: two rates"),
        ((1e13, 5e6), "allowed: two rates"),
    ],
)
def test_an_answer_that_is_no_pair_of_rates_ends_the_run(mine, answer, said):
    name = mine(lambda self, now_ns: answer if now_ns > 1_000_000_000 else (1e7, 1e7))
    with pytest.raises(
        sojourn.PluginError, match=r"plug-in mine, step, at 1\.010000 s, the gateway's shaper"
    ) as raised:
        gateway(name).run(runs=1)
    assert said in str(raised.value)


def test_what_goes_wrong_inside_is_told(mine):
    name = mine(lambda self, replies: [1e7 / len(replies)] * 2)
    with pytest.raises(sojourn.PluginError, match="ZeroDivisionError"):
        gateway(name).run(runs=1)


def test_a_class_that_cannot_be_one_is_refused():
    with pytest.raises(sojourn.InputError, match="no method step"):
        sojourn.shaper("mine")(type("Mine", (), {}))
    with pytest.raises(sojourn.InputError, match="step takes 'rates'; allowed: any of now_ns, replies, sent_bytes"):
        sojourn.shaper("mine")(type("Mine", (), {"step": lambda self, rates: rates}))
    with pytest.raises(sojourn.InputError, match="a built-in controller has this name"):
        sojourn.shaper("autorate")(type("Mine", (), {"step": lambda self: (1, 1)}))


def test_the_decorator_stays_where_the_command_of_its_name_was_used():
    import sojourn.cli.shaper
    import sojourn.shaping

    assert sojourn.shaper is plugins.shaper


def test_laws_hold_for_the_built_in_rule_and_not_for_rates_that_stay(mine):
    assert [law.holds for law in trial.laws("autorate")] == [True] * 4
    name = mine(lambda self: self.base, __init__=lambda self, gateway: setattr(self, "base", gateway.base_bps))
    assert [law.holds for law in trial.laws(name)] == [True, True, False, True]
    assert trial.report(name).verdict == "1 of 4 laws broken; mend these first."


def test_a_template_is_a_controller_that_keeps_the_laws(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = command("new", "shaper", "my-gateway")
    assert made.code == 0, made.err
    tried = command("try", "my_gateway.py")
    assert (tried.code, "all 4 laws hold" in tried.out) == (0, True), tried.out
    plugins.unload("my-gateway")
