"""What an agent and its peer say to each other, and what an agent lets itself be asked: pure, without a socket."""

import json
import socket
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sojourn
from sojourn.worlds.hosts import admission, asking, handshake, protocol, reports, running, world
from sojourn.worlds.hosts.admission import Ends, Limits, RefusedError
from sojourn.worlds.hosts.handshake import Exchange, Key
from sojourn.worlds.hosts.line import GoneError, Line
from sojourn.worlds.hosts.protocol import Decoder, ProtocolError
from sojourn.worlds.linux import record as record_of
from sojourn.worlds.linux import series
from sojourn.worlds.linux.errors import JobError, TestbedError
from sojourn.worlds.linux.packets import packet_rows

AGENT = Ends("192.0.2.7", "198.51.100.9", 5341)
PEER = Ends("198.51.100.9", "192.0.2.7", 5341)
SECRET = b"sixteen bytes or more"
MESSAGES = st.dictionaries(st.text(max_size=5), st.integers() | st.text() | st.none(), max_size=4).flatmap(
    lambda fields: st.text(max_size=9).map(lambda kind: {**fields, "type": kind})
)


@given(st.lists(MESSAGES, max_size=5), st.integers(1, 40))
def test_messages_arrive_however_the_bytes_are_cut(messages: list[Any], piece: int) -> None:
    data = b"".join(map(protocol.encode, messages))
    decoder = Decoder(1 << 20)
    found = [one for at in range(0, len(data), piece) for one in decoder.feed(data[at : at + piece])]
    assert found == messages


