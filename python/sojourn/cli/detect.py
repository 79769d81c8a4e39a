"""The commands of `detect`."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn import _native
from sojourn.cli import render
from sojourn.cli.examples import ExampleCommand, ExampleGroup, json_option
from sojourn.cli.targets import page_option, write_page
from sojourn.cli.worlds import WorldCommand
from sojourn.processors import usable_processors
from sojourn.progress import progress
from sojourn.reading import ROOT_HELP, input_error, read
from sojourn.record import Record
from sojourn.worlds import choose

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from sojourn.detect.answer import Answer
    from sojourn.detect.model import Judgement
    from sojourn.detect.passive import Passive
    from sojourn.detect.probe import Probed, Send
    from sojourn.detect.remedies import Remedy

_MAX_NAMES = 4
_PATH, _HOST, _CAPTURE = "path", "host", "capture"
_ADDRESS = re.compile(r"localhost(:\d+)?|[\w-]+(\.[\w-]+)+(:\d+)?", re.ASCII)


class _Detect(ExampleGroup):
    """A group whose first word may be a host, a scenario or a capture: then it is about the path to it, or in it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `host`, `path` or `capture` before what is no command."""
        named = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named or not args else [_meant(args[0]), *args])


def _meant(word: str) -> str:
    """Tell whether the first word is a host, a scenario or a capture; a file is meant wherever there is one."""
    from sojourn.detect.captured import is_download

    if is_download(Path(word)):
        return _CAPTURE
    is_file = Path(word).exists() or word.endswith(".toml")
    return _HOST if _ADDRESS.fullmatch(word) and not is_file else _PATH


@click.group(
    cls=_Detect,
    examples="""
    sojourn detect my-link.toml                            # the queue of a scenario's bottleneck, from its two ends
    sojourn detect my-link.toml --dry-run                  # seconds and bytes, and nothing is sent
    sojourn detect my-link.toml --world linux            # the same against a real kernel's queue
    sojourn detect 192.0.2.7 --secret-file secret          # the queue between this host and one of yours
    sojourn detect download.pcapng                         # what a capture of a download tells; nothing is sent
    sojourn detect train --out model.npz                   # train the classifier again
    """,
)
def detect() -> None:
    """Tell which queue is at a bottleneck, from what two hosts see of probe packets between them."""


@detect.command(
    _PATH,
    cls=WorldCommand,
    examples="""
    sojourn detect my-link.toml
    sojourn detect my-link.toml --set bottleneck.queue.kind=fq_codel --json
    sojourn detect my-link.toml --budget "20 MB"
    sojourn detect my-link.toml --page queue.html
    """,
)
@click.argument("source", metavar="FILE|READY-NAME")
@click.option("--dry-run", is_flag=True, help="Print seconds and bytes of the probe, and end.")
@click.option("--classes", is_flag=True, help="Ask whether code points (DSCP) and ECT(1) count, too: up to 10 s more.")
@click.option("--budget", default="60 MB", show_default=True, metavar="SIZE", help="Most that may be sent.")
@click.option("--model", type=click.Path(path_type=Path), metavar="FILE", help="Another classifier than Sojourn's own.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="N", help="Seed of the runs.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one key of the scenario.")
@click.option("--root", type=click.Path(), metavar="DIR", help=ROOT_HELP)
@page_option
@json_option
def path(  # noqa: PLR0913 (one for each option)
    source: str,
    world: str,
    dry_run: bool,
    classes: bool,
    budget: str,
    model: Path | None,
    seed: int,
    overrides: tuple[str, ...],
    root: str | None,
    page: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Name the queue of a scenario's bottleneck from what both ends of a probe log.

    The groups of the scenario are other traffic. Nothing that happens at the bottleneck itself is looked at.
    """
    from sojourn.detect.page import page as page_of
    from sojourn.detect.plan import CLASSES, QUESTIONS
    from sojourn.detect.plan import Path as ProbedPath
    from sojourn.detect.probe import estimate, over
    from sojourn.worlds import Wanted

    if world == "hosts":
        text = (
            "a path between two hosts has no scenario; to probe it: sojourn detect ADDRESS, where `sojourn agent` runs"
        )
        raise input_error(text, key="--world", found=world)
    chosen = choose(world, options, Wanted(None, packets=True).keep)
    native = read(source, list(overrides), root)
    (mbps,) = native.capacity_mbps(native.duration_s)
    # A kernel's own TCP sends no ECT(1).
    asks = (QUESTIONS if world == "sim" else (CLASSES,)) if classes else ()
    cost = estimate(mbps * 1e6, asks)
    budget_bytes = _budget(cost, mbps, budget)
    if cost["least_bytes"] > budget_bytes:
        least = cost["least_bytes"] / 1e6
        message = (
            f"--budget: found {budget}; at {mbps:.3g} Mbit/s a probe needs {least:.3g} MB to end; nothing was sent"
        )
        raise input_error(message, key="--budget", found=budget, allowed=f"at least {least:.3g} MB")
    if dry_run:
        return
    given = {key: value for key, value in options.items() if value is not None}
    probed = ProbedPath.of(Record.parse(native.to_json()))
    send = over(probed, seed, world=chosen.world.name, **given)
    found, seen = _probed(send, model, budget_bytes, asks=asks, rtt_ms=lambda: probed.rtt_ms)
    write_page(lambda command: page_of(found, seen, native.to_toml(None), command), page)
    if as_json:
        render.print_json(found.document())
    else:
        click.echo(_text(found))


