"""Algorithms of one's own: as good as built-in ones, byte for byte, and unable to do harm unnoticed."""

import json
import math
import subprocess
import sys
import tomllib
from collections import deque
from pathlib import Path

import pytest

import sojourn
from sojourn import plugins, reading, trial
from sojourn.registry import plug_ins_in

HERE = Path(__file__).parent / "plugins"
MIXED = """
duration = "20 s"
bottleneck = { rate = "10 Mbit/s", queue = { kind = "droptail", limit = "100 packets" } }
group = [
    { name = "tcp", control = "newreno", flows = 2, rtt = "40 ms" },
    { name = "ledbat", control = "ledbat", flows = 2, rtt = "40 ms", start = "3 s" },
]
"""


def scenario(changes):
    tables = json.dumps(tomllib.loads(MIXED))
    return sojourn.Scenario(sojourn._native.load_json(tables, overrides=reading.override_list(changes)))


def test_listings_know_where_it_comes_from_and_what_can_be_set():
    plugins.load(HERE / "ledbat.py")
    (entry,) = [control for control in sojourn.catalogue()["controls"] if control["name"] == "py-ledbat"]
    assert entry["origin"]["from"].endswith("ledbat.py")
    assert len(entry["origin"]["content"]) == 64
    assert [parameter["name"] for parameter in entry["parameters"]] == ["target", "gain"]
    assert entry["parameters"][0]["default"] == "100 ms"


def test_parameters_are_checked_with_nearest_names():
    plugins.load(HERE / "ledbat.py")
    with pytest.raises(sojourn.InputError, match='did you mean "target"'):
        scenario({"group.ledbat.control": {"kind": "py-ledbat", "tagret": "5 ms"}})
    with pytest.raises(sojourn.InputError, match="100 us"):
        scenario({"group.ledbat.control": {"kind": "py-ledbat", "target": "1 us"}})


def test_a_class_can_be_defined_again_and_old_scenarios_keep_theirs():
    def fixed(segments):
        @sojourn.control("fixed")
        class Fixed:
            """A window that does not move."""

            def __init__(self):
                self.window = segments

            def on_ack(self, ack):
                pass

            def on_congestion(self, event):
                pass

        return scenario({"group.tcp.control": "fixed", "bottleneck.queue.limit": "1000 packets"})

    one, ten = fixed(1.0), fixed(10.0)
    goodput = [lab.run().runs[0].groups.tcp.goodput_mbps for lab in (one, ten)]
    assert goodput[1] > 2 * goodput[0]


@pytest.mark.parametrize(
    ("window", "text"),
    [
        (math.nan, "the window is NaN"),
        (math.inf, "the window is inf"),
        (-math.inf, "the window is -inf"),
        (-1.0, "the window is -1"),
        ("wide", "must be real"),
    ],
)
def test_a_window_that_is_none_ends_the_run_with_a_sentence(window, text):
    @sojourn.control("strange-window")
    class Strange:
        def __init__(self):
            self.window = 10.0

        def on_ack(self, now_ns):
            if now_ns > 5_000_000_000:
                self.window = window

        def on_congestion(self, event):
            pass

    with pytest.raises(sojourn.PluginError, match=text) as raised:
        scenario({"group.tcp.control": "strange-window"}).run()
    assert "plug-in strange-window, on_ack, at 5." in str(raised.value)
    assert "of tcp" in str(raised.value)


def test_an_exception_comes_with_its_lines():
    @sojourn.control("clumsy")
    class Clumsy:
        window = 2.0

        def on_ack(self, ack):
            raise KeyError("no such thing")

        def on_congestion(self, event):
            pass

    with pytest.raises(sojourn.PluginError, match=r"(?s)KeyError: 'no such thing'.*test_plugins.py.*raise KeyError"):
        scenario({"group.tcp.control": "clumsy"}).run()


def test_a_wrong_argument_is_named():
    @sojourn.control("asks-too-much")
    class Asks:
        window = 2.0

        def on_ack(self, now_ns, weather):
            pass

        def on_congestion(self, event):
            pass

    with pytest.raises(sojourn.PluginError, match='"weather"; allowed: now_ns, newly_acked'):
        scenario({"group.tcp.control": "asks-too-much"}).run()


@pytest.mark.long
def test_a_loop_without_end_is_ended():
    @sojourn.control("endless")
    class Endless:
        window = 2.0

        def on_ack(self, ack):
            while True:
                pass

        def on_congestion(self, event):
            pass

    with pytest.raises(sojourn.PluginError, match="no answer within 10 s"):
        scenario({"group.tcp.control": "endless"}).run()


