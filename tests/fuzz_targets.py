"""What any bytes do to what Python reads: the bodies of the fuzz targets of `scripts/fuzz`.

A body takes bytes for a file or a message, and raises where they are neither refused in words nor something that can be
used. `scripts/fuzz_python.py` puts a body behind libFuzzer; `test_fuzzing.py` leads each through its corpus in
fuzz/corpus and through damaged copies of it, so that none can rot unseen.
"""

import functools
import json
import math
import tempfile
import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.conftest import SMALL

import sojourn
from sojourn import InputError, Plan, qlog, reading, store
from sojourn.detect import download, features
from sojourn.detect.captured import read_streams
from sojourn.detect.model import Model
from sojourn.detect.passive import passive
from sojourn.detect.stored import load_model
from sojourn.imported import read as read_line
from sojourn.study import kept
from sojourn.study import means as study_means
from sojourn.study.load import StudyFolder
from sojourn.study.means import Means, Reduced
from sojourn.study.numbers import Number
from sojourn.study.template import START
from sojourn.sweeps import Dataset
from sojourn.sweeps.local import run_local
from sojourn.worlds.hosts import admission, asking, protocol, reports, world
from sojourn.worlds.hosts.admission import Ends, Limits, RefusedError
from sojourn.worlds.hosts.protocol import Decoder, ProtocolError
from sojourn.worlds.linux import record as record_of
from sojourn.worlds.linux import series
from sojourn.worlds.linux.errors import JobError

Body = Callable[[bytes], None]

_LONGEST_MESSAGE = 5000


class FoundError(AssertionError):
    """Bytes that are neither refused in words nor something that can be used."""


def _tried(use: Callable[[], Any], *refusals: type[Exception]) -> None:
    """Use something; raise FoundError where its refusal is nothing that a terminal can have."""
    try:
        use()
    except refusals as error:
        said = str(error)
        if reading.printable(said) != said or not 0 < len(said) < _LONGEST_MESSAGE:
            raise FoundError(f"the refusal is {said[:200]!r}") from error


@functools.cache
def place() -> Path:
    """Return a folder with what the targets need beside the bytes: made once for each process."""
    folder = tempfile.TemporaryDirectory(prefix="fuzz-")
    # Removed with the process.
    _FOLDERS.append(folder)
    found = Path(folder.name)
    (found / "base.toml").write_text(SMALL, encoding="utf-8")
    axes = {"group.tcp.flows": [1, 2]}
    plan = Plan.of({"base": "base.toml", "set": {"duration": "0.2 s"}, "axes": axes}, folder=str(found))
    dataset = Dataset.create(found / "dataset", plan, 1)
    run_local(plan, dataset, 1, lambda status: None)
    sojourn.Scenario.load(found / "base.toml", {"duration": "0.2 s"}).run().save(found / "result")
    (found / "item").mkdir()
    (found / "item" / "study.toml").write_bytes((START / "study.toml").read_bytes())
    return found


_FOLDERS: list[Any] = []


def sweep(data: bytes) -> None:
    """Take any bytes for a sweep file."""
    file = place() / "sweep.toml"
    file.write_bytes(data)

    def use() -> None:
        plan = Plan.load(file)
        assert plan.points >= 1
        assert plan.runs == plan.points * plan.seeds
        plan.scenario(plan.point(plan.points - 1))

    _tried(use, InputError)


def study(data: bytes) -> None:
    """Take any bytes for a study's tables, with the means that the study of the package's template measures."""
    folder = place() / "study"
    folder.mkdir(exist_ok=True)
    (folder / "study.toml").write_bytes(data)

    def use() -> None:
        found = StudyFolder.load(folder)
        found.plans()
        found.study()
        for item in found.tables["item"]:
            found.sweeps_of(item)
            assert (folder / item["name"]).resolve().parent == folder.resolve()
            with suppress(InputError):
                list(found.checks(item, _means()))
            for name in found.findings(item, _means()).figures:
                assert (folder / f"{name}.png").resolve().parent == folder.resolve()

    _tried(use, InputError)


@functools.cache
def _means() -> Means:
    reduced = Reduced(("queue", "rate_mbps"))
    for queue in ("DropTail", "CoDel"):
        for rate in (5, 10):
            at = {"queue": queue, "rate_mbps": rate}
            for group, share in (("tcp", 0.75), ("background", 0.25)):
                reduced.add(at, group, "share", Number(share, 0.01, 3))
            reduced.add(at, "", "bottleneck_queue_ms_mean", Number(10.0 * rate, 1.0, 3))
    return Means({"capacity": reduced})


def found(data: bytes) -> None:
    """Take any bytes for what a folder keeps of an item: found.json."""
    given = StudyFolder.load(place() / "item").study()
    file = place() / given.items[0].name / kept.FOUND
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)

    def use() -> None:
        for findings in kept.read_items(place(), given).values():
            assert all(isinstance(check.claim, str) for check in findings.checks)

    _tried(use, InputError)


def means(data: bytes) -> None:
    """Take any bytes for the means that a study keeps."""
    (place() / "capacity.parquet").write_bytes(data)

    def use() -> None:
        for reduced in study_means.read(place(), ["capacity"]).values():
            for _, group, metric, number in reduced.rows():
                assert isinstance(group, str)
                assert isinstance(metric, str)
                number.text()

    _tried(use, InputError)


def dataset(data: bytes) -> None:
    """Take any bytes for the description of a dataset."""
    file = place() / "dataset" / "sweep.json"
    _dataset(file, data)


