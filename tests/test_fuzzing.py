"""What reads files, on any bytes: refused in words, or read as something that can be used.

The parsers of the Rust side have bodies of their own in crates/sojourn-fuzz. Those of the Python side are in
fuzz_targets; here they are led through the seeds in fuzz/corpus and through damaged copies of these. What the hosts say
to each other, step by step, is in test_hosts_protocol.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.kernel import recording
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import fuzz_targets
from tests.conftest import SMALL

from sojourn import InputError, Plan
from sojourn.worlds.linux.captures import HEADER_BYTES, MAGIC, ROW, CaptureError, match, read_capture

FILES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)


SEEDS = [
    pytest.param(target, file, id=f"{target}-{file.name}")
    for target in fuzz_targets.TARGETS
    for folder in fuzz_targets.corpora(target)
    for file in sorted(folder.iterdir())
]


def test_every_target_has_seeds_of_which_one_is_sound() -> None:
    for target in fuzz_targets.TARGETS:
        names = [file.name for folder in fuzz_targets.corpora(target) for file in folder.iterdir()]
        assert "sound" in names, target
        assert len(names) > 5, target


@pytest.mark.parametrize(("target", "file"), SEEDS)
def test_a_seed_is_refused_or_can_be_used(target: str, file: Path) -> None:
    fuzz_targets.TARGETS[target](file.read_bytes())


@pytest.mark.parametrize("target", fuzz_targets.TARGETS)
def test_a_sound_seed_can_be_used(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bodies take sound bytes: else all that they try would be refused, and nothing tested."""

    def use(use: Callable[[], Any], *_refusals: type[Exception]) -> None:
        use()

    monkeypatch.setattr(fuzz_targets, "_tried", use)
    fuzz_targets.TARGETS[target](fuzz_targets.corpora(target)[0].joinpath("sound").read_bytes())


@pytest.mark.parametrize("target", fuzz_targets.TARGETS)
def test_damaged_seeds_are_refused_or_can_be_used(target: str) -> None:
    chance = random.Random(target)
    seeds = [file.read_bytes() for folder in fuzz_targets.corpora(target) for file in sorted(folder.iterdir())]
    # As a rule the sound one: of others little is read.
    seeds += [fuzz_targets.corpora(target)[0].joinpath("sound").read_bytes()] * len(seeds)
    for _ in range(40):
        fuzz_targets.TARGETS[target](damaged(chance.choice(seeds), chance))


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Change, drop or repeat a few bytes, or put others in."""
    found = bytearray(data or b"x")
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(found) or 1)
        match chance.randrange(4):
            case 0:
                found[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                del found[place : place + chance.randint(1, 9)]
            case 2:
                found[place:place] = found[place : place + chance.randint(1, 99)]
            case _:
                found[place:place] = chance.choice([b"{}", b"[]", b'"', b"1e999", b"-", b"null", b"[" * 2000, b"../"])
    return bytes(found)


def _tried(read: Callable[[Path], Any], file: Path, refusal: type[Exception]) -> tuple[Any, str]:
    """Return what `read` makes of a file, or the words of its refusal."""
    try:
        return read(file), ""
    except refusal as error:
        return None, str(error)


WORDS = st.sampled_from(
    [
        *("base", "seeds", "first_seed", "world", "shaper", "set", "axes", "zip", "cases", "scenario", "name"),
        *(
            "range",
            "from",
            "to",
            "count",
            "step",
            "scale",
            "log",
            "bottleneck.queue",
            "bottleneck.rate",
            "group.tcp.flows",
        ),
        *("besteffort", "quickstart", "linux", "10 Mbit/s", "1 Mbit/s", "codel", "", "duration", "2 s"),
    ]
)
VALUES = st.recursive(
    WORDS | st.integers(-5, 50) | st.floats() | st.booleans() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@FILES
@given(st.dictionaries(WORDS, VALUES, max_size=6))
def test_any_tables_are_a_sweep_or_refused(tables: dict[str, Any]) -> None:
    try:
        plan = Plan.of(tables)
    except InputError:
        return
    assert plan.points >= 1
    assert plan.runs == plan.points * plan.seeds
    plan.point(plan.points - 1)


SWEEP = """base = "base.toml"
seeds = 3