def queue_that(sin):
    @sojourn.discipline("sinner")
    class Sinner:
        def __init__(self):
            self.waiting = deque()
            self.last = None

        def enqueue(self, packet, now_ns):
            if sin == "raises":
                raise KeyError(packet.bytes)
            if sin == "marks":
                packet.mark()
            self.waiting.append(packet)
            if sin == "forgets":
                self.waiting.clear()

        def dequeue(self, now_ns):
            if sin == "keeps for ever" and self.last is not None:
                return None
            if sin == "twice" and self.last is not None:
                return self.last
            self.last = self.waiting.popleft() if self.waiting else None
            if sin == "drops and sends" and self.last is not None:
                self.last.drop()
            return 7 if sin == "invents" else self.last

    return scenario({"bottleneck.queue": "sinner"})


@pytest.mark.parametrize(
    ("sin", "text"),
    [
        ("marks", "enqueue.*not ECN-capable"),
        ("forgets", "dequeue.*no packet leaves while 1 wait"),
        ("twice", "dequeue.*it left or was dropped before"),
        ("drops and sends", "dequeue.*it left or was dropped before"),
        ("invents", "dequeue.*TypeError"),
        ("keeps for ever", "dequeue.*no packet leaves while"),
        ("raises", "enqueue.*KeyError"),
    ],
)
def test_every_sin_of_a_discipline_is_named(sin, text):
    with pytest.raises(sojourn.PluginError, match=text) as raised:
        queue_that(sin).run()
    assert "plug-in sinner" in str(raised.value)


def test_a_run_that_a_plugin_ends_leaves_nothing(folder, command):
    (folder / "clumsy.py").write_text(
        "import sojourn\n\n\n@sojourn.control('clumsier')\nclass Clumsier:\n    window = 2.0\n\n"
        "    def on_ack(self, now_ns):\n        raise KeyError(now_ns)\n\n"
        "    def on_congestion(self, signal):\n        pass\n"
    )
    before = {path.name for path in folder.iterdir()}
    words = ("run", "mine.toml", "--allow-plugins", "--plugin", "clumsy.py", "--set", "group.a.control=clumsier")
    ended = command(*words, "--page", "run.html", "--out", "made", "--packets")
    assert ended.code == 1
    assert "plug-in clumsier, on_ack, at 0." in ended.err
    assert {path.name for path in folder.iterdir()} - {"__pycache__"} == before


def test_what_cannot_be_a_plug_in_is_refused():
    class Nothing:
        pass

    with pytest.raises(sojourn.InputError, match="no method on_ack"):
        sojourn.control("nothing")(Nothing)
    with pytest.raises(sojourn.InputError, match="no method enqueue"):
        sojourn.discipline("nothing")(Nothing)

    class Taken:
        window = 1.0

        def on_ack(self, ack):
            pass

        on_congestion = on_ack

    with pytest.raises(sojourn.InputError, match="a built-in control has this name"):
        sojourn.control("cubic")(Taken)


def test_files_that_cannot_be_loaded_say_why(tmp_path):
    with pytest.raises(sojourn.InputError, match="No such file"):
        plugins.load(tmp_path / "none.py")
    with pytest.raises(sojourn.InputError, match="no file and no module"):
        plugins.load("no_such_module_at_all")
    broken = tmp_path / "broken.py"
    broken.write_text("import sojourn\n\n1 / 0\n")
    with pytest.raises(sojourn.InputError, match=r"broken.py:3: .*ZeroDivisionError"):
        plugins.load(broken)


