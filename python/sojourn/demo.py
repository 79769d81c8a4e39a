"""The main job: the papers' motivating example, then a recorded cellular link.

`python -m sojourn.demo` prints the papers' numbers beside the measured ones and draws figures in `demo/`.
"""

import os
import sys
import time
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import click

from sojourn import InputError, Result, Scenario
from sojourn.cli.render import print_grid
from sojourn.report import Grid, Shown

OUT = Path("demo")
TRACES = Path("../shared/data/cellular")
TRACE = "Verizon-LTE-short.down"
SETTLED = "10 s"


def main() -> None:
    """Run both parts; each says what it did and how long it took."""
    OUT.mkdir(exist_ok=True)
    motivating_example()
    cellular()


def motivating_example() -> None:
    """Run DropTail beside RED, print paper and measured, draw who uses the link."""
    paper = tomllib.loads(resources.files("sojourn").joinpath("motivating-example.toml").read_text(encoding="utf-8"))
    begun = time.monotonic()
    results = [Scenario.load(panel["scenario"]).run() for panel in paper["panel"]]
    settled = [Scenario.load(panel["scenario"], {"warmup": SETTLED}).run(series=False) for panel in paper["panel"]]
    simulated = time.monotonic()
    _say(f"1. The motivating example: {paper['setting']}\n   paper: {paper['source']}\n")
    _print_comparison(paper["panel"], results, settled)
    from sojourn.figures import utilization

    _save(utilization(results, [panel["title"] for panel in paper["panel"]]), "motivating-example")
    _say(f"   which shows the first of {len(results[0].runs)} runs (seed {results[0].runs[0].seed})")
    _say_times(sum(len(result.runs) for result in results + settled), begun, simulated)
    _say("")


def cellular() -> None:
    """Run a download and a background download over a cellular link; draw queue delay and throughput."""
    trace = recorded_trace()
    overrides = {} if trace is None else {"bottleneck.trace": str(trace)}
    link = "the bundled synthetic link" if trace is None else f"the recorded link {trace.name}"
    begun = time.monotonic()
    result = Scenario.load("cellular", overrides).run()
    simulated = time.monotonic()
    summary = result.summary
    _say(f"2. A NewReno and a LEDBAT download over {link}")
    for group in result.groups:
        _say(f"   {group}: {Shown('', '').cell(summary[f'goodput_mbps.{group}'])} Mbit/s")
    delay, tail = (
        Shown("", "").cell(summary[metric]) for metric in ("bottleneck_queue_ms_mean", "bottleneck_queue_ms_p99")
    )
    _say(f"   queue delay: {delay} ms in the mean, 99th percentile {tail} ms")
    _save(result.plot(), "cellular")
    _say_times(len(result.runs), begun, simulated)


def recorded_trace() -> Path | None:
    """Return the recorded trace where this machine has it: in $SOJOURN_TRACES, or beside the project."""
    folder = Path(os.environ.get("SOJOURN_TRACES", TRACES))
    trace = (folder / TRACE).resolve()
    return trace if trace.is_file() else None


def _print_comparison(panels: list[dict[str, Any]], results: list[Result], settled: list[Result]) -> None:
    rows = []
    for panel, result, late in zip(panels, results, settled, strict=True):
        compared = (
            (panel["share_percent"], Shown("TCP share [%]", f"share.{result.groups[0]}", 100, 1)),
            (panel["queue_packets"], Shown("mean queue [packets]", "bottleneck_queue_packets_mean")),
            (panel["utilization_percent"], Shown("utilization [%]", "bottleneck_utilization", 100, 1)),
        )
        rows += [
            [
                f"{panel['title']}: {shown.label}",
                f"{printed:g}",
                shown.cell(result.summary[shown.metric]),
                shown.cell(late.summary[shown.metric]),
            ]
            for printed, shown in compared
        ]
    print_grid(Grid(["", "paper", "measured", f"from {SETTLED} on"], rows))
    _say("   the paper does not say whether the start counts; docs/validation.md varies what else it leaves open\n")


def _save(figure: Any, name: str) -> None:
    from sojourn.figures import save_figure

    paths = [OUT / f"{name}{suffix}" for suffix in (".png", ".pdf")]
    for path in paths:
        save_figure(figure, path)
    _say(f"   wrote {' and '.join(map(str, paths))}")


def _say_times(runs: int, begun: float, simulated: float) -> None:
    drawn = time.monotonic() - simulated
    _say(f"   {runs} run(s) in {simulated - begun:.2f} s, figure in {drawn:.2f} s")


def _say(text: str) -> None:
    click.echo(text)


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
