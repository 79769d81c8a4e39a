"""Other people's transport stacks: what `sojourn try --stack` says of them, in Rust and in C, and of what is none."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from benchmarks import sockets

import sojourn
from sojourn import fairness, qlog, trial
from sojourn.data.provenance import Provenance
from sojourn.sweeps.plan import Plan
from sojourn.trial import stack as stacks
from sojourn.trial import suite as suites
from sojourn.trial import workflow
from sojourn.trial.laws import Law, droptail, lab
from sojourn.trial.priority import Priority
from sojourn.worlds import stacks as programs
from sojourn.worlds.stacks import StackError

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "target" / "stacks"
C = ROOT / "crates" / "sojourn-endpoint-c"
TOY = C / "examples" / "stop_and_wait.c"


def run(*words: object, folder: Path = ROOT) -> str:
    """Run a program that has to succeed."""
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Build the stack in C, with some of its text replaced."""
    run("cargo", "build", "--release", "--quiet", "--locked", "--package", "sojourn-endpoint-c")
    folder = tmp_path_factory.mktemp("toy")

    def built(old: str = "", new: str = "") -> str:
        text = TOY.read_text(encoding="utf-8")
        assert text.count(old) == 1 or not old
        source = folder / f"toy{len(list(folder.glob('*.c')))}.c"
        source.write_text(text.replace(old, new) if old else text, encoding="utf-8")
        library = ROOT / "target" / "release" / "libsojourn_endpoint_c.a"
        flags = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-I", C / "include")
        run("cc", *flags, source, "-o", source.with_suffix(""), library, "-lpthread", "-ldl", "-lm")
        return str(source.with_suffix(""))

    return built


BOUNDED = pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the memory of another process")
# What a maintainer finds: the laws that do not hold, each with the reason in docs/validation/stacks.md.
TRIED = [
    ("quinn", "cubic", set()),
    ("quinn", "sojourn:newreno", set()),
    # It loses a quarter of its packets under RED, CoDel and PIE.
    ("quinn", "bbr", {"little loss"}),
    ("quiche", "cubic", set()),
    ("quiche", "reno", set()),
    ("quiche", "bbr", set()),
    ("s2n-quic", "cubic", set()),
    ("s2n-quic", "bbr", set()),
    # It answers losses only where they are more than some in a hundred, so CoDel's few drops do not hold it back.
    ("picoquic", "cubic", {"little loss"}),
    ("picoquic", "newreno", set()),
    ("picoquic", "bbr", set()),
    ("sctp", "sctp", set()),
    # Media are not reliable, and the rate that it estimates overshoots the link again and again.
    ("str0m", "gcc", {"over an empty link", "through loss", "uses the link", "little loss"}),
    # Its congestion window does not bound what is in flight.
    ("smoltcp", "cubic", {"through loss", "uses the link", "little loss", "Equal"}),
]


@pytest.mark.long
@pytest.mark.parametrize(("stack", "control", "broken"), TRIED)
def test_a_stack_is_tried(stack, control, broken, command, tmp_path):
    missing = ROOT / "stacks" / stack / "can-build"
    if missing.exists() and (said := subprocess.run([missing], capture_output=True, text=True, check=False)).returncode:
        pytest.skip(said.stdout.strip())
    (own,) = (one for one in programs.in_sources() if one.name == stack)
    own.build()
    program = str(TARGET / "release" / f"sojourn-stack-{stack}")
    junit, page, summary = (tmp_path / f"verdict.{kind}" for kind in ("xml", "html", "md"))
    files = ("--junit", junit, "--page", page, "--markdown", summary)
    tried = command("try", control, "--stack", program, "--json", *files)
    (document,) = json.loads(tried.out)
    found = {law["name"] for law in document["laws"] if not law["holds"]}
    assert {part for part in broken if any(part in name for name in found)} == broken
    assert len(found) == len(broken), document["laws"]
    assert tried.code == (1 if broken else 0)
    assert len([row for row in document["rows"] if row["subject"] == f"{stack} {control}"]) == 18
    suite = ET.parse(junit).getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("6", str(len(broken)))
    assert f"## {stack} {control} (stack)" in summary.read_text(encoding="utf-8")
    assert "Its share beside other controls" in page.read_text(encoding="utf-8")
    wrong = trial.Stack(program, "nonesuch")
    with pytest.raises(StackError, match=r'group\.a\.control: found "nonesuch"; allowed: .*' + control):
        wrong.run(lab(droptail(50), wrong.groups()))


@pytest.mark.long
def test_a_connection_that_is_lost_is_an_error_and_not_a_goodput_of_nothing():
    """The losses at the end of slow start leave quinn's receiver more holes than it keeps."""
    run("cargo", "build", "--quiet", "--locked", "--target-dir", TARGET, folder=ROOT / "stacks" / "quinn")
    link = {"rate": "200 Mbit/s", "delay": "80 ms", "queue": droptail(3000)}
    stack = trial.Stack(str(TARGET / "debug" / "sojourn-stack-quinn"), "cubic")
    path = lab(None, stack.groups(), bottleneck=link, duration="5 s", warmup="0 s")
    with pytest.raises(StackError, match=r"the connection is lost: .*too many gaps in stream buffer"):
        stack.run(path)