def test_random_numbers_are_the_runs_own():
    @sojourn.control("lucky")
    class Lucky:
        def __init__(self, path, random):
            self.window = 4.0
            self.random = random

        def on_ack(self, ack):
            self.window = self.random.uniform(2.0, 20.0)

        def on_congestion(self, event):
            pass

    lab = scenario({"group.tcp.control": "lucky"})
    first, again, other = lab.run(seed=1), lab.run(seed=1), lab.run(seed=2)

    def drop(result):
        return {key: value for key, value in result.runs[0].items() if key != "wall_s"}

    assert drop(first) == drop(again)
    assert drop(first) != drop(other)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for file in HERE.glob("*.py"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "mine.toml").write_text(
        'duration = "2 s"\nplugins = ["newreno.py"]\n'
        'bottleneck = { rate = "10 Mbit/s" }\n'
        'group = [{ name = "a", control = "py-newreno", rtt = "40 ms" }]\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def test_a_scenario_alone_never_runs_code(folder, command):
    marker = folder / "ran"
    (folder / "newreno.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    refused = command("run", "mine.toml")
    assert refused.code == 2
    assert "it wants to run the code in" in refused.err
    assert "--allow-plugins" in refused.err
    assert not marker.exists()


def test_it_runs_where_it_is_allowed_or_listed(folder, command):
    assert command("run", "mine.toml", "--allow-plugins").code == 0
    (folder / "config" / "sojourn").mkdir(parents=True)
    (folder / "config" / "sojourn" / "config.toml").write_text(
        f"plugins = [{json.dumps(str(folder / 'newreno.py'))}]\n"
    )
    assert command("run", "mine.toml").code == 0


def test_a_plugin_can_be_taken_away_again(folder):
    plugins.load("newreno.py")
    plugins.allow()
    scenario = sojourn.Scenario.load("mine.toml", {"duration": "1 s"})
    before = scenario.run(runs=1)
    plugins.unload("py-newreno")
    assert "py-newreno" not in plugins.added()["controls"]
    with pytest.raises(sojourn.InputError, match="no plug-in is called 'py-newreno'"):
        plugins.unload("py-newreno")
    plugins.load("newreno.py")
    assert "py-newreno" in plugins.added()["controls"], "the file is run again"
    plugins.unload()
    assert scenario.run(runs=1).summary == before.summary, "what was read before still runs"
    plugins.unload()
    assert not any(plugins.added().values())
    with pytest.raises(sojourn.InputError, match="--allow-plugins"):
        sojourn.Scenario.load("mine.toml")


def test_only_what_runs_have_counts_as_used():
    @sojourn.control("tcp-of-mine")
    class Mine:
        window = 2.0

        def on_ack(self, newly_acked):
            pass

        def on_congestion(self, signal):
            pass

    def used(changes):
        return [f"{one.kind} {one.name}" for one in plug_ins_in(changes)]

    assert used({"group": [{"name": "tcp-of-mine", "control": {"kind": "newreno"}}], "level": "tcp-of-mine"}) == []
    assert used({"bottleneck.queue": "tcp-of-mine"}) == [], "a control is no queue"
    for tables in (
        {"group": [{"name": "one", "control": {"kind": "tcp-of-mine"}}]},
        {"group": [{"name": "one", "control": "tcp-of-mine"}]},
        {"group.one.control": "tcp-of-mine"},
        {"group.one.control": '{ kind = "tcp-of-mine" }'},
        {"group.one.control.kind": "tcp-of-mine"},
        {"change": [{"at": "1 s", "group.one.control": "tcp-of-mine"}]},
    ):
        assert used(tables) == ["congestion control tcp-of-mine"], tables


@pytest.mark.long
def test_numbers_of_a_changed_plugin_are_made_again(folder):
    (folder / "sweep.toml").write_text(
        'base = "mine.toml"\nseeds = 1\n[axes]\n"bottleneck.queue.kind" = ["codel", "py-codel"]\n'
    )

    def swept():
        # A process knows a plug-in by the file that it loaded, so that each sweep is one of its own.
        words = ("sweep", "sweep.toml", "--allow-plugins", "--plugin", "codel.py", "--out", "data")
        done = subprocess.run([sys.executable, "-m", "sojourn", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert "made again" not in swept()
    assert "made again" not in swept()
    file = folder / "codel.py"
    file.write_text(file.read_text() + "# another one\n")
    assert "were made before codel.py changed and are made again" in swept()
    assert "made again" not in swept()


def test_a_sweep_in_two_processes_gives_what_one_gives(folder, command):
    (folder / "sweep.toml").write_text(
        'base = "mine.toml"\nseeds = 2\n[axes]\n"bottleneck.queue.kind" = ["codel", "py-codel"]\n'
    )
    pytest.importorskip("cryptography", reason="the extra `cluster` is not installed")
    common = ("sweep", "sweep.toml", "--allow-plugins", "--plugin", "codel.py", "--out")
    assert command(*common, "one", "--jobs", "1").code == 0
    done = command(*common, "two", "--cluster", "local:2")
    assert done.code == 0, done.err
    tables = [sojourn.Dataset.open(name).table("runs").to_pylist() for name in ("one", "two")]
    assert tables[0] == tables[1]


@pytest.mark.parametrize("kind", ["control", "queue"])
def test_what_new_makes_keeps_the_laws(folder, command, kind):
    made = command("new", kind, f"my-{kind}")
    assert made.code == 0, made.err
    tried = command("try", f"my_{kind}.py")
    assert tried.code == 0, tried.out + tried.err
    assert "laws hold" in tried.out
    again = command("new", kind, f"my-{kind}")
    assert again.code == 2
    assert "it exists" in again.err


def test_try_names_the_law_that_is_broken(folder, command):
    (folder / "rude.py").write_text(
        "import sojourn\n\n\n@sojourn.control('rude')\nclass Rude:\n    window = 1000.0\n\n"
        "    def on_ack(self, now_ns):\n        self.window = 2.0 if now_ns < 10_000_000_000 else 50.0\n\n"
        "    def on_congestion(self, event):\n        pass\n"
    )
    tried = command("try", "rude.py")
    assert tried.code == 1
    assert "BROKEN  The time of the start changes nothing" in tried.out
    assert "low priority was not judged" in tried.out


PLAIN_NEWRENO = """import math

import sojourn


@sojourn.control("plain", low_priority=True)
class Plain:
    def __init__(self, path):
        self.window, self.ssthresh = path.initial_window, math.inf

    def on_ack(self, newly_acked, in_recovery, window_limited):
        if window_limited and not in_recovery:
            self.window += newly_acked if self.window < self.ssthresh else newly_acked / self.window

    def on_congestion(self, signal, repeated):
        if not repeated:
            self.ssthresh = max(self.window / 2, 2.0)
        self.window = 1.0 if signal == "timeout" else self.ssthresh
"""


@pytest.mark.long
def test_newreno_that_declares_low_priority_loses_it_under_each_queue(folder, command):
    (folder / "plain.py").write_text(PLAIN_NEWRENO)
    tried = command("try", "plain.py", "--plot", "window.png", "--page", "plain.html")
    assert tried.code == 1
    assert "low priority lost under droptail, red, codel, pie, fq_codel, cake. All 6 laws hold." in tried.out
    assert tried.out.count("LOST    low priority under ") == 6
    assert "NewReno joins at 20 s" in tried.out
    assert (folder / "window.png").stat().st_size > 1000
    page = (folder / "plain.html").read_text()
    assert "Does it keep its low priority?" in page
    assert page.count("beside NewReno, at most 10 %") == 6


@pytest.mark.long
def test_ledbat_keeps_its_low_priority_under_droptail_alone(folder, command):
    verdicts = {one.queue: one for one in trial.low_priority("ledbat")}
    assert [queue for queue, one in verdicts.items() if one.kept] == ["droptail"]
    assert verdicts["droptail"].share < 0.05
    everywhere = command("try", "ledbat", "--json")
    assert everywhere.code == 1
    (document,) = json.loads(everywhere.out)
    assert {one["queue"]: one["kept"] for one in document["low_priority"]} == {
        queue: one.kept for queue, one in verdicts.items()
    }
    assert command("try", "ledbat", "--queue", "droptail").code == 0
    assert command("try", "ledbat", "--queue", "droptail", "--low-priority-bound", "0.1").code == 1


def test_what_does_not_declare_low_priority_is_not_judged(command):
    assert trial.low_priority("newreno") == trial.low_priority("codel") == []
    claims = {control["name"] for control in sojourn.catalogue()["controls"] if control["low_priority"]}
    assert claims >= {"ledbat", "ledbatpp", "nice", "tcp_lp"}
    assert not claims & {"newreno", "cubic", "bbr"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cubic", "--queue", "droptail"], "cubic does not declare low priority, so --queue has nothing to judge"),
        (["codel", "--low-priority-bound", "5"], "codel does not declare low priority"),
        (["ledbat", "--queue", "droptial"], "'droptial'"),
        (["ledbat", "--queue", ","], "at least one queue"),
        (["ledbat", "--low-priority-bound", "55"], "55 % is no bound of low priority"),
        (["ledbat", "--low-priority-bound", "nan"], "nan % is no bound of low priority"),
    ],
)
def test_terms_that_cannot_be_judged_are_refused(command, words, said):
    tried = command("try", *words)
    assert tried.code == 2
    assert said in tried.err
    assert tried.err.count("\n") == 1


def test_a_discipline_goes_through_the_situations_of_rfc_7928():
    rows = list(trial.compare("codel"))
    assert {row.beside.split()[0] for row in rows} == {"5.1", "5.2", "5.4", "5.5", "6.2", "7.2", "8.2"}
    queue = {(row.subject, row.beside): row.queue_ms_mean for row in rows}
    assert all(queue["codel", beside] < queue["droptail", beside] for _, beside in queue)


def test_the_guides_examples_run_and_keep_the_laws():
    guide = Path(__file__).parent.parent / "docs" / "guide" / "your-own.md"
    blocks = [block.partition("```")[0] for block in guide.read_text().split("```python\n")[1:]]
    for block in blocks:
        exec(compile(block, str(guide), "exec"), {})
    assert not [law for name in ("mine", "mine-too", "mine-three") for law in trial.laws(name) if not law.holds]


def test_what_was_resolved_comes_back_with_its_plug_ins(folder):
    plugins.load("newreno.py")
    lab = sojourn.Scenario(sojourn._native.load((folder / "mine.toml").read_text()))
    assert 'plugins = ["newreno.py"]' in lab.to_toml()
