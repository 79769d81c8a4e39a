"""libutp: what it can be asked, how it is built, and, where it was built, that it sends."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import PATIENCE_S, free_port

from sojourn.worlds.linux import utp
from sojourn.worlds.linux.errors import BuildError, NotInstalledError
from sojourn.worlds.linux.utp import Flow, UtpError

pytestmark = pytest.mark.real_time

ENTRY = {"id": 3, "role": "send", "kind": "utp", "local": "10.0.1.1", "peer": "10.0.2.1", "port": 7000}
PLAN = {"start_at_s": 100.0, "duration_s": 60, "bin_s": 0.5}

# No token, no rate of its own, no budget.
UNBOUND = ["-", "0", "-", "0", "0"]


def test_the_command_has_all_times_on_one_clock():
    entry = ENTRY | {
        "start_s": 5,
        "stop_s": 20,
        "dscp": 8,
        "traffic": {"kind": "bulk", "size": "1 MB"},
        "driver": "/x/driver",
    }
    times = ["100.0", "105.0", "120.0", "160.0", "0.5"]
    assert Flow(entry).command(PLAN) == [
        "/x/driver",
        "send",
        "10.0.1.1",
        "10.0.2.1",
        "7000",
        *times,
        "1000000",
        "32",
        "0",
        *UNBOUND,
    ]


def test_token_and_bounds_are_told_the_driver() -> None:
    budget = {"rate_bps": 8_000_000, "burst_bytes": 90_000, "file": "/budget"}
    entry = ENTRY | {"driver": "d", "token": 7, "max_rate_bps": 4_000_000}
    # Of the burst a sender may use a third; who answers may use another.
    for role, part in (("send", "30000"), ("receive", "60000")):
        command = Flow(entry | {"role": role}).command({**PLAN, "budget": budget})
        assert command[-5:] == ["7", "4000000", "/budget", "8000000", part]


def test_without_stop_or_size_it_sends_to_the_end():
    command = Flow(ENTRY | {"driver": "d"}).command(PLAN)
    assert command[5:] == ["100.0", "100.0", "160.0", "160.0", "0.5", "0", "0", "0", *UNBOUND]


def test_the_target_is_that_of_the_scenario():
    entry = ENTRY | {"driver": "d", "control": {"kind": "libutp", "target": "25 ms"}}
    assert Flow(entry).command(PLAN)[-6] == "25000"
    with pytest.raises(UtpError, match=r"control\.target is '25 B'; allowed is a time"):
        Flow(ENTRY | {"control": {"target": "25 B"}})


def test_a_receiver_reports_bytes_and_when_the_last_of_a_transfer_came():
    seen = {"bins": [1, 2], "received_bytes": 10_000, "last_byte_s": 103.5, "problem": ""}
    receiver = ENTRY | {"role": "receive", "start_s": 1}
    endless = Flow(receiver).report(json.dumps(seen), PLAN)
    assert endless == {"id": 3, "delivered_bytes": [1, 2], "completions": []}
    sized = Flow(receiver | {"traffic": {"kind": "bulk", "size": "10 kB"}})
    assert sized.report(json.dumps(seen), PLAN)["completions"] == [[2.5, 10_000]]
    assert sized.report(json.dumps(seen | {"received_bytes": 9_999}), PLAN)["completions"] == []
    assert Flow(ENTRY).report(json.dumps(seen), PLAN) == {"id": 3}
    problem = Flow(ENTRY).report(json.dumps(seen | {"problem": "UTP_ETIMEDOUT"}), PLAN)["problem"]
    assert problem == "flow 3: libutp says UTP_ETIMEDOUT"


@pytest.mark.parametrize(
    ("traffic", "message"),
    [
        ({"kind": "on-off"}, "flow 3: traffic 'on-off' cannot go over libutp; allowed is bulk"),
        ({"kind": "bulk", "size": "3 s"}, "flow 3: traffic.size is '3 s'; allowed is a size in bytes, such as '1 MB'"),
    ],
)
def test_what_it_cannot_is_said(traffic, message):
    with pytest.raises(UtpError) as caught:
        Flow(ENTRY | {"traffic": traffic})
    assert str(caught.value) == message


def with_npm(tmp_path, monkeypatch, script):
    """Have an npm of our own and an empty cache."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "npm").write_text(f"#!/bin/sh\n{script}\n")
    (tools / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_failing_npm_is_quoted(tmp_path, monkeypatch):
    with_npm(tmp_path, monkeypatch, "echo 'no network here' >&2; exit 1")
    with pytest.raises(BuildError, match=r"npm could not fetch utp-native@[\d.]+:\nno network here"):
        utp.build()


def test_another_package_than_expected_is_refused(tmp_path, monkeypatch):
    with_npm(tmp_path, monkeypatch, 'echo something > "$4/utp-native.tgz"')
    with pytest.raises(BuildError, match="SHA-256"):
        utp.build()
    assert not utp.program().exists()


def test_nothing_brought_is_said(tmp_path, monkeypatch):
    with_npm(tmp_path, monkeypatch, "exit 0")
    with pytest.raises(BuildError, match="brought 0"):
        utp.build()


def test_missing_tools_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(
        utp, "missing_tools", lambda tools: [next(iter(tools))] and [utp.Missing("npm (to fetch)", "npm")]
    )
    with pytest.raises(
        NotInstalledError, match=r"building libutp needs npm \(to fetch\)\. To install: (sudo )?apt-get install npm"
    ):
        utp.build()


def test_an_endpoint_without_it_says_how_to_get_it(tmp_path):
    plan, report = tmp_path / "plan.json", tmp_path / "report.json"
    plan.write_text(json.dumps(PLAN | {"flows": [ENTRY]}))
    done = subprocess.run(
        [sys.executable, "-m", "sojourn.worlds.linux.endpoint", plan, report],
        env={"XDG_CACHE_HOME": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert json.loads(report.read_text())["error"]["kind"] == "missing"
    assert done.stderr == "a flow over libutp needs libutp. To build it: sojourn testbed build-libutp\n"


@pytest.mark.skipif(not utp.program().exists(), reason="libutp is not built: sojourn testbed build-libutp")
def test_a_transfer_over_loopback(tmp_path, lead_s):
    start = time.monotonic() + max(2.0, lead_s)
    entry = ENTRY | {
        "local": "127.0.0.1",
        "peer": "127.0.0.1",
        "port": free_port(),
        "traffic": {"kind": "bulk", "size": "200 kB"},
    }
    plan = {"start_at_s": start, "duration_s": 3.0, "bin_s": 0.1}
    processes = []
    for role in ("receive", "send"):
        (tmp_path / f"{role}.json").write_text(json.dumps(plan | {"flows": [entry | {"role": role}]}))
        command = [
            sys.executable,
            "-m",
            "sojourn.worlds.linux.endpoint",
            tmp_path / f"{role}.json",
            tmp_path / f"{role}.out",
        ]
        processes.append(subprocess.Popen(command))
    assert [process.wait(PATIENCE_S) for process in processes] == [0, 0]
    receiver, sender = (json.loads(Path(tmp_path / f"{role}.out").read_text()) for role in ("receive", "send"))
    assert sum(receiver["flows"][0]["delivered_bytes"]) == 200_000
    assert len(receiver["flows"][0]["delivered_bytes"]) == 30
    [[took_s, size]] = receiver["flows"][0]["completions"]
    assert sender["flows"] == [{"id": 3}]
    assert size == 200_000
    assert 0 < took_s < 3