@detect.command(
    _HOST,
    cls=ExampleCommand,
    examples="""
    sojourn agent --listen 192.0.2.7 --secret-file secret     # on the other host
    sojourn detect 192.0.2.7 --secret-file secret --dry-run   # seconds and bytes; nothing is sent
    sojourn detect 192.0.2.7 --secret-file secret             # what sending to it meets
    sojourn detect 192.0.2.7 --secret-file secret --direction reverse --page queue.html
    """,
)
@click.argument("peer", metavar="ADDRESS[:PORT]")
@click.option(
    "--secret-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The secret shared with the agent.  [default: SOJOURN_SECRET of the environment]",
)
@click.option(
    "--direction",
    type=click.Choice(["forward", "reverse"]),
    default="forward",
    show_default=True,
    help="Whether the probe runs to the agent or from it.",
)
@click.option("--dry-run", is_flag=True, help="Print seconds and bytes of the probe, and end.")
@click.option("--classes", is_flag=True, help="Ask whether code points (DSCP) and ECT(1) count, too: up to 10 s more.")
@click.option("--budget", default="60 MB", show_default=True, metavar="SIZE", help="Most that may be sent.")
@click.option(
    "--max-rate",
    default="100 Mbit/s",
    show_default=True,
    metavar="RATE",
    help="Most that is sent; more takes the same option of the agent.",
)
@click.option("--model", type=click.Path(path_type=Path), metavar="FILE", help="Another classifier than Sojourn's own.")
@page_option
@json_option
def host(  # noqa: PLR0913 (one for each option)
    peer: str,
    secret_file: Path | None,
    direction: str,
    dry_run: bool,
    classes: bool,
    budget: str,
    max_rate: str,
    model: Path | None,
    page: Path | None,
    as_json: bool,
) -> None:
    """Name the queue between this host and one of your own, where `sojourn agent` runs, and say what to do about it.

    It fills the path for up to half a minute: ask whoever shares it. No third host is ever sent anything.
    """
    from sojourn.detect.hosts import Between
    from sojourn.detect.page import page as page_of
    from sojourn.detect.plan import QUESTIONS
    from sojourn.detect.probe import estimate
    from sojourn.detect.remedies import remedy

    asks = QUESTIONS if classes else ()
    most_bps = _quantity("--max-rate", max_rate, "bit/s", "a rate", "20 Mbit/s")
    budget_bytes = _budget(estimate(most_bps, asks), most_bps / 1e6, budget)
    if dry_run:
        return
    path = Between(peer, secret_file, direction)
    found, seen = _probed(path.send, model, budget_bytes, asks=asks, rtt_ms=lambda: path.base_ms, most_bps=most_bps)
    advised = remedy(found, path.base_ms)
    write_page(lambda command: page_of(found, seen, command=command, remedy=advised), page)
    if as_json:
        said = {"base_ms": path.base_ms, "remedy": None if advised is None else advised.document()}
        render.print_json({**found.document(), **said})
        return
    click.echo(_text(found))
    if advised is not None:
        _print_remedy(advised)


@detect.command(
    _CAPTURE,
    cls=ExampleCommand,
    examples="""
    tcpdump -i eth0 -s 128 -w download.pcap tcp       # while a download over TCP runs
    sojourn detect download.pcap
    sojourn detect download.pcap --page download.html
    sojourn detect results/my-link --json             # a result with packets (run --out results/my-link --packets)
    """,
)
@click.argument("file", type=click.Path(path_type=Path), metavar="CAPTURE|RESULT")
@click.option("--model", type=click.Path(path_type=Path), metavar="FILE", help="Another classifier than Sojourn's own.")
@page_option
@json_option
def capture(file: Path, model: Path | None, page: Path | None, as_json: bool) -> None:
    """Tell what a download shows of the queue that it crossed, and what to do; nothing is sent.

    Reads a pcap or pcapng file, or a result with packets. The largest stream is looked at, and others beside it.
    """
    from sojourn.detect.captured import read_streams
    from sojourn.detect.download_page import download_page
    from sojourn.detect.passive import passive
    from sojourn.detect.remedies import remedy_for_download
    from sojourn.detect.stored import load_model

    known = load_model(model)
    streams, notes = read_streams(file)
    found = passive(streams, known, notes)
    advised = remedy_for_download(found)
    write_page(lambda command: download_page(found, streams, command, advised), page)
    if as_json:
        render.print_json({**found.document(), "remedy": None if advised is None else advised.document()})
        return
    click.echo(_passive_text(found))
    if advised is not None:
        _print_remedy(advised)


