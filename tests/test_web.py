"""The engine in the page: WebAssembly gives the native engine's bytes."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import PATIENCE_S

import sojourn
from sojourn import _native, worlds

PAGE = Path(sojourn.__file__).parent / "page"
NODE = shutil.which("node")
RECORDS = Path(__file__).parent / "records.mjs"
CATALOGUE: dict[str, Any] = {**sojourn.catalogue()}
READY = [scenario["name"] for scenario in CATALOGUE["scenarios"]]

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not (PAGE / "engine.wasm").exists(), reason="the page is not built: make web"),
    pytest.mark.skipif(NODE is None, reason="no node"),
]
# No ready scenario changes a group while it runs.
CHANGED = "changed-group"
CHANGED_TEXT = """
duration = "30 s"
bottleneck = { rate = "10 Mbit/s", queue = { kind = "droptail", limit = "60 packets" } }

[[change]]
at = "12.3 s"
group = [{ name = "background", control.target = "25 ms" }]

[[change]]
at = "20 s"
bottleneck.rate = "5 Mbit/s"
group = [{ name = "background", control.target = "60 ms" }]

[[group]]
name = "tcp"
control = "cubic"
flows = 2
rtt = "40 ms"

[[group]]
name = "background"
control = "ledbat"
flows = 3
rtt = "40 ms"
"""

# What a scenario must say to have a registered name: the keys that have no default, a place where only one is allowed.
CLASSES = 'class = [{{ name = "any"{} }}]'
QUEUE_KEYS = {
    **dict.fromkeys(("wrr", "dwrr", "wfq"), CLASSES.format("")),
    "htb": CLASSES.format(', rate = "1 Mbit/s"'),
    "early": 'child = "codel"',
}
TRAFFIC_KEYS = {
    "cbr": 'rate = "1 Mbit/s"',
    "train": "count = 10",
    "transfers": 'interval = "500 ms", size = "100 kB"',
    "web": 'objects = 3, size = "30 kB"',
    "messages": 'size = "1500 B", every = "100 ms"',
    "padding": 'rate = "100 packets/s"',
}
UNRESPONSIVE = ("cbr", "ping", "train", "voip", "padding", "adaptive-padding")
STATIONS = {"wifi": 'rate = "mcs7"', "lte": "cqi = 9", "5g": "cqi = 9"}


def small(head: str, group: str = 'control = "newreno"') -> str:
    """Return a scenario of two seconds: one group that crosses what `head` describes."""
    return f'duration = "2 s"\n{head}\n[[group]]\nname = "own"\nrtt = "20 ms"\n{group}\n'


def link(keys: str) -> str:
    return f'bottleneck = {{ rate = "10 Mbit/s", {keys} }}'


def queue(name: str) -> str:
    return small(link(f'queue = {{ kind = "{name}", {QUEUE_KEYS.get(name, "")} }}'))


def control(name: str) -> str:
    """Return a flow of the control at a queue that marks: some controls ask for exact feedback."""
    transport = 'transport = { preset = "linux", ecn = "accurate" }'
    return small(link('queue = { kind = "red", ecn = true }'), f'control = "{name}"\n{transport}')


def traffic(name: str) -> str:
    control = "" if name in UNRESPONSIVE else 'control = "cubic"'
    return small(
        link('queue = "droptail"'), f'{control}\ntraffic = {{ kind = "{name}", {TRAFFIC_KEYS.get(name, "")} }}'
    )


def medium(name: str) -> str:
    if name not in STATIONS:
        return small(link(f'queue = "droptail", medium = "{name}"'))
    station = f'station = [{{ name = "here", {STATIONS[name]} }}]'
    return small(f'bottleneck = {{ medium = "{name}", queue = "droptail" }}\n{station}')


def disturbed(key: str) -> Callable[[str], str]:
    return lambda name: small(link(f'queue = "droptail", {key} = "{name}"'))


def line(name: str) -> str:
    return small(f'access.profile = "{name}"\nbottleneck.queue = "droptail"')


KINDS = {
    "queues": queue,
    "controls": control,
    "traffic": traffic,
    "media": medium,
    "noises": disturbed("noise"),
    "protections": disturbed("protection"),
    "access": line,
}
# A page has no programs whose packets could come.
REGISTERED = {
    f"{kind}: {member['name']}": made(member["name"])
    for kind, made in KINDS.items()
    for member in CATALOGUE[kind]
    if member["name"] != "program"
}
TEXTS = {CHANGED: CHANGED_TEXT, **REGISTERED}


def timeless(record: str) -> str:
    """Return a record without the time by the machine's clock."""
    text, found = re.subn(r'"wall_s":[^,]+,', "", record)
    assert found == 1
    return text


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """Return what the engine in the page says of every ready scenario and of every registered name."""
    assert NODE is not None
    command = [NODE, str(RECORDS), str(Path(__file__).parent.parent / "web" / "engine.js"), str(PAGE / "engine.wasm")]
    done = subprocess.run(
        command,
        input=json.dumps([*READY, *({"name": name, "text": text} for name, text in TEXTS.items())]),
        capture_output=True,
        text=True,
        check=True,
        timeout=10 * PATIENCE_S,
    )
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


@pytest.mark.parametrize("name", [*READY, *TEXTS])
def test_a_record_is_the_native_one_byte_by_byte(answers: dict[str, Any], name: str) -> None:
    scenario = _native.load(TEXTS[name], name) if name in TEXTS else _native.load_ready(name)
    (run,) = scenario.run([scenario.seed], 1, worlds.Wanted().native, None)
    assert timeless(answers[name]["whole"]) == timeless(run.record())


def test_the_change_of_a_group_matters(answers: dict[str, Any]) -> None:
    first_change = CHANGED_TEXT.index("[[change]]")
    without = CHANGED_TEXT[:first_change] + CHANGED_TEXT[CHANGED_TEXT.index("[[change]]", first_change + 1) :]
    (run,) = _native.load(without, CHANGED).run([1], 1, worlds.Wanted().native, None)
    assert timeless(run.record()) != timeless(answers[CHANGED]["whole"])


@pytest.mark.parametrize("name", [*READY, *TEXTS])
def test_slices_leave_no_trace(answers: dict[str, Any], name: str) -> None:
    assert answers[name]["sliced"] == answers[name]["whole"]
    assert answers[name]["differs"] == []
