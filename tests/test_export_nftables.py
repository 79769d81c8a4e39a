"""What `sojourn export --as nftables` prints: code points, classes and policers for what leaves a router."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.conftest import Command
from tests.uml import in_kernel, on_kernel

import sojourn
from sojourn import InputError
from sojourn.exported.nftables import Rules, rules
from sojourn.exported.queues import queues

CALL = "voip-under-load"
CLASSES = "{kind='prio', class=[{name='voice', groups=['speaks']},{name='net', precedence=[6]},{name='rest'}]}"
NFT = shutil.which("nft")


def of(name: str, changes: dict[str, object] | None = None) -> Rules:
    return rules(sojourn.Scenario.load(name, changes or {}), "veth0")


def policed(rate: str, burst: str) -> dict[str, object]:
    return {"bottleneck.policer": f"{{ rate = '{rate}', burst = '{burst}' }}"}


def test_a_group_is_a_set_of_ports_and_its_packets_have_its_code_point() -> None:
    made = of(CALL)
    assert "    set ports-speaks { type inet_service; flags interval; }" in made.lines
    # Expedited forwarding is 46.
    assert any("@ports-speaks ip dscp set 0x2e" in line for line in made.lines)
    assert any("@ports-speaks ip6 dscp set 0x2e" in line for line in made.lines)
    # Nobody here sends what the other side says, and the upload has the default.
    assert not any("hears" in line or "upload" in line for line in made.lines)
    assert any(remark.startswith("group.hears.dscp: ") for remark in made.remarks)


def test_acknowledgements_of_a_download_are_marked_as_well() -> None:
    download = {"group.hears.traffic": "bulk", "group.hears.control": "cubic"}
    assert any("@ports-hears ip dscp set 0x2e" in line for line in of(CALL, download).lines)


def test_classes_are_those_of_tc_and_the_first_of_two_has_a_packet() -> None:
    changes: dict[str, object] = {"bottleneck.queue": CLASSES}
    sets = [line.split() for line in of(CALL, changes).lines if "priority set" in line]
    # Precedence 6 is the upper three bits of a code point. What is written last holds.
    assert [(line[0], line[-1]) for line in sets] == [("ip", "10:2"), ("ip6", "10:2"), ("meta", "10:1")]
    assert " ".join(sets[0]) == "ip dscp & 0x38 == 0x30 meta priority set 10:2"
    tc = queues(sojourn.Scenario.load(CALL, changes))
    assert "bottleneck.queue.class.voice.groups: nftables says who belongs to it" in tc.remarks
    assert [line for line in tc.tc("eth0") if "flowid 10:1" in line] == []
    assert any("handle 10: prio bands 3 priomap 2 2 2" in line for line in tc.tc("eth0"))


def test_a_bucket_holds_a_second_of_its_rate_or_is_left_to_tc() -> None:
    # 800 kbit/s are 100,000 bytes in a second: of a bucket of 150,000 bytes the rest is what nft calls burst.
    whole = of("first", policed("800 kbit/s", "150 kB")).lines
    assert "        limit rate over 100000 bytes/second burst 50000 bytes drop" in whole
    small = of(CALL, policed("800 kbit/s", "99 kB"))
    assert not any("limit" in line for line in small.lines)
    assert any(remark.startswith("bottleneck.policer: tc's") for remark in small.remarks)
    police = "action police rate 800000bit burst 99000 conform-exceed drop/pipe"
    lines = queues(sojourn.Scenario.load(CALL, policed("800 kbit/s", "99 kB"))).tc("eth0")
    assert f"tc filter add dev eth0 egress protocol all matchall {police}" in lines


@pytest.mark.parametrize(
    ("remark", "lines"),
    [
        ("{ dscp = 'le' }", ["ip dscp set 0x01", "ip6 dscp set 0x01"]),
        ("{ ecn = 'bleached' }", ["ip ecn set not-ect", "ip6 ecn set not-ect"]),
        ("{ ecn = 'ect0' }", ["ip ecn ect1 ip ecn set ect0", "ip6 ecn ect1 ip6 ecn set ect0"]),
        ("{ ecn = 'unmarked' }", ["ip ecn ce ip ecn set ect0", "ip6 ecn ce ip6 ecn set ect0"]),
    ],
)
def test_what_a_link_writes_into_headers(remark: str, lines: list[str]) -> None:
    assert [line.strip() for line in of("first", {"bottleneck.remark": remark}).lines[-4:-2]] == lines


def test_a_queue_that_linux_lacks_leaves_the_code_points() -> None:
    made = of("four-classes")
    assert len([line for line in made.lines if "dscp set" in line]) == 2 * len(("voice", "video", "control"))
    assert any(remark.startswith("bottleneck.queue.class.others.queue.kind: ") for remark in made.remarks)


def test_nothing_to_do_is_refused(command: Command) -> None:
    with pytest.raises(InputError, match="allowed: a group with dscp, or a link with classes, remark or a policer"):
        of("first")
    done = command("export", CALL, "--as", "nftables", "--device", "veth0")
    assert done.out.splitlines() == of(CALL).lines
    assert "note: group.speaks: what goes to the ports in set ports-speaks, which is empty" in done.err


@pytest.mark.parametrize("scenario", [one["name"] for one in sojourn.catalogue()["scenarios"]])
def test_every_ready_scenario_is_rules_or_refused(scenario: str) -> None:
    try:
        lines = of(scenario).lines
    except InputError as refused:
        lines = str(refused).splitlines()
    assert lines[-1] == "}" or "nftables has nothing to do" in lines[0]


@pytest.mark.skipif(NFT is None, reason="no nft (Debian package nftables)")
@pytest.mark.parametrize(
    "changes",
    [
        {"bottleneck.queue": CLASSES, **policed("800 kbit/s", "150 kB")},
        {"bottleneck.remark": "{ dscp = 'le', ecn = 'unmarked' }", **policed("800 kbit/s", "100 kB")},
    ],
)
def test_nft_takes_the_file(changes: dict[str, object]) -> None:
    checked(of(CALL, changes))


def checked(made: Rules) -> None:
    """Let nft check the rules, which needs a kernel that lets it; raises where it finds a fault."""
    done = subprocess.run(
        [str(NFT), "-c", "-f", "-"], input="\n".join(made.lines), text=True, capture_output=True, check=False
    )
    if "Operation not permitted" in done.stderr or "cache initialization failed" in done.stderr:
        pytest.skip(f"nft is not allowed to ask this kernel: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr


# What a rule drops, its sender here sees refused.
SEND = """
import contextlib, socket
for port, count, priority in {packets}:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        if priority:
            out.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, priority)
        for _ in range(count):
            with contextlib.suppress(PermissionError):
                out.sendto(bytes(172), ("10.0.0.2", port))