def _passive_text(found: "Passive") -> str:
    because = {key: f"cannot say, because {text}" for key, text in found.cannot.items()}
    place = "" if found.place is None else f", {found.place}"
    lines = [
        found.verdict,
        "",
        f"  {'stream':<26} {found.stream}",
        f"  {'packets':<26} {found.packets} in {found.seconds:.3g} s, {found.size_bytes / 1e6:.3g} MB",
    ]
    if found.rate_mbps is not None:
        lines.append(f"  {'rate':<26} {found.rate_mbps:.4g} Mbit/s")
    rtt = because.get("rtt") if found.rtt_ms is None else f"{found.rtt_ms:.4g} ms"
    lines.append(f"  {'least RTT':<26} {rtt}")
    if found.wait_ms:
        wait = {name: f"{value:.3g}" for name, value in found.wait_ms.items()}
        lines.append(
            f"  {'wait in the queue':<26} {wait['median']} ms in the median, {wait['p5']} to {wait['p95']} ms (90 %), "
            f"at most {wait['deepest']} ms{place}"
        )
        lines.append(f"  {'lost':<26} {found.lost} packets")
    isolated = because.get("isolated") if found.isolated is None else "yes" if found.isolated else "no"
    if isolated is not None:
        lines.append(f"  {'flows are isolated':<26} {isolated}")
    lines += [
        f"  {name:<26} {one.value:.3g} ({one.low:.3g} to {one.high:.3g})" for name, one in found.parameters.items()
    ]
    if "parameters" in because:
        lines.append(f"  {'parameters':<26} {because['parameters']}")
    if found.judgement is not None:
        lines += ["", "Probabilities", f"  {'a queue with AQM':<26} {found.has_aqm:.1%}"]
        lines += _probabilities(found.judgement, 26)
    for title, sentences in (("Evidence", found.evidence), ("The capture", found.notes)):
        if sentences:
            lines += ["", title, *(f"  {sentence}" for sentence in sentences)]
    return "\n".join(lines)


def _print_remedy(advised: "Remedy") -> None:
    click.echo("\nWhat to do\n" + "\n".join(f"  {sentence}" for sentence in advised.sentences))
    if advised.table is not None:
        from sojourn.compared import tabulated

        click.echo("\nA call beside an upload on such a line, simulated\n")
        render.print_grid(tabulated(advised.table).grid)


def _probed(
    send: "Send",
    model: Path | None,
    budget_bytes: float,
    *,
    asks: "Collection[str]",
    rtt_ms: "Callable[[], float | None]",
    most_bps: float = float("inf"),
) -> tuple["Answer", "Probed"]:
    """Send a probe; return the answer and what was seen."""
    from sojourn.detect.answer import answer, decided
    from sojourn.detect.probe import BudgetError, probe
    from sojourn.detect.stored import load_model

    known = load_model(model)
    how: dict[str, Any] = {"budget_bytes": budget_bytes, "decided": decided(known), "asks": asks}
    try:
        seen = probe(send, rtt_ms=rtt_ms, most_bps=most_bps, **how)
    except BudgetError as error:
        found = f"{budget_bytes / 1e6:.3g} MB"
        raise input_error(f"{error}; --budget allows more", key="--budget", found=found) from None
    return answer(seen, known), seen


