"""Model files of a detector: any bytes are refused in a sentence and in bounded time, or are a model that can judge."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models import CLASSES, HOSTILE, READER, packed, small

from sojourn import InputError
from sojourn.detect.download import NAMES as DOWNLOAD_NAMES
from sojourn.detect.features import NAMES
from sojourn.detect.stored import load_model, save

# Far more than a refusal takes, far less than a tree without an end.
PROMPT_S = 10.0


def test_a_small_model_is_read_and_judges(tmp_path: Path) -> None:
    save(tmp_path / "small.npz", small())
    (tmp_path / "again.npz").write_bytes(packed())
    for name in ("small.npz", "again.npz"):
        model = load_model(tmp_path / name)
        for value, best in ((0.0, "codel"), (9.0, "droptail")):
            probed = dict.fromkeys(NAMES, value)
            for judged in (
                model.judge(probed, whole=True),
                model.judge(probed, whole=False),
                model.judge_download(dict.fromkeys(DOWNLOAD_NAMES, value)),
            ):
                assert judged.best == best
                assert set(judged.names) == set(CLASSES)
                assert np.isfinite(judged.novelty)
        (read,) = model.read("codel", dict.fromkeys(NAMES, 9.0), whole=True).values()
        assert read.value == pytest.approx(np.exp(3.0))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_model_is_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    data, words = HOSTILE[name]
    file = tmp_path / "hostile.npz"
    file.write_bytes(data())
    began = time.monotonic()
    with pytest.raises(InputError) as refused:
        load_model(file)
    assert time.monotonic() - began < PROMPT_S
    said = str(refused.value)
    assert said.startswith(f"{file}: ")
    assert words in said
    assert said.endswith(", so it is no model of this version; `sojourn detect train` makes one")
    assert said.isprintable()


def test_the_command_refuses_what_is_no_model(command: Any, tmp_path: Path) -> None:
    (tmp_path / "cyclic.npz").write_bytes(HOSTILE["cyclic"][0]())
    os.mkfifo(tmp_path / "pipe.npz")
    with (tmp_path / "gigantic.npz").open("wb") as sparse:
        sparse.truncate(1 << 40)
    for name, words in (
        ("cyclic.npz", "a tree of 'full' leads to a node twice"),
        ("pipe.npz", "a device, a pipe or a socket, not a model file"),
        ("gigantic.npz", "too large for a model"),
        ("missing.npz", "no such file"),
    ):
        for what in (["motivating-red"], ["capture", tmp_path / "none.pcap"]):
            done = command("detect", *what, "--model", tmp_path / name)
            assert done.code == 2
            assert done.out == ""
            assert words in done.err
            assert name in done.err
            assert [line for line in done.err.splitlines() if name in line] == done.err.splitlines()[-1:]
    done = command("detect", "motivating-red", "--model", "/dev/zero")
    assert (done.code, "/dev/zero: a device" in done.err) == (2, True)


def test_readers_have_parameters_of_their_queues(tmp_path: Path) -> None:
    (tmp_path / "small.npz").write_bytes(packed())
    assert READER in load_model(tmp_path / "small.npz").forests
