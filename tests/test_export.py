"""What `sojourn export` prints for a router: commands of tc, or a section for SQM."""

import shlex
import subprocess
from pathlib import Path

import pytest
from tests.conftest import Command
from tests.uml import in_kernel, on_kernel

import sojourn
from sojourn import InputError
from sojourn.exported.emulated import mahimahi, netem
from sojourn.exported.queues import Queues, device_name, queues

ROOT = Path(__file__).parent.parent
HOME = "gateway-and-modem"
SHOWN = ("tc -d qdisc show", "tc class show dev veth0", "tc filter show dev veth0 ingress")
POLICER = "{ rate = '8 Mbit/s', burst = '50 kB' }"
FQ_CODEL = {"bottleneck.queue": "fq_codel", "reverse.queue": "fq_codel"}


def found(name: str, changes: dict[str, object] | None = None) -> Queues:
    return queues(sojourn.Scenario.load(name, changes or {}))


def test_a_home_has_both_directions_with_the_gateways_rates() -> None:
    section = found(HOME).sqm("wan")
    assert section[0] == "config queue 'wan'"
    said = dict(line.strip().removeprefix("option ").split(" ", 1) for line in section[1:])
    # The shaper has nine tenths of 50/10 Mbit/s; SQM counts kbit/s.
    assert (said["upload"], said["download"]) == ("'9000'", "'45000'")
    assert said["script"] == "'piece_of_cake.qos'"
    assert "bandwidth" not in said["eqdisc_opts"]
    assert "bridged-ptm" in said["eqdisc_opts"]


def test_the_way_down_is_what_comes_in_whichever_link_is_the_bottleneck() -> None:
    line = {"access.line": "cable-100-10-film", "access.gateway": 0.9}
    up = found(HOME, line)
    down = found(HOME, line | {"access.bottleneck": "down"})
    assert (up.up.link, down.up.link) == ("bottleneck", "reverse")
    assert up.tc("eth1") == down.tc("eth1")
    shaped = [line for line in up.tc("eth1") if line.startswith("tc qdisc add") and " cake " in line]
    assert [line.split()[4] for line in shaped] == ["eth1", "ifb4eth1"]
    assert ["bandwidth 9000000bit" in shaped[0], "bandwidth 90000000bit" in shaped[1]] == [True, True]


def test_what_differs_from_the_kernel_by_a_preset_is_taken_as_the_kernel_has_it() -> None:
    red = found("motivating-red")
    assert "bottleneck.queue.preset=linux: as the kernel has it" in red.remarks
    assert red.down is None
    assert any(" red limit " in line for line in red.tc("eth0"))


@pytest.mark.parametrize(
    ("name", "changes", "complaint"),
    [
        ("cellular", {}, "bottleneck.trace: the Linux kernel cannot have ready:synthetic-lte"),
        (
            "first",
            {"bottleneck.queue": "drr"},
            "bottleneck.queue.kind: a router cannot have drr; allowed: what needs no",
        ),
        ("weighted-shares", {}, "bottleneck.queue.kind: the Linux kernel cannot have wfq"),
        (
            HOME,
            FQ_CODEL,
            "bottleneck.framing: a shaper of Linux cannot have PTM; allowed: Ethernet's or ATM's, or the queue cake",
        ),
    ],
)
def test_what_a_router_cannot_have_is_refused_by_its_key(name: str, changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError) as refused:
        found(name, changes)
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("line", "stab"),
    [
        # Ethernet's header and FCS, 18 bytes, of which Linux counts 14; cells of PPPoA; no framing: IP packets alone.
        ("cable-100-10-film", "stab overhead 4 linklayer ethernet mpu 64"),
        ("adsl-16-1-film", "stab overhead -4 linklayer atm"),
        ("fixed-4g-50-10-wifi", "stab overhead -14"),
    ],
)
def test_a_shaper_counts_what_the_line_counts(line: str, stab: str) -> None:
    lines = found(HOME, {"access.line": line, "access.gateway": 0.9} | FQ_CODEL).tc("eth1")
    assert f"tc qdisc add dev eth1 root handle 1: {stab} htb default 1" in lines


def test_cake_that_reckons_with_another_framing_is_said() -> None:
    home = {"access.line": "adsl-16-1-film", "access.gateway": 0.9}
    other = found(HOME, home | {"bottleneck.framing": "pppoe-llcsnap"}).remarks
    said = "bottleneck.queue.link_layer: CAKE reckons with pppoa-vcmux, which is not what bottleneck.framing says"
    assert said in other
    assert not any("link_layer" in remark for remark in found(HOME, home).remarks)


def test_sqm_takes_cake_alone() -> None:
    with pytest.raises(
        InputError, match=r"bottleneck\.queue: SQM cannot have red; allowed: cake with a bandwidth; tc can"
    ):
        found("motivating-red").sqm("wan")


@pytest.mark.parametrize("name", ["eth0; reboot", "", "a" * 12, "wan$(id)", "eth0\n", "-f/x"])
def test_a_devices_name_is_no_command(name: str) -> None:
    with pytest.raises(InputError, match="--device"):
        device_name(name)


@pytest.mark.parametrize("scenario", [one["name"] for one in sojourn.catalogue()["scenarios"]])
def test_every_ready_scenario_is_exported_or_refused(scenario: str) -> None:
    for form in (Queues.tc, Queues.sqm):
        try:
            lines = form(found(scenario), "eth0")
        except InputError as refused:
            lines = [f"# {one['allowed']}" for one in refused.diagnostics if one["allowed"]]
        assert lines
        assert all(line.startswith(("#", "tc ", "ip ", "config queue", "\toption ")) for line in lines)