@given(st.binary(max_size=300) | st.text(max_size=80).map(lambda text: text.encode(errors="replace") + b"\n"))
def test_no_bytes_upset_the_decoder(data: bytes) -> None:
    try:
        found = Decoder(64).feed(data)
    except ProtocolError:
        return
    assert all(isinstance(one["type"], str) for one in found)
    assert all(len(line) <= 64 for line in data.split(b"\n"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"x" * 65, "more than 64 bytes"),
        (b"SSH-2.0-x\n", "not JSON"),
        (b"\xff\n", "not JSON"),
        (b'{"type":"time","now_s":NaN}\n', "not JSON"),
        (b"[" * 60 + b"\n", "not JSON"),
        (b"[1]\n", "no object with a type"),
        (b'{"type":5}\n', "no object with a type"),
    ],
)
def test_a_wrong_line_is_told(line: bytes, words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        Decoder(64).feed(line)


def test_nesting_beyond_measure_is_a_wrong_line() -> None:
    with pytest.raises(ProtocolError, match="not JSON"):
        Decoder(1 << 20).feed(b"[" * 500_000 + b"\n")


def test_what_has_not_come_to_its_end_counts_toward_the_limit() -> None:
    decoder = Decoder(64)
    decoder.feed(b"x" * 60)
    with pytest.raises(ProtocolError, match="more than 64"):
        decoder.feed(b"x" * 5)


def exchanged(agents: bytes, peers: bytes) -> tuple[Key, Key]:
    """Return the keys of both sides."""
    agent, peer = Exchange(agents, handshake.AGENT), Exchange(peers, handshake.PEER)
    return agent.finish(peer.share), peer.finish(agent.share)


def test_both_have_a_key_if_they_have_the_same_secret() -> None:
    agent, peer = exchanged(SECRET, SECRET)
    for side in (handshake.AGENT, handshake.PEER):
        assert agent.is_proven(peer.proof(side), side)
    assert not agent.is_proven(peer.proof(handshake.AGENT), handshake.PEER), "a proof sent back"
    again, _ = exchanged(SECRET, SECRET)
    assert not again.is_proven(peer.proof(handshake.PEER), handshake.PEER), "a proof of another connection"
    other, wrong = exchanged(SECRET, b"another secret of them")
    assert not other.is_proven(wrong.proof(handshake.PEER), handshake.PEER)
    for text in ("\ud800", "", "0" * 64):
        assert not agent.is_proven(text, handshake.PEER)


@given(st.text(max_size=80) | st.binary(min_size=30, max_size=40).map(bytes.hex))
def test_no_share_upsets_the_exchange(share: str) -> None:
    exchange = Exchange(SECRET, handshake.AGENT)
    try:
        key = exchange.finish(share)
    except ProtocolError:
        return
    assert not key.is_proven("0" * 64, handshake.PEER)


def test_a_share_of_the_own_side_is_none() -> None:
    exchange = Exchange(SECRET, handshake.AGENT)
    with pytest.raises(ProtocolError, match="share is no element"):
        exchange.finish(exchange.share)


def test_what_the_other_side_says_does_nothing_to_a_terminal() -> None:
    assert protocol.sentence("a\x1b[2Jb\ud800\nc") == "a?[2Jb?\nc"


def flow(**keys: Any) -> dict[str, Any]:
    given = {
        "kind": "udp",
        "direction": "forward",
        "control": {"kind": "ledbat"},
        "transport": {},
        "traffic": {"kind": "bulk"},
        "start_s": 0.0,
        "stop_s": None,
        "dscp": 0,
        "ecn": False,
        "seed": 1,
        "token": 2,
        "logged_packets": 0,
    }
    return {**given, **keys}


def cbr(rate: str, packet: str = "1500 B", **keys: Any) -> dict[str, Any]:
    traffic = {"kind": "cbr", "rate": rate, "packet": packet}
    return flow(kind="cbr", control=None, traffic=traffic, direction="reverse", **keys)


def request(*flows: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"type": "run", "start_at_s": 105.0, "duration_s": 60.0, "bin_s": 0.1, "flows": list(flows), **keys}


def admit(*flows: dict[str, Any], limits: Limits | None = None, **keys: Any) -> dict[str, Any]:
    return admission.plan(request(*flows, **keys), limits or Limits(), AGENT, 100.0)


def test_flows_run_between_the_two_addresses_whatever_else_is_asked() -> None:
    third = {"local": "203.0.113.1", "peer": "203.0.113.1", "port": 53, "driver": "/bin/sh", "id": 7, "role": "send"}
    plan = admit(flow(**third), flow(direction="reverse", **third), captures=[{}], pings=[{"peer": "203.0.113.1"}])
    assert set(plan) == {"start_at_s", "duration_s", "bin_s", "common_clock", "flows"}
    assert [(one["id"], one["role"], one["local"], one["peer"], one["port"]) for one in plan["flows"]] == [
        (0, "receive", "192.0.2.7", "198.51.100.9", 5341),
        (1, "send", "192.0.2.7", "198.51.100.9", 5342),
    ]
    assert not any("driver" in one for one in plan["flows"])


def test_what_the_agent_sends_is_bounded_in_all() -> None:
    back = flow(direction="reverse")
    tcp = flow(kind="tcp", control="cubic", direction="reverse")
    plan = admit(flow(), back, back, tcp, cbr("4 Mbit/s"), limits=Limits(rate_bps=10_000_000))
    assert [one.get("max_rate_bps") for one in plan["flows"]] == [None, 2_000_000, 2_000_000, 2_000_000, None]


@pytest.mark.parametrize(
    ("flows", "keys", "words"),
    [
        ([flow()], {"duration_s": 301}, "duration is 301 s; the agent allows 300 s .*--max-duration"),
        ([flow()], {"duration_s": 0}, "duration is 0 s"),
        ([flow()] * 17, {}, "17 flows; the agent allows 16 .*--max-flows"),
        ([], {}, "0 flows"),
        ([flow()], {"start_at_s": 99.9}, "starts in -0.1 s; allowed is 0 to 60 s"),
        ([flow()], {"start_at_s": 161}, "starts in 61.0 s"),
        ([flow()] * 16, {"bin_s": 0.001}, "too long a report"),
        ([cbr("60 Mbit/s"), cbr("60 Mbit/s")], {}, "make 120 Mbit/s; the agent sends 100 Mbit/s in all .*--max-rate"),
        ([cbr("100 Mbit/s"), flow(direction="reverse")], {}, "make 100 Mbit/s"),
        # Such a datagram would have many times the bytes that its rate counts.
        ([cbr("1 Mbit/s", "1 B")], {}, "datagrams of 1 B"),
        ([flow(logged_packets=400_000)] * 2, {}, "logs 800000 packets; the agent allows 500000"),
    ],
)
def test_what_goes_beyond_the_limits_is_refused(flows: list[Any], keys: dict[str, Any], words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        admit(*flows, **keys)


@pytest.mark.parametrize("rate", ["1e999 Mbit/s", "-5 Mbit/s", "0 bit/s", "5 B", "x"])
def test_a_rate_that_is_none_is_told(rate: str) -> None:
    # An infinite one ended the agent's session without a word; one below zero left others more than the limit.
    with pytest.raises(ProtocolError, match="traffic has no rate"):
        admit(cbr(rate), flow(direction="reverse"))


def test_what_is_received_and_what_is_allowed_goes() -> None:
    tcp = flow(kind="tcp", control="cubic")
    assert admit(tcp)["flows"][0]["control"] == "cubic"
    utp = flow(kind="utp", direction="reverse")
    call = flow(kind="cbr", traffic={"kind": "voip"}, direction="reverse")
    assert [one.get("max_rate_bps") for one in admit(utp, call)["flows"]] == [100_000_000, None]
    assert admit({**cbr("900 Mbit/s"), "direction": "forward"})["flows"][0]["role"] == "receive"


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "raw"},
        {"direction": "up"},
        {"control": "cubic"},
        {"kind": "tcp"},
        {"traffic": None},
        {"start_s": "0"},
        {"start_s": -1},
        {"start_s": 61},
        {"start_s": 5, "stop_s": 4},
        {"dscp": 64},
        {"dscp": True},
        {"ecn": 1},
        {"seed": -1},
        {"token": 1 << 63},
        {"logged_packets": 500_001},
        {"start_s": 10**400},
    ],
)
def test_a_wrong_entry_is_told(entry: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match=r"run: flows\[1\]"):
        admit(flow(), flow(**entry))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(flow())), JSON, st.sampled_from(sorted(request())), JSON, st.booleans())
