"""What tests of a line's speed wrote: iperf3, ndt7 and flent.

A test tells goodput, from which the rate of IP packets follows, and round-trip times while it fills the line: the least
is that of the path, the longest that of a full queue. Which queue it is cannot be told from so few numbers.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sojourn.imported.line import DOWN, PAYLOAD_SHARE, UP, Estimate, Imported, Measured, Way
from sojourn.imported.registry import Kind, Source
from sojourn.reading import check_plain, input_error, shown

# A test that ends while a slow start still fills the buffer reads a little less than the line carries.
_LESS, _MORE = 0.98, 1.03
_HEADERS = f"goodput over {PAYLOAD_SHARE:.3f}, the payload of full packets"
_LEAST_S = 3.0
_MOST = 1e15
_USUAL_RTT_MS, _SHORT_RTT_MS = 30.0, 5.0


def _document(source: Source, what: str) -> dict[str, Any]:
    try:
        value = json.loads(source.text)
    except (ValueError, RecursionError):
        raise input_error(f"cannot be read as JSON, which {what} is; is it whole?", file=source.name) from None
    check_plain(value, source.name)
    if not isinstance(value, dict):
        raise input_error(f"holds no object, as {what} does", file=source.name)
    return value


def _rate(goodput_mbps: float, source: str) -> Estimate:
    rate = goodput_mbps / PAYLOAD_SHARE
    return Estimate(rate, f"{source} {goodput_mbps:.4g} Mbit/s; {_HEADERS}", _LESS * rate, _MORE * rate)


def _number(value: Any) -> float | None:
    """Return a number above zero that a line may have; None for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value < _MOST else None


def _at(document: Any, *keys: str) -> Any:
    """Return what lies under keys, one within the other; an empty table where anything on the way is missing."""
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    return {} if document is None else document


# iperf3 --json

# As Linux calls them; CUBIC's and BBR's names are the same.
_CONTROLS = {
    "reno": "newreno",
    "cubic": "cubic",
    "bbr": "bbr",
    "vegas": "vegas",
    "westwood": "westwood",
    "lp": "tcp_lp",
}


def _read_iperf3(source: Source) -> Imported:
    told = _document(source, "what `iperf3 --json` prints")
    if told.get("error"):
        raise input_error(f"iperf3 failed: {shown(told['error'])}", file=source.name)
    end, setting = _at(told, "end"), _at(told, "start", "test_start")
    if _at(setting, "protocol") == "UDP":
        raise input_error("found a test with UDP, which fills no queue by itself; allowed: TCP", file=source.name)
    every = _at(end, "streams")
    streams = [_at(one, "sender") for one in every if _at(one, "sender")] if isinstance(every, list) else []
    got = _at(end, "sum_received") or _at(end, "sum_sent")
    goodput, seconds = _number(_at(got, "bits_per_second")), _number(_at(got, "seconds")) or 0.0
    if goodput is None or not streams:
        raise input_error("holds no TCP stream that ended", file=source.name, allowed="a whole test over TCP")
    name = DOWN if _at(setting, "reverse") else UP
    rtts = {key: [x for one in streams if (x := _number(_at(one, key)))] for key in ("min_rtt", "mean_rtt", "max_rtt")}
    control = _CONTROLS.get(str(_at(end, "sender_tcp_congestion")))
    remarks = [] if seconds >= _LEAST_S else [f"The test lasted {seconds:.2g} s only, hardly longer than a slow start."]
    if not all(rtts.values()):
        # The sender reads RTTs; of a reverse test that is the other host.
        remarks.append("The file has no round-trip times: those of the host that sends are printed there.")
        way = Way(_rate(goodput / 1e6, f"{len(streams)} stream(s) got"), flows=len(streams))
        return Imported("iperf3", source.name, {name: way}, None, seconds, (), control, tuple(remarks))
    # It reads the kernel's smoothed RTT once in an interval, when a deep queue has long been full.
    least, longest = min(rtts["min_rtt"]) / 1e3, max(rtts["max_rtt"]) / 1e3
    usual = min(_USUAL_RTT_MS, least)
    base = Estimate(usual, f"at most {least:.4g} ms, the least that iperf3 read", min(_SHORT_RTT_MS, usual), least)
    deep = Estimate(
        max(longest - usual, 1.0),
        f"the longest RTT that iperf3 read, {longest:.4g} ms, less that without a queue",
        max(longest - least, 1.0),
        longest,
    )
    way = Way(_rate(goodput / 1e6, f"{len(streams)} stream(s) got"), buffer_ms=deep, flows=len(streams))
    mean = float(np.mean(rtts["mean_rtt"])) / 1e3
    return Imported(
        "iperf3",
        source.name,
        {name: way},
        base,
        seconds,
        (
            Measured("goodput", "goodput_mbps", goodput / 1e6, "Mbit/s"),
            Measured("round trip, mean", "rtt_ms_mean", mean),
        ),
        control,
        tuple(remarks),
    )


IPERF3 = Kind(
    "iperf3",
    "what `iperf3 --json` prints",
    lambda one: one.sample.lstrip().startswith("{") and '"test_start"' in one.sample,
    _read_iperf3,
)

# ndt7-client -format json. A test of a direction lasts 10 s (ndt7's specification, "Test duration").
_NDT7_S = 10.0


