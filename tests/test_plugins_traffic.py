"""Traffic of one's own: as good as the built-in kinds, byte for byte, and unable to do harm unnoticed."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from tests.test_plugins import scenario as changed

import sojourn
from sojourn import plugins, trial

HERE = Path(__file__).parent / "plugins"
TRANSFERS = (
    {"kind": "py-transfers", "interval": "200 ms", "size_bytes": 50_000, "connections": 3},
    {"kind": "transfers", "interval": "200 ms", "size": "50 kB", "connections": 3},
)


def scenario(traffic):
    return changed({"group.tcp.traffic": traffic})


def test_completion_times_are_recorded():
    plugins.load(HERE / "transfers.py")
    mine, built_in = (scenario(traffic).run().runs[0].groups.tcp for traffic in TRANSFERS)
    assert mine.fct_ms.count > 50
    assert mine == built_in


def test_listings_and_schema_know_it(folder, command):
    listed = command("list", "traffic", "--plugin", "on_off.py")
    assert "py-on-off" in listed.out
    shown = command("show", "py-on-off", "--plugin", "on_off.py")
    assert "mean of the off times" in shown.out
    assert "on_off.py" in shown.out
    (kind,) = [one for one in sojourn.catalogue()["traffic"] if one["name"] == "py-on-off"]
    assert len(kind["origin"]["content"]) == 64
    assert '"const": "py-on-off"' in command("schema", "--plugin", "on_off.py").out


def test_parameters_are_checked_with_nearest_names():
    plugins.load(HERE / "on_off.py")
    with pytest.raises(sojourn.InputError, match='did you mean "py-on-off"'):
        scenario("py-on-of")
    with pytest.raises(sojourn.InputError, match="allowed: kind, on, off"):
        scenario({"kind": "py-on-off", "onn": "5 ms"})
    with pytest.raises(sojourn.InputError, match="1 ms"):
        scenario({"kind": "py-on-off", "on": "1 us"})


def test_what_was_resolved_comes_back():
    plugins.load(HERE / "transfers.py")
    lab = scenario(TRANSFERS[0])
    again = sojourn.Scenario(sojourn._native.load(lab.to_toml()))
    assert again.to_toml() == lab.to_toml()
    assert "size_bytes = 50000" in lab.to_toml()


def test_a_class_can_be_defined_again_and_old_scenarios_keep_theirs():
    def once(size, parameter):
        class Once:
            def __init__(self, flow):
                self.flow = flow

            def start(self):
                self.flow.send(size)

        setattr(Once, parameter, sojourn.integer(1, help="nothing"))
        return scenario({"kind": sojourn.traffic("once")(Once) and "once", parameter: 2})

    small, large = once(10_000, "this"), once(1_000_000, "that")
    assert [lab.run(transfers=True).transfers.column("size_bytes").to_pylist() for lab in (small, large)] == [
        [10_000, 10_000],
        [1_000_000, 1_000_000],
    ]
    assert "this = 2" in small.to_toml()


def fail():
    raise KeyError("no such thing")


def hang():
    while True:
        pass


def send_more_than_all(flow):
    flow.send_forever()
    flow.send(1)


SINS = {
    "never": lambda traffic, _: setattr(traffic, "timer_ns", math.nan),
    "back": lambda traffic, now_ns: setattr(traffic, "timer_ns", now_ns - 1),
    "stands still": lambda traffic, now_ns: setattr(traffic, "timer_ns", now_ns),
    "another connection": lambda traffic, _: traffic.flow.connect(1000, 2),
    "more than all": lambda traffic, _: send_more_than_all(traffic.flow),
    "raises": lambda *_: fail(),
    "hangs": lambda *_: hang(),
}


def sinner(sin):
    """Return a run of traffic that does something wrong after 5 s; a number is a size that it sends."""

    @sojourn.traffic("sinner")
    class Sinner:
        connections = sojourn.integer(2, min=1, max=4, help="at once")

        def __init__(self, flow):
            self.flow = flow
            if sin == "sends too early":
                flow.send(1)
            if sin == "is not made":
                fail()

        def start(self, now_ns):
            self.flow.send(1000)
            self.timer_ns = 5_000_000_000

        def on_timer(self, now_ns):
            if sin in SINS:
                SINS[sin](self, now_ns)
            else:
                self.flow.send(sin)

    return scenario("sinner").run()


@pytest.mark.long
@pytest.mark.parametrize(
    ("sin", "method", "text"),
    [
        (math.nan, "on_timer, at 5.", "size_bytes: found nan; allowed: a number of bytes, 1 or more"),
        (math.inf, "on_timer, at 5.", "size_bytes: found inf"),
        (-1.0, "on_timer, at 5.", "size_bytes: found -1.0"),
        (0.0, "on_timer, at 5.", "size_bytes: found 0.0"),
        (1e17, "on_timer, at 5.", "allowed: 1 to 1000000000000000"),
        ("many", "on_timer, at 5.", "size_bytes: found 'many'"),
        ("never", "on_timer, at 5.", "timer_ns: found nan"),
        ("back", "on_timer, at 5.", "which is over; allowed: now or later"),
        ("stands still", "on_timer, at 5.", "called 10000 times at one instant"),
        ("another connection", "on_timer, at 5.", "connection 2; allowed: 0 to 1"),
        ("more than all", "on_timer, at 5.", "sends without end; allowed: a fresh one"),
        ("raises", "on_timer, at 5.", "KeyError: 'no such thing'"),
        ("hangs", "on_timer, at 5.", "no answer within 10 s"),
        ("sends too early", "__init__, at 0.", "outside of start, on_timer and on_arrived"),
        ("is not made", "__init__, at 0.", "KeyError: 'no such thing'"),
    ],
)
def test_every_sin_is_a_sentence_with_plug_in_method_time_and_flow(sin, method, text):
    with pytest.raises(sojourn.PluginError) as raised:
        sinner(sin)
    said = str(raised.value)
    assert said.startswith(f"plug-in sinner, {method}"), said
    assert "flow 0 of tcp" in said
    assert text in said


def test_what_cannot_be_traffic_is_refused():
    class Nothing:
        pass

    with pytest.raises(sojourn.InputError, match="no method start"):
        sojourn.traffic("nothing")(Nothing)

    class Plain:
        def start(self):
            pass

    with pytest.raises(sojourn.InputError, match="a built-in kind has this name"):
        sojourn.traffic("web")(Plain)
    Plain.connections = sojourn.number(1.0)
    with pytest.raises(sojourn.InputError, match="connections is a number"):
        sojourn.traffic("plain")(Plain)
    del Plain.connections
    Plain.kind = sojourn.flag(default=True)
    with pytest.raises(sojourn.InputError, match="a parameter called kind"):
        sojourn.traffic("plain")(Plain)

    class Curious:
        def start(self, weather):
            pass

    with pytest.raises(sojourn.InputError, match="start takes 'weather'; allowed: any of now_ns"):
        sojourn.traffic("curious")(Curious)


def test_a_timer_without_its_method_is_named():
    @sojourn.traffic("half")
    class Half:
        def start(self, now_ns):
            self.timer_ns = now_ns + 1

    with pytest.raises(sojourn.PluginError, match="timer_ns is set, and there is no method on_timer"):
        scenario("half").run()


def test_several_wishes_of_one_call_are_fulfilled_in_order():
    @sojourn.traffic("hasty")
    class Hasty:
        connections = sojourn.integer(3, min=1, max=3, help="at once")

        def __init__(self, flow):
            self.flow = flow

        def start(self):
            self.flow.send(3000)
            self.flow.send(4000)
            self.flow.connect(20_000, 1)
            self.flow.connect(10_000, 2)

    done = scenario("hasty").run(transfers=True).transfers.to_pydict()
    assert sorted(done["size_bytes"]) == [7000, 7000, 10_000, 10_000, 20_000, 20_000]


def test_what_a_pause_holds_back_goes_on_with_the_next_bytes():
    @sojourn.traffic("halting")
    class Halting:
        def __init__(self, flow):
            self.flow = flow

        def start(self, now_ns):
            self.flow.send(1_000_000)
            self.timer_ns = now_ns + 500_000_000

        def on_timer(self, now_ns):
            if now_ns < 1_000_000_000:
                self.flow.pause()
                self.timer_ns = now_ns + 5_000_000_000
            else:
                self.flow.send(1000)

    done = scenario("halting").run(transfers=True).transfers.to_pydict()
    assert done["size_bytes"] == [1_001_000] * 2
    assert all(time > 5500 for time in done["completion_ms"])


def test_a_flow_that_stops_in_the_middle_of_a_transfer_completes_none():
    @sojourn.traffic("one-large")
    class OneLarge:
        def __init__(self, flow):
            self.flow = flow

        def start(self):
            self.flow.send(10_000_000)

    lab = scenario("one-large")
    stopped = sojourn.Scenario(sojourn._native.load(lab.to_toml(), overrides=["group.tcp.stop=2 s"]))
    run = stopped.run(transfers=True)
    assert run.transfers.num_rows == 0
    assert run.runs[0].groups.tcp.goodput_mbps > 0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for file in HERE.glob("*.py"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "mine.toml").write_text(
        'duration = "5 s"\nplugins = ["on_off.py"]\nbottleneck = { rate = "10 Mbit/s" }\n'
        'group = [{ name = "a", control = "newreno", rtt = "40 ms", traffic = "py-on-off" }]\n'
    )
    (tmp_path / "sweep.toml").write_text(
        'base = "mine.toml"\nseeds = 2\n[axes]\n"group.a.traffic.off" = ["100 ms", "300 ms"]\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.mark.long
def test_numbers_of_changed_traffic_are_made_again(folder):
    def swept():
        words = ("sweep", "sweep.toml", "--allow-plugins", "--out", "data")
        done = subprocess.run([sys.executable, "-m", "sojourn", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert "made again" not in swept()
    assert "made again" not in swept()
    file = folder / "on_off.py"
    file.write_text(file.read_text() + "# another one\n")
    assert "were made before on_off.py changed and are made again" in swept()


@pytest.mark.long
def test_a_sweep_in_two_processes_gives_what_one_gives(folder, command):
    pytest.importorskip("cryptography", reason="the extra `cluster` is not installed")
    common = ("sweep", "sweep.toml", "--allow-plugins", "--out")
    assert command(*common, "one", "--jobs", "1").code == 0
    done = command(*common, "two", "--cluster", "local:2")
    assert done.code == 0, done.err
    tables = [sojourn.Dataset.open(name).table("runs").to_pylist() for name in ("one", "two")]
    assert tables[0] == tables[1]
    assert len({row["goodput_mbps"] for row in sojourn.Dataset.open("one").table("groups").to_pylist()}) > 1


def test_what_new_makes_keeps_the_laws(folder, command):
    assert command("new", "traffic", "my-users").code == 0
    tried = command("try", "my_users.py", "--page", "page.html")
    assert tried.code == 0, tried.out + tried.err
    assert "my-users (traffic): all 4 laws hold" in tried.out
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_my_users.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_try_names_the_law_that_is_broken():
    @sojourn.traffic("by-the-clock")
    class ByTheClock:
        def __init__(self, flow):
            self.flow = flow

        def start(self, now_ns):
            self.flow.send(1000 if now_ns == 0 else 2000)

    assert [law.name for law in trial.laws("by-the-clock") if not law.holds] == [
        "The time of the start changes nothing"
    ]


def test_between_sockets_it_needs_a_sender_of_its_own_and_the_receiver_none(folder):
    from sojourn.worlds.linux.plan.check import carried, group_refusals
    from sojourn.worlds.linux.plan.flows import flows, routes_of

    plugins.load("on_off.py")
    base = (folder / "mine.toml").read_text()
    over_tcp, over_udp = (
        json.loads(sojourn._native.load(base, overrides=[f"group.a.control={control}"]).to_json())
        for control in ("cubic", "ledbat")
    )
    (refusal,) = [one for one in group_refusals(over_tcp["group"][0]) if "traffic" in one.key]
    assert "a plug-in needs a control that Sojourn's own sender runs over UDP" in str(refusal)
    assert not list(group_refusals(over_udp["group"][0]))
    (flow,) = flows(over_udp, 1, {"a": carried(over_udp["group"][0])}, routes_of(over_udp))
    near, far = flow.ends(1)
    assert near["traffic"]["kind"] == "py-on-off"
    assert [Path(file).name for file in near["plugins"]] == ["on_off.py"]
    assert far["traffic"] == {"kind": "bulk"}
    assert "plugins" not in far