RUST = ROOT / "crates" / "sojourn-endpoint"
COUNTER = "use std::sync::atomic::{AtomicU64, Ordering::Relaxed}; static NEXT: AtomicU64 = AtomicU64::new(0);"
# What is changed in the sources of the toy in Rust, the laws that it then breaks, and what the first of them says.
BROKEN = [
    ({}, set(), ""),
    (
        {"window: 10.0": f"window: {{ {COUNTER} 10.0 + NEXT.fetch_add(1, Relaxed) as f64 }}"},
        {"same_seed"},
        r"toy breaks the law .* \(same-seed\): two runs of 30 s with one seed: \S+ is \S+ and \S+; allowed: the same",
    ),
    (
        {"due_ns: 0": "due_ns: 600_000_000"},
        {"arithmetic"},
        r"flow 0: all 1000000 B had arrived at 1\.[45]\d* s; allowed: after 0\.80 s, by 1\.37 s",
    ),
    (
        {
            "2 * NUMBER_BYTES + data": "2 * NUMBER_BYTES + data / 2",
            "insert(segment, bytes": "insert(segment, 2 * bytes",
        },
        {"arithmetic"},
        r"flow 0: all 1000000 B had arrived at 0\.[4567]\d* s; allowed: after 0\.80 s",
    ),
    (
        {"self.flying.keys().next_back()": "self.flying.keys().next_back().filter(|_| false)"},
        # It waits for nothing where the last packets of a window are lost.
        {"faults", "lone_loss", "equal_shares"},
        r"3 s without a link: connection 0 at \d\.\d+ s: both its ends wait for nothing; \d+ of 300000 bytes",
    ),
    (
        {"self.window.floor()": "self.window.floor().min(26.0)"},
        {"lone_use"},
        r"flow 0 from 5 to 60 s: utilization 7\d\.\d %; allowed: at least 80\.0 %",
    ),
    (
        {"(self.window / 2.0)": "(self.window / 1.0)"},
        {"lone_loss", "equal_shares"},
        r"flow 0 from 5 to 30 s: dropped .*\d % under red.*; allowed: at most 5\.0 %",
    ),
    (
        {"Sender::new(asked.bytes)": "Sender::new(if asked.number == 3 { Some(0) } else { asked.bytes })"},
        {"equal_shares"},
        r"connection 3 at 0\.\d+ s: both its ends wait for nothing; 0 bytes of a transfer without end have arrived",
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(("changes", "broken", "said"), BROKEN)
def test_a_maintainer_gets_a_test_of_each_law(changes, broken, said, tmp_path):
    """The toy as a crate of its own, outside the tree, under `cargo test`."""
    folder = tmp_path / "toy"
    shutil.copytree(RUST / "examples" / "toy", folder)
    texts = {file: file.read_text(encoding="utf-8") for file in (folder / "src/lib.rs", folder / "tests/laws.rs")}
    for old, new in changes.items():
        assert sum(text.count(old) for text in texts.values()) == 1, old
        texts = {file: text.replace(old, new) for file, text in texts.items()}
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8")
    # Cargo tells packages in one target folder apart by name and version, not by their folder; tests run side by side.
    version = f"0.0.{zlib.crc32(repr(changes).encode())}"
    package = f'[package]\nname = "toy-stack"\nversion = "{version}"\nedition = "2024"\n[profile.dev]\nopt-level = 1\n'
    needed = f"[dev-dependencies]\nsojourn-endpoint = {{ path = '{RUST}' }}\n"
    (folder / "Cargo.toml").write_text(package + needed, encoding="utf-8")
    # Cargo takes what the lock file of the tree names, and nothing from a network.
    shutil.copy(ROOT / "Cargo.lock", folder)
    words = ("cargo", "test", "--quiet", "--offline", "--target-dir", ROOT / "target" / "examples", "--test", "laws")
    done = subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, text=True, check=False)
    found = set(re.findall(r"^    (\w+)$", done.stdout, re.M))
    assert (found, done.returncode != 0) == (broken, bool(broken)), done.stdout + done.stderr
    assert re.search(said, done.stdout), done.stdout


OWN_CONTROL = """
use sojourn_endpoint::laws::Subject;
use sojourn_stack_quinn::quinn_proto::congestion::{Controller, ControllerFactory};
use std::{any::Any, sync::Arc, time::Instant};

#[derive(Clone, Debug)]
struct Fixed(u64);

impl Controller for Fixed {
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}
    fn on_mtu_update(&mut self, _: u16) {}
    fn window(&self) -> u64 { self.0 }
    fn clone_box(&self) -> Box<dyn Controller> { Box::new(self.clone()) }
    fn initial_window(&self) -> u64 { self.0 }
    fn into_any(self: Box<Self>) -> Box<dyn Any> { self }
}

impl ControllerFactory for Fixed {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> { Box::new((*self).clone()) }
}

sojourn_endpoint::laws! {
    Subject::new("mine", &|asked| sojourn_stack_quinn::connection(asked, Arc::new(Fixed(WINDOW))))
}
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("window", "broken"),
    [
        # 31 and 101 packets; the path holds 33, and with its buffer 67.
        ("46_000", set()),
        ("150_000", {"lone_loss"}),
    ],
)
def test_a_control_of_ones_own_in_quinn_has_the_laws(window, broken, tmp_path):
    package = '[package]\nname = "own-control"\nversion = "0.0.0"\nedition = "2024"\n[profile.dev]\nopt-level = 1\n'
    needed = "".join(
        f"{name} = {{ path = '{folder}' }}\n"
        for name, folder in (("sojourn-endpoint", RUST), ("sojourn-stack-quinn", ROOT / "stacks" / "quinn"))
    )
    (tmp_path / "Cargo.toml").write_text(f"{package}[dev-dependencies]\n{needed}", encoding="utf-8")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.rs").write_text("", encoding="utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "laws.rs").write_text(OWN_CONTROL.replace("WINDOW", window), encoding="utf-8")
    shutil.copy(ROOT / "stacks" / "quinn" / "Cargo.lock", tmp_path)
    words = ("cargo", "test", "--quiet", "--offline", "--target-dir", TARGET, "--test", "laws")
    done = subprocess.run(list(map(str, words)), cwd=tmp_path, capture_output=True, text=True, check=False)
    found = set(re.findall(r"^    (\w+)$", done.stdout, re.M))
    assert (found >= broken, bool(found) == bool(broken)) == (True, True), done.stdout + done.stderr


@pytest.mark.long
def test_a_stack_in_c_is_tried(toy, command):
    tried = command("try", "--stack", toy(), "--low-priority-bound", "50", "--queue", "fq_codel", "--json")
    (document,) = json.loads(tried.out)
    broken = {law["name"] for law in document["laws"] if not law["holds"]}
    # Stop and wait has one packet in a round trip of 40 ms.
    assert broken == {
        "A transfer over an empty link takes as long as arithmetic says",
        "A lone connection uses the link",
    }
    assert [one["queue"] for one in document["low_priority"] if one["kept"]] == ["fq_codel"]
    assert tried.code == 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return bytes;", "return room_bytes + 1;", "transmit returned 65508 bytes; allowed: 0 to 65507"),
        ("->due_ns;\n}", "->due_ns * 0;\n}", "it does not come to rest: over 100000 calls at one instant"),
        ("*ecn = SOJOURN_ECT0", "*ecn = 4", "transmit set ecn to 4; allowed: 0 to 3"),
        (
            "    return NULL;",
            "    receiver->next_wake = NULL;\n    return NULL;",
            "connect left receiver->next_wake NULL",
        ),
        ("    return NULL;", '    return "there is no such weather";', "there is no such weather"),
    ],
)
def test_what_no_stack_in_c_may_do_is_a_sentence(toy, old, new, said):
    stack = trial.Stack(toy(old, new))
    with pytest.raises(StackError, match=re.escape(said)):
        stack.run(lab(droptail(50), stack.groups()))


def program(folder: Path, text: str) -> str:
    """Write a program that is no stack."""
    path = folder / "program"
    path.write_text(f"#!{sys.executable}\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise SystemExit('error: the moon is full')", "the moon is full"),
        ("raise SystemExit(3)", "it ended with code 3 without a word"),
        ("print('once upon a time')", "it printed no laws"),
        ("print('[]')", "it printed no laws"),
        ("import time; time.sleep(60)", "it ran for 0 s and was stopped"),
        pytest.param("print('x' * 2000)", "it printed more than 0 MiB; a record is far less", id="prints"),
        pytest.param("[bytearray(1 << 27) for _ in range(1 << 20)]", "MemoryError", id="allocates", marks=BOUNDED),
    ],
)
def test_what_is_no_stack_is_a_sentence_and_not_compared(text, said, command, tmp_path, monkeypatch):
    monkeypatch.setattr(stacks, "LONGEST_S", 0.4 if "sleep" in text else 60.0)
    monkeypatch.setattr(programs, "MOST_PRINTED_BYTES", 1000)
    monkeypatch.setattr(programs, "MOST_MEMORY_BYTES", 1 << 30)
    tried = command("try", "--stack", program(tmp_path, text), "--json", "--low-priority-bound", "10")
    (document,) = json.loads(tried.out)
    judged, runs = document["laws"]
    assert said in judged["found"]
    assert runs["found"] == ("it printed no record; allowed: the record as JSON" if "no laws" in said else said)
    assert runs["name"] == "It runs beside built-in controls"
    assert (document["rows"], tried.code, tried.err.count("Traceback")) == ([], 1, 0)


JUDGES = """
import json, sys
laws = [{"name": "one", "says": "It runs"}, {"name": "two", "says": "It ends"}]
print(json.dumps(laws if sys.argv[1:] == ["--laws"] else VERDICT))
"""


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (
            '{"holds": sys.argv[2] == "one", "found": " ".join(sys.argv[1:])}',
            {"--law one slow": True, "--law two slow": False},
        ),
        (
            '{"holds": 1, "found": ""}',
            {f"--law {law}: it printed no verdict; allowed: holds and found, as JSON": False for law in ("one", "two")},
        ),
        ("sys.exit('error: no such law')", {"no such law": False}),
    ],
)
def test_the_verdicts_are_those_of_the_program(verdict, said, tmp_path):
    stack = trial.Stack(program(tmp_path, JUDGES.replace("VERDICT", verdict)), "slow")
    found = stacks.laws(stack, lambda _: None)
    assert [law.name for law in found] == ["It runs", "It ends"]
    assert {law.found: law.holds for law in found} == said


@pytest.mark.parametrize("laws", ["[]", "{}", "[{'name': 'one'}]", "[3]", "3"])
def test_a_program_without_laws_cannot_be_judged(laws, tmp_path):
    (law,) = stacks.laws(trial.Stack(program(tmp_path, f"import json; print(json.dumps({laws}))")), lambda _: None)
    assert (law.name, law.holds) == ("It can be judged by the laws of stacks", False)
    assert law.found == "--laws: it printed no laws; allowed: a list with name and says of each, as JSON"


def test_a_stack_of_the_sources_that_is_not_built_says_how(command, monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "_BUILT", tmp_path)
    tried = command("try", "--stack", "smoltcp")
    assert (tried.code, "allowed: `sojourn stacks build smoltcp` first" in tried.err) == (2, True), tried.err
    listed = json.loads(command("list", "stacks", "--json").out)
    assert {row["name"]: row["built"] for row in listed}["smoltcp"] == "sojourn stacks build smoltcp"
    built = command("stacks", "build", "smoltcq")
    assert (built.code, "did you mean" in built.err) == (2, True), built.err


def test_the_controls_that_are_listed_are_those_of_the_program(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "_BUILT", tmp_path)
    (smoltcp,) = (stack for stack in programs.in_sources() if stack.name == "smoltcp")
    assert smoltcp.row["controls"] == ""
    (tmp_path / "release").mkdir()
    told = program(tmp_path, "import json, sys; print(json.dumps(sys.argv[1:] + ['reno']))")
    Path(told).rename(tmp_path / "release" / "sojourn-stack-smoltcp")
    assert smoltcp.row["controls"] == "--controls, reno"


def test_a_stack_is_asked_for_its_controls_and_refuses_others(toy, path, command):
    assert json.loads(run(toy(), "--controls")) == ["stop-and-wait"]
    done = command("run", path, "--set", "group.mine.control=go-back-n")
    assert (done.code, done.err.count("error:")) == (1, 1), done.err
    assert 'group.mine.control: found "go-back-n"; allowed: stop-and-wait' in done.err


def test_a_source_that_pip_brings_is_the_one_that_is_meant(monkeypatch, tmp_path):
    (picoquic,) = (stack for stack in programs.in_sources() if stack.name == "picoquic")

    def brings(words, **_):
        folder = words[words.index("--dest") + 1]
        (Path(folder) / "aiopquic-0.6.1.tar.gz").write_bytes(b"something else")
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr(programs.subprocess, "run", brings)
    monkeypatch.setattr(programs.Own, "missing", None)
    monkeypatch.delenv(programs.SOURCE, raising=False)
    with pytest.raises(programs.WorldError, match=r"has the SHA-256 sum .*; expected is "):
        picoquic.build()


WITH_STACK = """
duration = "5 s"
bottleneck = {{ rate = "8 Mbit/s", queue = "fq_codel" }}
[[group]]
name = "mine"
stack = "{}"
control = "stop-and-wait"
flows = 2
rtt = "40 ms"
start = "1 s"
traffic = {{ kind = "bulk", size = "20 kB" }}
[[group]]
name = "tcp"
control = "cubic"
rtt = "40 ms"
"""


@pytest.fixture
def path(toy, tmp_path):
    """A scenario with two connections of the stack in C beside a built-in flow."""
    file = tmp_path / "mine.toml"
    file.write_text(WITH_STACK.format(toy()), encoding="utf-8")
    return file


def test_a_scenario_runs_with_the_stack_that_it_names(path, command, tmp_path):
    page = tmp_path / "page.html"
    done = command("run", path, "--runs", "2", "--jobs", "2", "--json", "--page", page)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    for run_ in document["runs"]:
        assert list(run_["groups"]) == ["mine", "tcp"]
        mine = run_["groups"]["mine"]
        assert [flow["delivered_bytes"] for flow in run_["flows"][:2]] == [20_000, 20_000]
        assert mine["fct_ms"]["count"] == 2
        assert 0 < mine["share"] < 0.1
    assert [run_["seed"] for run_ in document["runs"]] == [1, 2]
    assert "mine" in page.read_text(encoding="utf-8")
    assert "mine" in command("run", path).out
    # The toy writes no log; the simulation's own sender has one.
    assert command("run", path, "--qlog", tmp_path / "logs").code == 0
    assert [file.name for file in (tmp_path / "logs").iterdir()] == ["tcp-0-1.sqlog"]
    assert list(qlog.read(tmp_path / "logs" / "tcp-0-1.sqlog").of())
    compared = command("compare", path, "--queue", "droptail,codel", "--runs", "1", "--json")
    assert compared.code == 0, compared.err
    swept = sojourn.sweep(path, axes={"bottleneck.rate": ["4 Mbit/s", "8 Mbit/s"]}, seeds=1, jobs=1)
    assert len(swept.table("runs")) == 2


def test_a_stack_that_wants_all_counts_in_the_fair_shares_of_others(path):
    mine, tcp = sojourn.Scenario.load(path).to_dict()["group"]
    del mine["traffic"], mine["start"]
    tables = sojourn.Scenario.load(path).to_dict() | {"group": [{**mine, "flows": 1}, tcp]}
    (tcp,) = fairness.divisions(sojourn.scenario(tables).run())
    # Half of 8 Mbit/s, less the headers of IP and TCP; stop and wait leaves it more.
    assert tcp.fair_mbps == pytest.approx(4 * 1448 / 1500, rel=0.01)
    assert tcp.goodput_mbps > 1.5 * tcp.fair_mbps


def test_a_run_with_a_stack_keeps_what_other_runs_keep(path, tmp_path):
    kept = sojourn.Scenario.load(path).run(runs=2, packets=True, probes=True, transfers=True, delays=True, bin_s=0.5)
    queue, flows, packets = (kept.table(name).to_pylist() for name in ("queue", "flows", "packets"))
    for number, run_ in enumerate(kept.runs):
        seed, (mine, _, tcp) = run_["seed"], run_["flows"]
        assert sum(row["departures"] for row in queue if row["seed"] == seed and row["link"] == "bottleneck") == sum(
            row["event"] == "departure" for row in packets if row["seed"] == seed
        )
        delivered = {(row["group"], row["index"]): 0 for row in flows if row["seed"] == seed}
        for row in flows:
            if row["seed"] == seed:
                delivered[row["group"], row["index"]] += row["delivered_bytes"]
        assert delivered["mine", 0] == mine["delivered_bytes"] == 20_000, number
        assert delivered["tcp", 0] == tcp["delivered_bytes"]
    assert {row["group"] for row in kept.table("transfers").to_pylist()} == {"mine"}
    assert {row["group"] for row in kept.table("flow_probes").to_pylist()} == {"tcp"}
    assert kept.runs[0]["groups"]["mine"]["delay_ms"]["mean"] > 20.0
    # The record is that of a run which keeps nothing else.
    bare = sojourn.Scenario.load(path).run(runs=2, series=False)
    assert [one["flows"] for one in bare.runs] == [one["flows"] for one in kept.runs]
    kept.save(tmp_path / "out", pcap=True)
    assert len(list((tmp_path / "out").glob("*.pcapng"))) == 2


def test_an_application_of_a_stack_may_pause(path, toy):
    mine, tcp = sojourn.Scenario.load(path).to_dict()["group"]
    mine |= {"traffic": {"kind": "messages", "size": "2392 B", "every": "1 s"}, "flows": 1}

    def record(stack: str) -> dict[str, object]:
        tables = sojourn.Scenario.load(path).to_dict() | {"group": [{**mine, "stack": stack}, tcp]}
        return sojourn.scenario(tables).run(series=False).runs[0]

    found = record(mine["stack"])
    # At 1, 2, 3 and 4 s, two datagrams each.
    assert (found["groups"]["mine"]["fct_ms"]["count"], found["flows"][0]["delivered_bytes"]) == (4, 4 * 2392)
    with pytest.raises(
        StackError, match=r"^toy\d+: connection 0 at 2\.000000 s: .* 2392 bytes more, and its write is NULL"
    ):
        record(toy("free, 28, sender_write};", "free, 28, NULL};\n    (void)sender_write;"))


def test_a_sweep_notices_a_stack_that_was_built_anew(tmp_path):
    one, two = (program(folder, "pass") for folder in (tmp_path / "one", tmp_path / "two") if not folder.mkdir())
    base = tmp_path / "mine.toml"
    base.write_text(WITH_STACK.format(one), encoding="utf-8")

    def provenance(stacks_: list[str]) -> Provenance:
        return Plan.of({"base": str(base), "axes": {"group.mine.stack": stacks_}}).provenance()

    old = provenance([one])
    assert list(old.files) == ["program"]
    assert provenance([one]).changed_since(old) == []
    # Both programs have the same name.
    assert provenance([one, two]).changed_since(old) == ["program (2)"]
    program(tmp_path / "one", "'built anew'")
    assert provenance([one]).changed_since(old) == ["program"]
    # What is not there is said by the run.
    assert provenance(["nonesuch"]).files == provenance([one]).files


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--world", "fluid"], "group.mine.stack: the world 'fluid' runs no stacks; allowed: --world sim"),
        (["--set", "group.mine.stack=nonesuch"], "group.mine.stack: 'nonesuch' is not there, or not executable"),
        (["--set", "group.tcp.stack=quinn"], 'group.tcp.stack: found "quinn" beside'),
        (["--set", "group.mine.traffic=web"], 'group.mine.traffic: found "web" with a stack; allowed: bulk, messages'),
        (
            ["--set", "group.mine.transport=linux"],
            "group.mine.transport: found transport beside stack; allowed: one of",
        ),
    ],
)
def test_what_cannot_be_had_with_a_stack_is_said_before_it_runs(words, said, path, command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    done = command("run", path, *words)
    assert (done.code, said in done.err, done.err.count("error:")) == (2, True, 1), done.err


@pytest.mark.long
@pytest.mark.real_time
def test_the_same_ends_send_over_real_sockets(tmp_path):
    run("cargo", "build", "--quiet", "--locked", "--target-dir", TARGET, folder=ROOT / "stacks" / "quinn")
    quinn = str(TARGET / "debug" / "sojourn-stack-quinn")
    with socket.socket(type=socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        at = f"127.0.0.1:{free.getsockname()[1]}"
    notes, delivered, tries = tmp_path / "notes", 0, 0
    with (
        subprocess.Popen([quinn, "--receive", at, str(notes), "newreno"]) as receiver,
        subprocess.Popen([quinn, "--send", at, "newreno"]) as sender,
    ):
        while delivered < 1_000_000 and tries < 600 and receiver.poll() is None and sender.poll() is None:
            time.sleep(0.1)
            tries += 1
            lines = notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []
            delivered = int(lines[-2].split()[1]) if len(lines) > 1 else 0
        receiver.kill()
        sender.kill()
    assert delivered >= 1_000_000
    for words in (["--send", "nowhere"], ["--send", at, "nonesuch"], ["--receive", at, str(tmp_path)]):
        done = subprocess.run([quinn, *words], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("error: ")) == (1, 1), words


def test_sockets_agree_within_what_was_said_before():
    notes = "4.9 7\n5.0 1000000\n6.0 1500000\n29.0 31000000\n29.1 1\n"
    assert sockets.goodput(notes) == 10.0
    simulated = {"queue_ms": 20.0, "goodput_mbps": 10.0}
    for changed, agree in (
        ({"queue_ms": 22.9}, True),
        ({"queue_ms": 23.1}, False),
        ({"queue_ms": 16.9}, False),
        ({"goodput_mbps": 10.4}, True),
        ({"goodput_mbps": 9.4}, False),
    ):
        assert sockets.agrees({"simulated": [simulated], "sockets": [{**simulated, **changed}]}) is agree, changed
    short = {"queue_ms": 1.0, "goodput_mbps": 10.0}
    # A packet's serialization time is more than 15 % of it.
    for queue_ms, agree in ((1.5, True), (1.7, False)):
        assert sockets.agrees({"simulated": [short], "sockets": [{**short, "queue_ms": queue_ms}]}) is agree


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to try"),
        (["--stack", "/nowhere/at-all"], "'/nowhere/at-all' is not there, or not executable"),
        (["--stack", sys.executable, "--plot", "window.png"], "a stack does not say its own"),
        (["--stack", sys.executable, "--low-priority-bound", "70"], "70 % is no bound of low priority"),
    ],
)
def test_a_stack_that_cannot_be_tried_is_refused(words, said, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tried = command("try", *words)
    assert (tried.code, said in tried.err, tried.err.count("\n")) == (2, True, 1), tried.err


@pytest.mark.long
@pytest.mark.parametrize(
    ("control", "suite", "failed"),
    [
        ("newreno", "newreno", 0),
        ("cubic", "cubic", 0),
        ("bbr3", "bbr", 0),
        ("ledbatpp", "ledbatpp", 0),
        # It does not look for a classic AQM unless asked to.
        ("prague", "prague", 1),
        # What one is, another is not.
        ("cubic", "newreno", 1),
        ("newreno", "cubic", 3),
        ("newreno", "bbr", 5),
        ("newreno", "ledbatpp", 6),
        ("ledbat", "ledbatpp", 5),
        ("cubic", "prague", 3),
        ("dctcp", "prague", 6),
    ],
)
def test_a_control_passes_the_suite_of_its_name_alone(control, suite, failed, command):
    tried = command("try", control, "--suite", suite, "--json")
    (document,) = json.loads(tried.out)
    found = [law for law in document["laws"] if not law["holds"]]
    assert (len(found), tried.code) == (failed, 1 if failed else 0), found


@pytest.mark.long
@pytest.mark.parametrize(
    ("suite", "changed", "broken"),
    [
        # The transport of the cases has the preset of the module.
        ("prague", {"preset": "draft"}, set()),
        ("prague", {"virtual_rtt": "0 s"}, {"5 and 25 ms", "10 and 40 ms"}),
        ("prague", {"gain": 1.0}, {"a queue of the order of 1 ms"}),
        ("ledbatpp", {"target": "100 ms"}, {"at its target", "the first slow start", "GAIN 1/6"}),
        ("ledbatpp", {"slowdowns": False}, {"slowdowns leave", "a latecomer"}),
        ("ledbatpp", {"slowdown_interval": 2.0}, {"slowdowns leave", "takes the link again", "GAIN 1/6"}),
        ("ledbatpp", {"decrease": 0.0}, {"at its target", "gives way"}),
        ("ledbatpp", {"gain_divisor": 1}, {"the first slow start", "more slowly than NewReno", "GAIN 1/6"}),
    ],
)
def test_a_case_breaks_where_its_rule_is_taken_away(suite, changed, broken):
    cases = suites.load(suite).cases
    kept, lost = (
        {case.name for case in cases if not case.judge(control).holds}
        for control in (suite, {"kind": suite, **changed})
    )
    assert {part for part in broken if any(part in name for name in lost - kept)} == broken
    assert len(lost - kept) == len(broken), lost


@pytest.mark.long
def test_prague_that_looks_for_a_classic_aqm_leaves_newreno_its_share_and_takes_pi2_for_one():
    cases = suites.load("prague").cases
    failed = [case.name for case in cases if not case.judge({"kind": "prague", "classic_fallback": True}).holds]
    assert failed == [case.name for case in cases if "two marks in a round trip" in case.name]


SUITE = """
title = "mine"
path = { duration = "2 s", warmup = "0 s", bottleneck = { rate = "10 Mbit/s" } }
[[case]]
name = "It sends"
check = [{ measure = "groups.a.goodput_mbps", at_least = 1.0 }]
[[case]]
name = "It is not there"
path = { rtt = "10 ms" }
check = [{ measure = "groups.nobody.goodput_mbps", at_least = 0.0 }]
"""
COMPANY = """
[[case]]
name = "In company"
path = { bottleneck = { rate = "10 Mbit/s", queue = "dualpi2" } }
group = { flows = 2, start = ["0 s", "1 s"], ecn = "accurate" }
beside = [{ name = "other", control = "cubic", rtt = "20 ms", ecn = true }]
check = [
    { measure = "flows.1.goodput_mbps / groups.other.goodput_mbps", at_least = 0.01 },
    { measure = "flows.3.goodput_mbps / groups.other.goodput_mbps", at_least = 0.01 },
    { measure = "groups.a.goodput_mbps / bottleneck.classes.classic.drops", at_least = 0.01 },
]
"""


def test_a_case_has_company_marks_and_quotients(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(SUITE + COMPANY, encoding="utf-8")
    case = suites.load(str(file)).cases[-1]
    judged, other = case.scenario("prague").to_dict()["group"]
    assert (judged["flows"], judged["start"], judged["rtt"], other["rtt"]) == (2, ["0 s", "1 s"], "40 ms", "20 ms")
    said = [[group["transport"][key] for key in ("ecn", "loss_detection")] for group in (judged, other)]
    assert said == [["accurate", "rack-tlp"], [True, "rack-tlp"]]
    # A stack decides itself what it says of marks.
    connections, _ = case.scenario(trial.Stack("any")).to_dict()["group"]
    assert [connections[key] for key in ("start", "flows", "stack")] == [["0 s", "1 s"], 2, "any"]
    assert "transport" not in connections
    # There are three flows, and no packet was dropped.
    found = [text.split(",")[0].split()[-1] for text in case.judge("prague").found.split("; ")]
    assert (float(found[0]) > 0, found[1:]) == (True, ["none", "none"])


def test_a_suite_of_ones_own_is_judged(command, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(SUITE, encoding="utf-8")
    files = [tmp_path / f"mine.{kind}" for kind in ("html", "xml")]
    tried = command("try", "cubic", "--suite", file, "--page", files[0], "--junit", files[1])
    assert tried.code == 1
    assert "cubic (control): 1 of 2 cases pass. mine." in tried.out
    assert "BROKEN  It is not there: groups.nobody.goodput_mbps none, at least 0" in tried.out
    assert "Which cases does it pass?" in files[0].read_text(encoding="utf-8")
    assert ET.parse(files[1]).getroot()[0].get("failures") == "1"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("path = { duration", "way = { duration", "suite: no such key"),
        (", at_least = 1.0", "", "has no bound, so it cannot fail"),
        ('name = "It sends"', "", "name is missing"),
        ('"10 Mbit/s"', '"10 Mbit"', "case 'It sends'"),
        ("[[case]]", "[[cases]]", "suite: no such key"),
        ("at_least = 1.0", 'at_least = "1"', "at_least: it is not a number"),
        ("check = [{", "check = [3, {", "it is no table"),
        ('rtt = "10 ms"', "group = []", "the group is the control"),
        ('name = "It sends"', 'name = "It sends"\ngroup = { control = "bbr" }', "case.1.group: no such key"),
        ('name = "It sends"', 'name = "It sends"\ngroup = { ecn = 3 }', "case.1.group.ecn: it is not true or a text"),
        ('name = "It sends"', 'name = "It sends"\ngroup = { ecn = "much" }', "case 'It sends'"),
        ('name = "It sends"', 'name = "It sends"\nbeside = [{ name = "a" }]', "a is the judged one"),
        ('name = "It sends"', 'name = "It sends"\nbeside = [3]', "case.1.beside: a group needs a name"),
    ],
)
def test_what_is_wrong_with_a_suite_is_said_before_anything_runs(old, new, said, command, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(SUITE.replace(old, new), encoding="utf-8")
    tried = command("try", "cubic", "--suite", file)
    assert (tried.code, said in tried.err, "mine.toml" in tried.err) == (2, True, True), tried.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bbr3", "--suite", "brr"], "bbr"),
        (["codel", "--suite", "bbr"], "a suite judges controls"),
        (["--suite", "bbr"], "nothing to try"),
        (["ledbat", "--suite", "bbr", "--queue", "red"], "--queue has nothing to do with the cases of a suite"),
    ],
)
def test_a_suite_that_cannot_be_judged_is_refused(words, said, command):
    tried = command("try", *words)
    assert (tried.code, said in tried.err) == (2, True), tried.err


def report() -> trial.Report:
    """A report with a law and a verdict that hold, and with one of each that does not."""
    laws = [Law("It <runs>", holds=True, found="ran"), Law("It ends", holds=False, found='"never" & again')]
    priorities = [Priority("red", 0.05, 0.1), Priority("pie", None, 0.1)]
    return trial.Report("mine", "stack", laws, [], None, priorities)


def test_the_verdicts_of_junit_are_those_of_the_report():
    suite = ET.fromstring(workflow.junit([report()]))[0]
    assert {key: suite.get(key) for key in ("name", "tests", "failures")} == {
        "name": "stack mine",
        "tests": "4",
        "failures": "2",
    }
    cases = {case.get("name"): (case[0].tag, case[0].text or case[0].get("message")) for case in suite}
    assert cases == {
        "It <runs>": ("system-out", "ran"),
        "It ends": ("failure", '"never" & again'),
        "Low priority under red": ("system-out", "5.0 % of the goodput beside NewReno, at most 10 %"),
        "Low priority under pie": ("failure", "no goodput beside NewReno, at most 10 %"),
    }


def test_what_a_stack_says_does_not_break_the_formats():
    told = trial.Report("mine", "stack", [Law("It ends", holds=False, found="\x1b[31ma | b\nc")], [], None, [])
    assert "x1b[31ma | b" in str(ET.fromstring(workflow.junit([told]))[0][0][0].get("message"))
    (row,) = [line for line in workflow.markdown([told]).splitlines() if "It ends" in line]
    assert "a \\| b c" in row


def test_markdown_has_the_verdict_and_a_row_for_each_law():
    text = workflow.markdown([report()])
    assert text.startswith("## mine (stack)\n\n1 of 2 laws broken; mend these first.")
    assert len(re.findall(r"^\| (holds|\*\*broken\*\*) +\|", text, re.M)) == 4


GUIDE = (ROOT / "docs" / "guide" / "stacks.md").read_text(encoding="utf-8")
SOURCES = "git clone https://github.com/OWNER/sojourn"
RUST_MAIN = "\n\nfn main() -> std::process::ExitCode {"


def blocks(heading: str, kind: str) -> list[str]:
    """Return the blocks of a kind in a section of the guide."""
    (section,) = re.findall(rf"^{re.escape(heading)}\n(.*?)(?=^##|\Z)", GUIDE, re.M | re.S)
    return re.findall(rf"```{kind}\n(.*?)```", section, re.S)


@pytest.fixture
def maintainer(tmp_path, monkeypatch):
    """A folder outside the tree that has Sojourn's sources and its command, as after the guide's first commands."""
    (clone,) = blocks("## A stack of yours", "sh")
    assert clone.startswith(SOURCES)
    (tmp_path / "sojourn").symlink_to(ROOT)
    (tmp_path / "bin").mkdir()
    told = tmp_path / "bin" / "sojourn"
    told.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sojourn "$@"\n', encoding="utf-8")
    told.chmod(0o755)
    monkeypatch.setenv("PATH", f"{told.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    return tmp_path


def shell(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run commands as a workflow does: up to the first that fails."""
    words = ["bash", "-e", "-c", text]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def workflow_of(folder: Path, build: str) -> tuple[int, str]:
    """Do the steps of the guide's workflow one by one; return how `sojourn try` ended, and the summary."""
    summary, code = folder / "summary.md", 0
    (text,) = blocks("## In a workflow", "yaml")
    steps = re.findall(r"^      - run: (.*)$", text, re.M)
    assert [step.split()[0] for step in steps] == ["git", "cargo", "sojourn", "cat"]
    assert steps[0].startswith(SOURCES.replace("clone", "clone --depth 1"))
    for step in steps[1:]:
        done = shell(step if step.split()[0] != "cargo" else build, folder)
        tries = step.startswith("sojourn try")
        assert tries or done.returncode == 0, done.stderr
        code = done.returncode if tries else code
    return code, summary.read_text(encoding="utf-8")


@pytest.mark.long
def test_a_maintainer_in_rust_gets_a_verdict_from_the_guide_alone(maintainer, monkeypatch):
    new, build = blocks("### In Rust", "sh")
    _, made = blocks("### In Rust", "rust")
    assert shell(new, maintainer).returncode == 0
    folder = maintainer / "my-stack"
    toy = RUST / "examples" / "toy"
    shutil.copy(toy / "src" / "lib.rs", folder / "src")
    carried = (toy / "tests" / "laws.rs").read_text(encoding="utf-8").split("\nsojourn_endpoint::laws!")[0]
    carried = carried.replace("laws::Subject", "command").replace("toy_stack", "my_stack")
    main = made[made.index(RUST_MAIN) :]
    (folder / "src" / "main.rs").write_text(carried + main, encoding="utf-8")
    # The crates that the tree has fetched already.
    shutil.copy(ROOT / "Cargo.lock", folder)
    monkeypatch.setenv("CARGO_NET_OFFLINE", "true")
    text = WITH_STACK.format("target/release/my-stack").replace("stop-and-wait", "mine")
    (folder / "my-path.toml").write_text(text, encoding="utf-8")
    ran = shell(build, folder)
    assert (ran.returncode, "mine" in ran.stdout) == (0, True), ran.stderr
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    code, summary = workflow_of(folder, "cargo build --release")
    assert (code, summary.count("| holds")) == (0, 6), summary
    assert ET.parse(folder / "verdict.xml").getroot()[0].get("tests") == "6"


@pytest.mark.long
def test_a_maintainer_in_c_gets_a_verdict_from_the_guide_alone(maintainer, monkeypatch):
    (build,) = blocks("### In C", "sh")
    folder = maintainer / "mine"
    folder.mkdir()
    shutil.copy(TOY, folder / "my-stack.c")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    build = build.replace("sojourn/", "../sojourn/").replace(" -o my-stack", " -o target/release/my-stack")
    code, summary = workflow_of(folder, f"mkdir -p target/release; {build}")
    # Stop and wait has one packet in a round trip.
    assert (code, summary.count("| holds"), summary.count("| **broken**")) == (1, 4, 2), summary


def test_the_workflow_that_the_guide_shows_is_one(tmp_path):
    (text,) = blocks("## In a workflow", "yaml")
    assert len(text.splitlines()) <= 20
    own = tmp_path / "try.yml"
    own.write_text(text, encoding="utf-8")
    check = (sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows")
    run(*check, own, *sorted((ROOT / ".github" / "workflows").glob("*.yml")))
    own.write_text(text.replace("runs-on", "runs-no"), encoding="utf-8")
    assert subprocess.run([*check, own], capture_output=True, check=False).returncode == 1