def test_no_request_upsets_the_agent(key: str, value: Any, other: str, replaced: Any, is_flow: bool) -> None:
    """Whatever is asked, there is a plan within the limits and between the two addresses, or a refusal."""
    asked = request(cbr("1 Mbit/s"), flow(direction="reverse"))
    asked["flows"][0][key] = value
    if not is_flow and other != "type":
        asked[other] = replaced
    try:
        plan = admission.plan(asked, Limits(), AGENT, 100.0)
    except (ProtocolError, RefusedError):
        return
    assert plan["duration_s"] <= 300
    assert {(one["local"], one["peer"]) for one in plan["flows"]} == {("192.0.2.7", "198.51.100.9")}
    sending = [one for one in plan["flows"] if one["role"] == "send" and one["kind"] != "cbr"]
    assert sum(one["max_rate_bps"] for one in sending) <= 100_000_000


GROUPS = [
    {"name": "tcp", "control": {"kind": "newreno", "preset": "linux"}, "transport": "linux", "rtt": "20 ms"},
    {"name": "back", "control": "ledbat", "rtt": "20 ms", "direction": "reverse", "flows": 2},
    {"name": "call", "traffic": {"kind": "cbr", "rate": "64 kbit/s"}, "rtt": "20 ms"},
]
LINK = {"rate": "1 Mbit/s", "queue": {"kind": "droptail", "limit": "50 packets"}}


def test_what_is_asked_for_is_what_the_agent_takes() -> None:
    resolved = sojourn.scenario(duration="9 s", bottleneck=LINK, reverse=LINK, group=GROUPS).to_dict()
    job = asking.job(resolved, 3, PEER, 0.1)
    plan, asked = asking.halves(job, 3, PEER, Limits(rate_bps=8_000_000))
    sent = json.loads(json.dumps({"type": "run", "start_at_s": 105.0, **asked}))
    theirs = admission.plan(sent, Limits(rate_bps=8_000_000), AGENT, 100.0)
    assert [flow["role"] for flow in plan["flows"]] == ["send", "receive", "receive", "send"]
    for near, far in zip(plan["flows"], theirs["flows"], strict=True):
        assert near["role"] != far["role"]
        assert (near["local"], near["peer"], near["port"]) == (far["peer"], far["local"], far["port"])
        assert all(near[key] == far[key] for key in ("id", "token", "seed", "traffic", "start_s", "dscp", "kind"))
    # The receiver's kernel need not have the sender's control.
    assert [end["flows"][0]["control"] for end in (plan, theirs)] == ["reno", None]
    assert [one.get("max_rate_bps") for one in theirs["flows"]] == [None, 4_000_000, 4_000_000, None]
    assert plan["pings"][0]["peer"] == "192.0.2.7"
    assert len({one["token"] for one in plan["flows"]}) == 4