"""
# Behind the rules: how many packets have the code point and the class of the group, and how many there are.
WATCH = """
table ip watch {
    chain after {
        type filter hook postrouting priority 0; policy accept;
        oifname != "veth0" accept
        ip dscp 0x2e counter comment "marked"
        meta priority 10:1 counter comment "first"
        counter comment "all"
    }
}
"""


@pytest.mark.testbed
@pytest.mark.skipif(NFT is None, reason="no nft (Debian package nftables)")
def test_a_kernel_marks_and_classifies_what_goes_to_a_group(tmp_path: Path) -> None:
    made = of(CALL, {"bottleneck.queue": CLASSES})
    assert passed(made, tmp_path, "((5060, 5, 0), (80, 3, 0))") == {"marked": 5, "first": 5, "all": 8}


@pytest.mark.testbed
@pytest.mark.skipif(NFT is None, reason="no nft (Debian package nftables)")
def test_a_kernels_bucket_is_as_large_as_the_policers(tmp_path: Path) -> None:
    """80 kbit/s are 10,000 bytes in a second: a bucket of 15,000 has 75 packets of 200 bytes, and a second 50 more."""
    made = of("first", policed("80 kbit/s", "15 kB"))
    assert 75 <= passed(made, tmp_path, "((80, 200, 0),)")["all"] < 75 + 50


@in_kernel
def test_a_packets_priority_is_its_class_for_tc_whatever_the_filters_say(tmp_path: Path) -> None:
    """What nftables writes into a packet is what SO_PRIORITY writes: 10:1 is 0x100001."""
    tc = queues(sojourn.Scenario.load(CALL, {"bottleneck.queue": CLASSES})).tc("veth0")
    setup = ["ip address add 10.0.0.1/24 dev veth0", "ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev veth0"]
    script = SEND.format(packets="((5060, 5, 0x100001), (80, 3, 0))")
    send = f"python3 - <<'END'\n{script}\nEND"
    out = on_kernel([*setup, *tc, send], tmp_path, ["sleep 1", "tc -s qdisc show dev veth0"])
    found = dict(re.findall(r"parent (10:\w+) .*\n Sent \d+ bytes (\d+) pkt", out))
    assert (found["10:1"], found["10:3"]) == ("5", "3"), out


def passed(made: Rules, folder: Path, packets: str) -> dict[str, int]:
    """Return how many packets the rules of a namespace's kernel let pass, by what is counted of them."""
    (folder / "rules.nft").write_text("\n".join(made.lines))
    (folder / "watch.nft").write_text(WATCH)
    (folder / "send.py").write_text(SEND.format(packets=packets))
    commands = [
        "ip link add veth0 type veth peer name veth1",
        "ip link set veth0 up; ip link set veth1 up; ip address add 10.0.0.1/24 dev veth0",
        "ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev veth0",
        "nft -f rules.nft; nft -f watch.nft",
        *(
            f"nft add element inet sojourn {one} '{{ 5060 }}'"
            for one in ("ports-speaks",)
            if f"set {one} " in text(made)
        ),
        "python3 send.py",
        "nft list table ip watch",
    ]
    script = "set -e\n" + "\n".join(commands)
    ask = ["unshare", "--user", "--map-root-user", "--net", "bash", "-c", script]
    done = subprocess.run(ask, cwd=folder, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return {name: int(count) for count, name in re.findall(r'counter packets (\d+) .* comment "(\w+)"', done.stdout)}


def text(made: Rules) -> str:
    return "\n".join(made.lines)