[axes]
"bottleneck.rate" = { from = "1 Mbit/s", to = "10 Mbit/s", count = 3 }
"group.tcp.flows" = [1, 2]

[cases.plain]
"bottleneck.queue" = "droptail"

[cases.codel]
"bottleneck.queue" = { kind = "codel", target = "5 ms" }
"""


def test_the_sweep_file_is_one(tmp_path) -> None:
    (tmp_path / "base.toml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    assert Plan.load(tmp_path / "sweep.toml").points == 12


@FILES
@given(st.lists(st.tuples(st.integers(0, len(SWEEP) - 1), st.text(max_size=3)), min_size=1, max_size=4))
def test_a_damaged_sweep_file_is_a_sweep_or_refused(tmp_path, damage: list[tuple[int, str]]) -> None:
    (tmp_path / "base.toml").write_text(SMALL, encoding="utf-8")
    text = SWEEP
    for at, other in damage:
        text = text[:at] + other + text[at + 1 :]
    file = tmp_path / "sweep.toml"
    file.write_text(text, encoding="utf-8", newline="")
    plan, refused = _tried(Plan.load, file, InputError)
    assert "sweep.toml" in refused if plan is None else plan.points >= 1


ROWS = st.binary(max_size=5 * ROW.itemsize)


@FILES
@given(st.binary(max_size=100) | ROWS.map(lambda rows: MAGIC + ROW.itemsize.to_bytes(8, "little") + bytes(16) + rows))
def test_any_bytes_are_a_capture_or_refused(tmp_path, data: bytes) -> None:
    file = tmp_path / "capture"
    file.write_bytes(data)
    found, refused = _tried(read_capture, file, CaptureError)
    if found is None:
        assert str(file) in refused
    else:
        assert len(found.rows) == (len(data) - HEADER_BYTES) // ROW.itemsize


def _row(data: bytes) -> bytes:
    """Return a row of a clock that has run for less than 292 years."""
    return data[:7] + bytes([data[7] & 0x7F]) + data[8:]


CAPTURED = st.lists(st.binary(min_size=ROW.itemsize, max_size=ROW.itemsize).map(_row), max_size=5)


@FILES
@given(CAPTURED, CAPTURED)
def test_any_two_captures_can_be_matched(tmp_path, before: list[bytes], after: list[bytes]) -> None:
    def capture(name: str, rows: list[bytes]) -> Any:
        file = tmp_path / name
        file.write_bytes(MAGIC + ROW.itemsize.to_bytes(8, "little") + bytes(16) + b"".join(rows))
        return read_capture(file)

    # Some packets pass.
    fates = match(capture("before", before), capture("after", after + before[:2]))
    assert len(fates.passed) == len(fates.arrived) == len(before)
    assert np.count_nonzero(fates.passed) >= min(2, len(before))


@pytest.fixture(scope="module")
def usual() -> recording.Recording:
    return recording.load("codel")


@FILES
@given(st.data())
def test_a_damaged_recording_is_not_taken_for_another(
    tmp_path_factory, usual: recording.Recording, data: st.DataObject
) -> None:
    whole = (recording.RECORDINGS / "codel.zip").read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    bit = 1 << data.draw(st.integers(0, 7))
    folder = tmp_path_factory.mktemp("recordings")
    (folder / "codel.zip").write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "RECORDINGS", folder)
        try:
            found = recording.load("codel")
        except Exception:
            # Refused, whatever the library calls it.
            return
    assert found.about == usual.about
    assert np.array_equal(found.left_ns, usual.left_ns)
    assert np.array_equal(found.left, usual.left)