def test_what_sockets_cannot_have_is_refused_before_anybody_is_asked() -> None:
    resolved = sojourn.scenario(duration="9 s", bottleneck=LINK, group=[{**GROUPS[0], "transport": "rfc"}]).to_dict()
    with pytest.raises(sojourn.InputError, match=r"group\.tcp\.transport\.min_rto"):
        asking.job(resolved, 1, PEER, 0.1)


def test_receivers_outlive_senders_whose_clocks_may_be_behind() -> None:
    resolved = sojourn.scenario(duration="9 s", bottleneck=LINK, reverse=LINK, group=GROUPS).to_dict()
    plan, _ = asking.halves(asking.job(resolved, 3, PEER, 0.1), 3, PEER, Limits())
    receiving, sending = running.parts({**plan, "start_at_s": 5.0})
    assert [flow["id"] for flow in receiving["flows"]] == [1, 2]
    assert [flow["id"] for flow in sending["flows"]] == [0, 3]
    # Pings end with the flows that they are to see.
    assert (receiving["duration_s"], receiving["pings"]) == (10.0, [])
    assert (sending["duration_s"], len(sending["pings"])) == (9.0, 1)


def seen(near: dict[str, Any], far: dict[str, Any]) -> Any:
    """Join what both ends of one forward flow saw in a run of a second."""
    resolved = sojourn.scenario(duration="1 s", bottleneck=LINK, group=GROUPS[:1]).to_dict()
    ping = {"id": "probe", "sent_s": [-0.2, 0.0, 0.1, 0.15, 0.7], "rtt_ms": [30.0, 50.0, 24.0, 28.0, None]}
    job = asking.job(resolved, 1, PEER, 0.1)
    theirs = {"type": "report", "report": {"flows": [{"id": 0, **far}]}, "kernel": "6.1"}
    return world.observed(job, {"flows": [{"id": 0, **near}], "pings": [ping]}, theirs)


def test_whether_a_flow_lasted_is_the_senders_to_say() -> None:
    # A sender gives up what is under way when it ends, which a receiver that lasts longer sees as a failure.
    run = seen({"retransmissions": 2}, {"delivered_bytes": [1] * 11, "problem": "reset by peer"})
    assert run.remarks == [asking.REMARK]
    cut = seen({"problem": "the receiver closed"}, {"delivered_bytes": [1] * 11})
    assert "flow 0 of group tcp ended before its time: the receiver closed" in cut.remarks
    with pytest.raises(JobError, match="flow 0 of group tcp delivered nothing: nobody there"):
        seen({"problem": "nobody there"}, {"delivered_bytes": [0] * 11})


def test_the_queue_is_what_pings_see_above_the_least_of_all() -> None:
    run = seen({"retransmissions": 2}, {"delivered_bytes": [1000] * 11})
    record = json.loads(record_of.record(run, 1, "hosts", 1.0))
    assert record["bottleneck"]["ping_ms"]["base"] == 24.0
    assert record["bottleneck"]["ping_ms"]["mean"] == pytest.approx((26 + 0 + 4) / 3)
    # What came in the second for which receivers wait longer is not counted.
    assert record["flows"][0]["delivered_bytes"] == 10_000
    assert record["groups"]["tcp"]["retransmissions"] == 2
    (column,) = (values for name, _, values, _ in series.queue(run) if name == "queue_ms")
    assert np.frombuffer(column).tolist()[:2] == pytest.approx([26.0, 2.0])
    assert np.isnan(np.frombuffer(column)[2:]).all()


def report(*flows: Any) -> dict[str, Any]:
    return {"type": "report", "report": {"flows": list(flows)}, "kernel": "6.1"}


def back_and_forth() -> Any:
    """Return the job of a flow that the agent receives and of two that it sends."""
    resolved = sojourn.scenario(duration="1 s", bottleneck=LINK, reverse=LINK, group=GROUPS[:2]).to_dict()
    return asking.job(resolved, 1, PEER, 0.1)