@detect.command(
    cls=ExampleCommand,
    examples="""
    sojourn detect train --out model.npz
    sojourn detect train --probes 220 --downloads 220 --jobs 1 --out small.npz
    """,
)
@click.option(
    "--probes", type=click.IntRange(110, 100_000), default=6200, show_default=True, metavar="N", help="Their number."
)
@click.option(
    "--downloads", type=click.IntRange(110, 100_000), default=3410, show_default=True, metavar="N", help="Their number."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="N", help="Of all that is drawn."
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processors to use.  [default: all]")
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="Where the model goes (.npz)."
)
def train(probes: int, downloads: int, seed: int, jobs: int | None, out: Path) -> None:
    """Simulate probes and downloads over paths drawn at random, and train the classifier; needs the extra `detect`.

    The same numbers and seed give the same bytes.
    """
    try:
        import sklearn  # noqa: F401 (asked before minutes are spent)
    except ImportError:
        raise input_error('training needs scikit-learn: pip install "sojourn[detect]"') from None
    if out.suffix != ".npz":
        raise input_error(f"--out: found {out}; allowed: a name that ends in .npz", key="--out", found=str(out))
    from sojourn.detect.scales import with_scales
    from sojourn.detect.stored import save
    from sojourn.detect.training import collect, collect_downloads, fit

    jobs = jobs or usable_processors()
    with progress("probing") as update:
        probed = collect(probes, seed, jobs, update)
    with progress("downloading") as update:
        watched = collect_downloads(downloads, seed, jobs, update)
    model = fit(probed, watched, seed)
    with progress("comparing twins") as update:
        model = with_scales(model, seed, jobs, progress=update)
    save(out, model)
    about = model.provenance
    counts = f"{about['probes']} probes, {about['downloads']} downloads"
    click.echo(f"{out}: {counts}, seed {seed}, {out.stat().st_size / 1e6:.1f} MB")


def _quantity(option: str, text: str, unit: str, what: str, example: str) -> float:
    found = _native.quantity(text)
    if found is None or found[1] != unit:
        raise input_error(f'{option}: found {text}; allowed: {what}, such as "{example}"', key=option, found=text)
    return float(found[0])


def _budget(cost: "Mapping[str, float]", mbps: float, budget: str) -> float:
    """Return the budget in bytes; print before anything is sent what a probe costs, and whether that may be more."""
    budget_bytes = _quantity("--budget", budget, "B", "a size", "20 MB")
    text = (
        f"a whole probe takes up to {cost['seconds']:.0f} s and sends up to {cost['bytes'] / 1e6:.3g} MB "
        f"at {mbps:.3g} Mbit/s, never more than {cost['bps'] / 1e6:.3g} Mbit/s; it ends early where the answer is clear"
    )
    if cost["bytes"] > budget_bytes:
        text += f". That may pass the budget of {budget_bytes / 1e6:.3g} MB (--budget); a stage that might is not sent"
    click.echo(text, err=True)
    return budget_bytes


def _text(found: "Answer") -> str:
    lines = [found.verdict, ""]
    facts = [
        ("rate that one flow gets", found.rate_mbps, "Mbit/s"),
        ("most that got through", found.carried_mbps, "Mbit/s"),
        ("delay of a thin flow under load (95 %)", found.delay_ms, "ms"),
        ("deepest queue", found.deepest_ms, "ms"),
    ]
    lines += [f"  {name:<40} {value:.4g} {unit}" for name, value, unit in facts if value is not None]
    if not found.dropped and found.deepest_ms is not None:
        lines.append(f"  {'no drop and no mark up to':<40} {found.deepest_ms:.4g} ms of queue")
    if found.fair_queueing is not None:
        lines.append(f"  {'fair queueing, from trains alone':<40} {'yes' if found.fair_queueing else 'no'}")
    if found.classes is not None:
        lines.append(f"  {'code points count (classes)':<40} {'yes' if found.classes else 'no'}")
    if found.low_share is not None:
        left = "nothing: strict priority" if found.low_share == 0 else f"{found.low_share:.0%} of the rate"
        lines.append(f"  {'left for LE beside all that others send':<40} {left}")
    if found.l4s is not None:
        lines.append(f"  {'a queue of its own for ECT(1) (L4S)':<40} {'yes' if found.l4s else 'no'}")
    lines += [
        f"  {name:<40} {read.value:.3g} ({read.low:.3g} to {read.high:.3g})" for name, read in found.parameters.items()
    ]
    lines.append(f"  {'sent':<40} {found.sent_bytes / 1e6:.3g} MB in {found.active_s:.0f} s")
    if found.judgement is not None:
        lines += ["", "Probabilities", *_probabilities(found.judgement, 40)]
    if found.evidence:
        lines += ["", "Evidence", *(f"  {sentence}" for sentence in found.evidence)]
    return "\n".join(lines)


def _probabilities(judged: "Judgement", width: int) -> list[str]:
    """Return lines with the likeliest names, and with the sets of names that cannot be told apart."""
    likely = sorted(judged.names.items(), key=lambda item: -item[1])[:_MAX_NAMES]
    sets = [(f"with {words}", " or ".join(names)) for words, names in judged.sets.items()]
    return [f"  {what:<{width}} {said}" for what, said in (*((name, f"{part:.1%}") for name, part in likely), *sets)]
