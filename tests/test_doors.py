"""The four doors, and a page of the guide: what each command prints is what stands below it."""

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.conftest import Command

DOCS = Path(__file__).parent.parent / "docs"
DOORS = DOCS / "doors"
MY_LINE = "my-line"
CAPTURE = "upload.pcap.gz"
EXAMPLE = re.compile(r"```sh\nsojourn (?P<words>(?:.*\\\n)*.*)\n```\n\n```text\n(?P<shown>(?:.*\n)*?)```\n")
LEFT_OUT = "...\n"
COMMANDS = 3
QUICK = ("control", "teaching")
LONG = ("home", "paper")


def test_each_door_has_three_commands() -> None:
    found = {page.stem: len(EXAMPLE.findall(page.read_text(encoding="utf-8"))) for page in DOORS.glob("*.md")}
    assert found == dict.fromkeys((*QUICK, *LONG), COMMANDS)


@pytest.mark.parametrize("door", [*QUICK, MY_LINE, *(pytest.param(door, marks=pytest.mark.long) for door in LONG)])
def test_what_a_door_shows_is_what_its_commands_print(
    door: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (DOCS / "guide" if door == MY_LINE else DOORS) / f"{door}.md"
    shutil.copy(DOCS / "guide" / CAPTURE, tmp_path)
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    renewed = text
    for example in EXAMPLE.finditer(text):
        outcome = command(*shlex.split(example["words"].replace("\\\n", " ")))
        assert outcome.code == 0, outcome.err
        printed = "".join(f"{line.rstrip()}\n" for line in outcome.out.splitlines())
        if os.environ.get("SOJOURN_RECORD"):
            if example["shown"].endswith(LEFT_OUT):
                printed = "".join(printed.splitlines(keepends=True)[:9]) + LEFT_OUT
            renewed = renewed.replace(
                example[0], example[0].replace(f"```text\n{example['shown']}", f"```text\n{printed}")
            )
        elif example["shown"].endswith(LEFT_OUT):
            assert printed.startswith(example["shown"].removesuffix(LEFT_OUT))
        else:
            assert printed == example["shown"]
    if os.environ.get("SOJOURN_RECORD"):
        page.write_text(renewed, encoding="utf-8")