RECEIVED = {"id": 0, "delivered_bytes": [1] * 20}
SENT = {"sent_bytes": 7, "rtt_ms": [None, 5.0] * 5, "cwnd_packets": [4.0] * 10, "completions": [[0.5, 100]]}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sent_bytes", -1),
        ("sent_bytes", 1e99),
        ("sent_bytes", True),
        ("sent_bytes", 10**400),
        ("rtt_ms", [10**400]),
        ("rtt_ms", [-1]),
        ("rtt_ms", "5"),
        ("rtt_ms", [5] * 100),
        ("cwnd_packets", [{}]),
        ("cwnd_packets", 5),
        ("completions", [[1, 2, 3]]),
        ("completions", [[1e9, 2]]),
        ("completions", [[1, -2]]),
        ("completions", [[0.5, 1]] * 1_000_001),
        ("retransmissions", 0.5),
        ("timeouts", [1]),
        ("problem", 5),
        ("packets", []),
        ("packets", {}),
        ("packets", {"start_ns": 1, "unlogged": 0, "stamp_ns": [1, 2], "number": [1], "size_bytes": [1, 2]}),
        ("packets", {"start_ns": 1, "unlogged": 0, "stamp_ns": [1], "number": [1 << 32], "size_bytes": [1]}),
        ("packets", {"start_ns": 1, "unlogged": 0, "stamp_ns": [True], "number": [1], "size_bytes": [1]}),
        ("packets", {"start_ns": 1.0, "unlogged": 0, "stamp_ns": [], "number": [], "size_bytes": []}),
    ],
)
def test_what_no_end_of_a_flow_reports_is_told(key: str, value: Any) -> None:
    with pytest.raises(ProtocolError, match=rf"report: flows\[1\]: {key} is "):
        reports.flows(report(RECEIVED, {"id": 1, **SENT, key: value}, {"id": 2}), back_and_forth())


def test_only_what_an_end_can_know_is_taken_of_a_report() -> None:
    # A receiver that speaks of the sender's window, and a sender of what arrived, would overwrite what this side saw.
    entries = [
        {**RECEIVED, "rtt_ms": [1.0], "sent_bytes": 5, "other": 1},
        {"id": 1, **SENT, "delivered_bytes": [10**9], "problem": "a\x1b[2J" + "b" * 999},
        {"id": 2},
    ]
    received, sent, idle = reports.flows(report(*entries), back_and_forth())
    assert received == RECEIVED
    assert sent == {"id": 1, **SENT, "problem": "a?[2J" + "b" * 295}
    assert idle == {"id": 2}
    assert reports.kernel({"type": "report", "kernel": "6\n\x1b" + "1" * 999}) == "6??" + "1" * 97


def sent_log(*packets: tuple[int, int], start_ns: int = 0, unlogged: int = 0) -> dict[str, Any]:
    """Return the log of a sender: when and under which number each packet went."""
    stamps, numbers = ([one[place] for one in packets] for place in (0, 1))
    sizes = [1500] * len(packets)
    return {"start_ns": start_ns, "unlogged": unlogged, "stamp_ns": stamps, "number": numbers, "size_bytes": sizes}


def came_log(*packets: tuple[int, int, int, int], start_ns: int = 0) -> dict[str, Any]:
    """Return the log of a receiver: what the sender said of each packet, when it arrived, and whether marked."""
    log = sent_log(*((stamp, number) for stamp, number, _, _ in packets), start_ns=start_ns)
    return {**log, "arrived_ns": [one[2] for one in packets], "marked": [one[3] for one in packets]}