def test_the_command_prints_and_changes_nothing(command: Command) -> None:
    done = command("export", HOME, "--as", "tc", "--device", "eth1")
    assert done.code == 0
    assert done.out.splitlines() == found(HOME).tc("eth1")
    assert "note: bottleneck.queue: memlimit" in done.err


def test_the_guide_shows_what_is_printed() -> None:
    line = found(HOME, {"access.line": "cable-100-10-film", "access.gateway": 0.9})
    assert "\n".join(line.sqm("wan")) in (ROOT / "docs" / "guide" / "lines.md").read_text(encoding="utf-8")


@in_kernel
def test_a_kernel_has_what_was_printed(tmp_path: Path) -> None:
    """Printed commands give a kernel the disciplines and the words of the scenario, as tc shows them."""
    home = on_kernel(found(HOME).tc("veth0"), tmp_path / "home", SHOWN)
    assert "qdisc cake 10: dev veth0 root" in home
    assert "qdisc cake 10: dev ifb4veth0 root" in home
    assert "bandwidth 9Mbit diffserv3 triple-isolate" in home
    assert "bandwidth 45Mbit diffserv3 triple-isolate" in home
    assert home.count("rtt 100ms ptm overhead 22") == len(("up", "down"))
    assert "Egress Redirect to device ifb4veth0" in home
    atm = found(HOME, {"access.line": "adsl-16-1-film", "access.gateway": 0.9} | FQ_CODEL)
    assert on_kernel(atm.tc("veth0"), tmp_path / "atm", SHOWN).count("linklayer atm overhead -4") == len(("up", "down"))
    changes = {"bottleneck.queue": "fq_codel", "bottleneck.rate": "9 Mbit/s", "bottleneck.policer": POLICER}
    plain = on_kernel(found("first", changes).tc("veth0"), tmp_path / "plain", SHOWN)
    assert "qdisc fq_codel 10: dev veth0 parent 1:1 limit 500p flows 1024" in plain
    assert "class htb 1:1 root leaf 10: prio 0 rate 9Mbit" in plain
    # Given again, as after a change, they leave one filter each way.
    both = found(HOME, {"bottleneck.policer": POLICER, "reverse.policer": POLICER}).tc("veth0")
    shown = on_kernel([*both, *both], tmp_path / "policed", [*SHOWN, "tc filter show dev veth0 egress"])
    assert shown.count("police 0x") == len(("up", "down"))
    assert shown.count("rate 8Mbit burst 50000b mtu 2Kb action drop/pipe overhead 0b") == len(("up", "down"))
    assert shown.count("Egress Redirect to device ifb4veth0") == 1


LINK = {
    "name": "path",
    "duration": "5 s",
    "bottleneck": {
        "rate": "8 Mbit/s",
        "delay": "5 ms",
        "loss": 0.01,
        "queue": {"kind": "codel", "limit": "50 packets"},
    },
    "reverse": {"rate": "40 Mbit/s", "delay": "5 ms", "queue": {"kind": "droptail", "limit": "100 packets"}},
    "group": [{"name": "tcp", "control": "cubic", "rtt": "40 ms"}],
}


def test_a_path_for_mahimahi_has_its_delays_rates_and_queues(tmp_path: Path) -> None:
    *traces, command = mahimahi(sojourn.scenario(LINK))
    words = shlex.split(command)
    assert words[:6] == ["mm-delay", "25", "mm-loss", "uplink", "0.01", "mm-link"]
    assert "--uplink-queue=codel" in words
    assert "--uplink-queue-args=packets=50,target=5,interval=100" in words
    assert "--downlink-queue-args=packets=100" in words
    # The recorded links that the script writes have the rates, as an import reads them.
    subprocess.run(["sh", "-c", "\n".join(traces)], cwd=tmp_path, check=True)
    for name, mbps in (("uplink", 8.0), ("downlink", 40.0)):
        times = [int(one) for one in (tmp_path / f"{name}.trace").read_text().split()]
        assert times[-1] == 1000
        assert len(times) * 12e3 / 1e6 == pytest.approx(mbps, rel=0.01)


def test_a_path_for_netem_has_no_queue() -> None:
    _, command, _, back = netem(sojourn.scenario(LINK), "eth1")
    # What the way there loses, the way back does not.
    assert back.startswith("# tc qdisc replace dev eth1 root handle 1: netem")
    assert "delay 25000us" in back
    assert "loss" not in back
    assert command.startswith("tc qdisc replace dev eth1 root handle 1: netem")
    assert "delay 25000us" in command
    assert "loss random 1%" in command


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"bottleneck.queue": "cake"}, "bottleneck.queue.kind"),
        ({"bottleneck.jitter": "3 ms"}, "bottleneck.jitter"),
        ({"hop": [{"name": "gateway", "at": "before", "rate": "20 Mbit/s"}]}, "hop"),
    ],
)
def test_what_mahimahi_cannot_have_is_refused(changes: dict[str, object], key: str) -> None:
    with pytest.raises(InputError) as caught:
        mahimahi(sojourn.scenario(LINK).with_(changes))
    assert caught.value.diagnostics[0]["key"] == key


def test_rates_that_a_controller_sets_are_base_rates(command: Command) -> None:
    made = command("export", "leo-gateway", "--as", "sqm", "--device", "wan")
    assert made.code == 0, made.err
    assert "\toption upload '17000'" in made.out
    assert "these are the base rates" in made.out + made.err
    fixed = command("export", "gateway-and-modem", "--as", "sqm", "--device", "wan")
    assert "base rates" not in fixed.out + fixed.err
