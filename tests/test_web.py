"""The engine in the page: WebAssembly gives the native engine's bytes."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import PATIENCE_S

import sojourn
from sojourn import _native

PAGE = Path(sojourn.__file__).parent / "page"
NODE = shutil.which("node")
RECORDS = Path(__file__).parent / "records.mjs"
ALL = [scenario["name"] for scenario in sojourn.catalogue()["scenarios"]]
# Cells, and WiFi whose rates are selected by channels, are left out of the page for their size.
LEFT_OUT = [name for name in ALL if name.startswith(("lte-", "5g-")) or "snr_db" in _native.load_ready(name).to_toml()]
READY = [name for name in ALL if name not in LEFT_OUT]

pytestmark = [
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


def timeless(record: str) -> str:
    """Return a record without the time by the machine's clock."""
    text, found = re.subn(r'"wall_s":[^,]+,', "", record)
    assert found == 1
    return text


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """Return what the engine in the page says of every ready scenario."""
    assert NODE is not None
    command = [NODE, str(RECORDS), str(PAGE / "engine.js"), str(PAGE / "engine.wasm")]
    done = subprocess.run(
        command,
        input=json.dumps([*READY, {"name": CHANGED, "text": CHANGED_TEXT}]),
        capture_output=True,
        text=True,
        check=True,
        timeout=10 * PATIENCE_S,
    )
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


@pytest.mark.parametrize("name", [*READY, CHANGED])
def test_a_record_is_the_native_one_byte_by_byte(answers: dict[str, Any], name: str) -> None:
    scenario = _native.load(CHANGED_TEXT, CHANGED) if name == CHANGED else _native.load_ready(name)
    (run,) = scenario.run([scenario.seed], 1, (None, False, False, False, False), None)
    assert timeless(answers[name]["whole"]) == timeless(run.record())


def test_the_change_of_a_group_matters(answers: dict[str, Any]) -> None:
    first_change = CHANGED_TEXT.index("[[change]]")
    without = CHANGED_TEXT[:first_change] + CHANGED_TEXT[CHANGED_TEXT.index("[[change]]", first_change + 1) :]
    (run,) = _native.load(without, CHANGED).run([1], 1, (None, False, False, False, False), None)
    assert timeless(run.record()) != timeless(answers[CHANGED]["whole"])


@pytest.mark.parametrize("name", [*READY, CHANGED])
def test_slices_leave_no_trace(answers: dict[str, Any], name: str) -> None:
    assert answers[name]["sliced"] == answers[name]["whole"]
    assert answers[name]["differs"] == []


CHECK = """
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const [, glue, binary, text] = process.argv;
const { Engine } = await import(pathToFileURL(glue));
const engine = await Engine.of(await WebAssembly.compile(readFileSync(binary)));
process.stdout.write(JSON.stringify(engine.check({ text, name: "page" })));
"""


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_medium_that_is_left_out_is_refused_in_words(name: str) -> None:
    assert NODE is not None
    text = _native.load_ready(name).to_toml()
    command = [NODE, "--input-type=module", "-e", CHECK, str(PAGE / "engine.js"), str(PAGE / "engine.wasm"), text]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    # What follows from it is said too: without a cell, that flows of the other direction have no way back.
    messages = [problem["message"] for problem in json.loads(done.stdout)["problems"]]
    assert any("on the command line only" in message for message in messages), messages