def test_both_logs_of_a_flow_are_laid_beside_each_other() -> None:
    """Clocks 9 s apart; segment 1 is lost and sent again, segment 2 arrives marked, and twice."""
    own = sent_log((10**9, 0), (10**9, 1), (2 * 10**9, 2), (3 * 10**9, 1), (4 * 10**9, 3), start_ns=10**9)
    came = [(10**9, 0, 10_020, 0), (2 * 10**9, 2, 11_020, 1), (2 * 10**9, 2, 11_021, 1), (3 * 10**9, 1, 12_020, 0)]
    theirs = came_log(*((stamp, number, at * 10**6, mark) for stamp, number, at, mark in came), start_ns=10**10)
    run = seen({**SENT, "packets": own}, {"delivered_bytes": [1500] * 11, "packets": theirs})
    assert run.ends is not None
    at = run.ends[0]
    assert at.entered_s.tolist() == [0, 0, 1, 2, 3]
    assert at.left_s.tolist()[:1] + at.left_s.tolist()[2:4] == pytest.approx([0.02, 1.02, 2.02])
    # The last one may still have been on its way.
    assert at.dropped.tolist() == [False, True, False, False, False]
    assert at.marked.tolist() == [False, False, True, False, False]
    rows = {name: values for name, _, values, _ in packet_rows(run)}
    assert len(np.frombuffer(rows["time_ns"], dtype=np.int64)) == 5 + 3
    assert "packets" not in run.report.flows[0]


def test_a_log_without_room_for_all_is_no_log() -> None:
    with pytest.raises(JobError, match=r"flow 0 of group tcp had 3 packets more than its log holds \(1\)"):
        seen({**SENT, "packets": sent_log((1, 0), unlogged=3)}, {"delivered_bytes": [1] * 11})


def test_where_packets_are_logged_no_flow_is_the_kernels() -> None:
    resolved = sojourn.scenario(duration="9 s", bottleneck=LINK, reverse=LINK, group=GROUPS).to_dict()
    job = asking.job(resolved, 3, PEER, 0.1, packets=True)
    plan, asked = asking.halves(job, 3, PEER, Limits(), packets=True)
    assert [one["kind"] for one in plan["flows"]] == ["udp", "udp", "udp", "cbr"]
    assert asking.LOGGED_REMARK in job.remarks
    assert {one["logged_packets"] for one in (*plan["flows"], *asked["flows"])} == {500_000 // 4}
    admission.plan({"type": "run", "start_at_s": 105.0, **asked}, Limits(), AGENT, 100.0)
    program = {**GROUPS[0], "control": "libutp"}
    resolved = sojourn.scenario(duration="9 s", bottleneck=LINK, group=[program]).to_dict()
    with pytest.raises(sojourn.InputError, match="libutp is a program of its own, whose packets no end logs"):
        asking.job(resolved, 3, PEER, 0.1, packets=True)


@given(st.sampled_from(["delivered_bytes", "problem", "id", "packets", *SENT]), JSON, st.sampled_from([0, 1]))
def test_no_report_upsets_the_asking_side(key: str, value: Any, place: int) -> None:
    """Whatever an agent reports, there is a record or a sentence."""
    entries = [dict(RECEIVED), {"id": 1, **SENT}, {"id": 2}]
    entries[place][key] = value
    own = [{"id": 0, **SENT}, {"id": 1, "delivered_bytes": [1] * 20}, {"id": 2, "delivered_bytes": [1] * 20}]
    ping = {"id": "probe", "sent_s": [0.0, 0.5], "rtt_ms": [30.0, 50.0]}
    try:
        run = world.observed(back_and_forth(), {"flows": own, "pings": [ping]}, report(*entries))
    except (ProtocolError, JobError):
        return
    json.loads(record_of.record(run, 1, "hosts", 1.0))
    series.flows(run)
    series.queue(run)


@given(st.dictionaries(st.sampled_from(["type", "protocol", "secret", "share", "proof", "limits", "now_s"]), JSON))
def test_no_greeting_upsets_the_asking_side(message: dict[str, Any]) -> None:
    """An agent that says anything at all, twice: there is a session or a sentence."""
    hello = {"type": "hello", "protocol": protocol.PROTOCOL, "software": "1", "secret": False}
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as near,
        listener.accept()[0] as far,
    ):
        far.sendall(encoded({**hello, **message}) + encoded({"type": "welcome", "limits": {"rate_bps": 1}, **message}))
        far.shutdown(socket.SHUT_WR)
        line = Line(near, "127.0.0.1", protocol.SHORT_LINE_BYTES, 5.0)
        with suppress(ProtocolError, GoneError, TestbedError, sojourn.InputError):
            world._Session(line, world.Peer("127.0.0.1")).greet()


def encoded(message: Any) -> bytes:
    try:
        return protocol.encode(message)
    except ValueError:
        return b"{}\n"