def _read_ndt7(source: Source) -> Imported:
    told = _document(source, "the summary of ndt7-client")
    ways: dict[str, Way] = {}
    rtts: list[float] = []
    measured: list[Measured] = []
    for key, name in (("Upload", UP), ("Download", DOWN)):
        speed, latency = _at(told, key, "Throughput"), _at(told, key, "Latency") or _at(told, key, "MinRTT")
        goodput, base = _number(_at(speed, "Value")), _number(_at(latency, "Value"))
        if goodput is None:
            continue
        unit = _at(speed, "Unit") or "Mbit/s"
        if unit != "Mbit/s":
            raise input_error(f"{key}.Throughput.Unit: found {shown(unit)}; allowed: Mbit/s", file=source.name)
        ways[name] = Way(_rate(goodput, "one connection got"))
        rtts += [] if base is None else [base]
        if not measured:
            measured = [Measured("goodput", "goodput_mbps", goodput, "Mbit/s")]
    if not ways:
        raise input_error("has neither Download nor Upload with a throughput", file=source.name)
    remarks = (
        "One connection may get less than the line carries, with losses or over a long path.",
        "How deep buffers are cannot be told from this file; a capture of the test can.",
    )
    rtt = Estimate(min(rtts), "the least round trip") if rtts else None
    return Imported("ndt7", source.name, ways, rtt, _NDT7_S, tuple(measured), None, remarks)


NDT7 = Kind(
    "ndt7",
    "the summary of ndt7-client -format json",
    lambda one: one.sample.lstrip().startswith("{") and '"Throughput"' in one.sample and '"ServerFQDN"' in one.sample,
    _read_ndt7,
)

# flent's data file, a JSON document that is mostly packed with gzip.


def _series(told: Mapping[str, Any], file: str) -> dict[str, np.ndarray]:
    results, times = told.get("results"), told.get("x_values")
    if not isinstance(results, Mapping) or not isinstance(times, list):
        raise input_error("has no results and x_values, as a data file of flent has", file=file)
    found = {}
    for name, values in results.items():
        if isinstance(values, list) and len(values) == len(times):
            known = [_number(one) for one in values]
            found[name] = np.array([np.nan if one is None else one for one in known], dtype=np.float64)
    return found


def _read_flent(source: Source) -> Imported:
    told = _document(source, "a data file of flent")
    series = _series(told, source.name)
    pings = [one for name, one in series.items() if "ping (ms)" in name.lower() and "avg" not in name.lower()]
    if not pings or all(np.isnan(one).all() for one in pings):
        raise input_error("has no ping, which tells how long packets wait", file=source.name)
    rtt = np.nanmin(np.vstack(pings), axis=0) if len(pings) > 1 else pings[0]
    if np.isnan(rtt).all():
        raise input_error("has no ping that came back", file=source.name)
    base = float(np.nanpercentile(rtt, 1))
    ways = {}
    for name, word in ((UP, "upload"), (DOWN, "download")):
        streams = _streams(series, word)
        if not streams:
            continue
        total = np.nansum(np.vstack(streams), axis=0)
        # While streams start and end the line is not full.
        goodput = float(np.nanmedian(total[total > 0])) if (total > 0).any() else 0.0
        if goodput > 0:
            ways[name] = (goodput, len(streams))
    if not ways:
        raise input_error("has no stream of TCP, which fills the line", file=source.name)
    loaded = float(np.nanpercentile(rtt, 99))
    remarks = [] if len(ways) == 1 else ["A ping crosses both queues, so that how the wait parts between them is open."]
    least = 1.0
    waits = loaded - base
    made = {
        name: Way(
            _rate(goodput, f"{flows} stream(s) got, in the median,"),
            buffer_ms=Estimate(
                max(waits / len(ways), least),
                f"99 % of pings took up to {loaded:.4g} ms, {base:.4g} without load",
                max(0.5 * waits / len(ways), least),
                max(1.2 * waits, 1.2 * least),
            ),
            flows=flows,
        )
        for name, (goodput, flows) in ways.items()
    }
    # A test is idle before and after its streams.
    under = rtt[
        np.nansum(np.vstack([one for name in (UP, DOWN) for one in _streams(series, f"{name}load")]), axis=0) > 0
    ]
    measured = [Measured("wait, median", "bottleneck_queue_ms_p50", float(np.nanmedian(under)) - base)]
    return Imported(
        "flent",
        source.name,
        made,
        Estimate(base, "1 % of pings took no longer"),
        float(np.ptp(times)) if len(times := [one for one in told["x_values"] if _number(one)]) > 1 else None,
        tuple(measured) if len(ways) == 1 else (),
        None,
        tuple(remarks),
    )


def _streams(series: Mapping[str, np.ndarray], word: str) -> Sequence[np.ndarray]:
    """Return the streams of a direction; sums and means of them, and the sides of a class, are series of their own."""
    return [
        one
        for name, one in series.items()
        if word in name.lower() and not any(part in name.lower() for part in ("avg", "sum", "totals", "::"))
    ]


FLENT = Kind(
    "flent",
    "a data file of flent, .flent.gz",
    lambda one: one.sample.lstrip().startswith("{") and '"x_values"' in one.data.decode("utf-8", errors="replace"),
    _read_flent,
)