def part(data: bytes) -> None:
    """Take any bytes for a table of a dataset."""
    _dataset(place() / "dataset" / "runs" / "part-000001.parquet", data)


def _dataset(file: Path, data: bytes) -> None:
    sound = file.read_bytes()
    file.write_bytes(data)

    def use() -> None:
        opened = Dataset.open(place() / "dataset")
        assert opened.table("runs").num_rows >= 0

    try:
        _tried(use, InputError)
    finally:
        file.write_bytes(sound)


def record(data: bytes) -> None:
    """Take any bytes for the record of a result."""
    file = place() / "result" / store.RECORD
    file.write_bytes(data)
    _tried(lambda: sojourn.Result.load(file.parent), InputError)


def request(data: bytes) -> None:
    """Take any bytes for what a peer says to an agent that has let it in."""
    with suppress(ProtocolError):
        for message in Decoder(protocol.REQUEST_BYTES).feed(data + b"\n"):
            if message["type"] != "run":
                continue
            _tried(lambda: _planned(message), ProtocolError, RefusedError)  # noqa: B023 (called at once)


def _planned(message: dict[str, Any]) -> None:
    plan = admission.plan(message, Limits(), Ends("192.0.2.7", "198.51.100.9", 5341), 100.0)
    assert plan["duration_s"] <= Limits().duration_s
    assert {(one["local"], one["peer"]) for one in plan["flows"]} == {("192.0.2.7", "198.51.100.9")}
    json.dumps(plan, allow_nan=False)


def report(data: bytes) -> None:
    """Take any bytes for what an agent reports to its peer."""
    with suppress(ProtocolError):
        for message in Decoder(1 << 20).feed(data + b"\n"):
            _tried(lambda: _reported(message), ProtocolError, JobError)  # noqa: B023 (called at once)


def _reported(message: dict[str, Any]) -> None:
    reports.kernel(message)
    ends = [{"id": 0, "sent_bytes": 7}, {"id": 1, "delivered_bytes": [1] * 20}]
    ping = {"id": "probe", "sent_s": [0.0, 0.5], "rtt_ms": [30.0, 50.0]}
    run = world.observed(_job(), {"flows": ends, "pings": [ping]}, message)
    json.loads(record_of.record(run, 1, "hosts", 1.0))
    series.flows(run)
    series.queue(run)


@functools.cache
def _job() -> Any:
    link = {"rate": "1 Mbit/s", "queue": {"kind": "droptail", "limit": "50 packets"}}
    group = {"control": "ledbat", "rtt": "20 ms"}
    groups = [{**group, "name": "forth"}, {**group, "name": "back", "direction": "reverse"}]
    resolved = sojourn.scenario(duration="1 s", bottleneck=link, reverse=link, group=groups).to_dict()
    return asking.job(resolved, 1, Ends("198.51.100.9", "192.0.2.7", 5341), 0.1)


def model(data: bytes) -> None:
    """Take any bytes for a detector's model; what is one judges any features."""
    file = place() / "model.npz"
    file.write_bytes(data)

    def use() -> None:
        found = load_model(file)
        for value in (0.0, 1e6, float("nan")):
            probed = dict.fromkeys(features.NAMES, value)
            judged = [found.judge(probed, whole=whole) for whole in (True, False)]
            judged.append(found.judge_download(dict.fromkeys(download.NAMES, value)))
            assert all(math.isfinite(sum(one.names.values()) + one.novelty) for one in judged)
            for name in judged[0].names:
                assert all(read.low <= read.high for read in found.read(name, probed, whole=True).values())

    _tried(use, InputError)


@functools.cache
def _model() -> Model:
    return load_model()


def capture(data: bytes) -> None:
    """Take any bytes for a capture of a download."""
    file = place() / "download.pcap"
    file.write_bytes(data)

    def use() -> None:
        streams, notes = read_streams(file)
        found = passive(streams, _model(), notes).document()
        json.dumps(found, allow_nan=False)

    _tried(use, InputError)


def line(data: bytes) -> None:
    """Take any bytes for a measurement of a line, or a router's settings."""
    file = place() / "measured"
    file.write_bytes(data)

    def use() -> None:
        found = read_line(str(file))
        json.dumps(found.document(), allow_nan=False)
        assert tomllib.loads(found.toml()) == found.tables()
        if found.trace is None:
            assert sojourn.scenario(found.tables()).groups

    _tried(use, InputError)


def log(data: bytes) -> None:
    """Take any bytes for a qlog file."""
    file = place() / "log.qlog"
    file.write_bytes(data)

    def use() -> None:
        found = qlog.read(file)
        decisions = list(found.of())
        assert decisions
        assert all(one.kind in qlog.KINDS for one in decisions)
        qlog.compare(found, found, qlog.KINDS).document()

    _tried(use, InputError)


TARGETS: dict[str, Body] = {
    "sweep": sweep,
    "study": study,
    "found": found,
    "means": means,
    "dataset": dataset,
    "part": part,
    "record": record,
    "request": request,
    "report": report,
    "model": model,
    "capture": capture,
    "line": line,
    "qlog": log,
}
"""Every body, by the name of its target."""

_CORPUS = Path(__file__).parent.parent / "fuzz" / "corpus"
# What is hostile as a sweep is so as a study.
_MORE = {name: [Path(__file__).parent / "hostile" / "sweeps"] for name in ("sweep", "study")}


def corpora(target: str) -> list[Path]:
    """Return the folders with a target's seeds."""
    return [_CORPUS / target, *_MORE.get(target, [])]
