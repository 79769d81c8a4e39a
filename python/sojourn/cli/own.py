"""The commands for algorithms of one's own: `new` and `try`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn.cli import render
from sojourn.cli.examples import ExampleCommand, json_option, output
from sojourn.cli.pictures import look_options, save_picture
from sojourn.cli.targets import PAGE_HELP, check_file, check_picture, command_line, split
from sojourn.reading import input_error
from sojourn.registry import catalogue

if TYPE_CHECKING:
    from sojourn.result import Result
    from sojourn.trial import Report, Terms

TEMPLATES = Path(__file__).parent.parent / "templates"
KEYS = {
    "control": "group.tcp.control",
    "queue": "bottleneck.queue",
    "traffic": "group.tcp.traffic",
    "shaper": "shaper.controller",
}
FAMILIES = {"control": "controls", "queue": "queues", "traffic": "traffic", "shaper": "shapers"}
READY = {"shaper": "leo-gateway"}
"""The ready scenario in which a test of a kind runs; of others it is `motivating-red`."""
IN_RUST = ("control", "queue")
BROKEN = 1
CRATES = tuple(f"sojourn-{part}" for part in ("core", "congestion", "queue", "scenario", "sim"))
WINDOW_PLACES = 80
SUBJECTS = "a Python file, a name of `sojourn list`, or --stack PROGRAM"
NOTHING = f"nothing to try; allowed: {SUBJECTS}"


@click.command(
    cls=ExampleCommand,
    renamed={"discipline": "queue"},
    examples="""
    sojourn new control mine
    sojourn new queue mine-too
    sojourn new traffic my-users
    sojourn new shaper my-gateway
    sojourn new control mine --rust
    """,
)
@click.argument("kind", type=click.Choice(list(KEYS)))
@click.argument("name")
@click.option("--rust", is_flag=True, help="Make a Rust crate in a folder NAME, with the engine inside.")
@click.option(
    "--crates", metavar="DIR|URL", help="With --rust: Sojourn's folder `crates`, or its Git address.  [default: found]"
)
def new(kind: str, name: str, *, rust: bool, crates: str | None) -> None:
    """Make NAME.py, a commented control, queue discipline, traffic or shaper that runs at once, and a test beside it.

    With --rust it is a crate that runs scenarios by itself: as fast as a built-in algorithm, and without Python.
    """
    if not name.replace("-", "_").isidentifier():
        raise input_error(f"{name!r} is no name", key="NAME", found=name, allowed="letters, digits, - and _")
    if name in [entry["name"] for entry in catalogue()[FAMILIES[kind]] if entry["origin"] is None]:  # type: ignore[literal-required]
        raise input_error(
            f"{name} is built in; choose another name", key="NAME", found=name, allowed=f"a name that no {kind} has yet"
        )
    if rust:
        if kind not in IN_RUST:
            message = f"there is no template of {kind} in Rust"
            raise input_error(message, key="--rust", found=kind, allowed=" or ".join(IN_RUST))
        _new_crate(kind, name, crates)
        return
    file = Path(f"{name.replace('-', '_')}.py")
    test = Path(f"test_{file.name}")
    for path in (file, test):
        if path.exists():
            raise input_error("it exists", file=str(path), allowed="another name, or another folder")
    words = {"NAME": name, "FILE": file.name, "KEY": KEYS[kind], "READY": READY.get(kind, "motivating-red")}
    file.write_text(_filled(f"{kind}.template", words), encoding="utf-8")
    test.write_text(_filled("test_plugin.template", words), encoding="utf-8")
    click.echo(f"{file} and {test}. Next: sojourn try {file}")


def _new_crate(kind: str, name: str, crates: str | None) -> None:
    folder = Path(name)
    if folder.exists():
        raise input_error("it exists", file=name, allowed="another name, or another folder")
    source = _crates(crates)
    dependencies = "\n".join(
        f'{crate} = {{ git = "{source}" }}' if isinstance(source, str) else f'{crate} = {{ path = "{source / crate}" }}'
        for crate in CRATES
    )
    words = {
        "DEPENDENCIES": dependencies,
        "PARAMETER": {"control": "group.mine.control.keep", "queue": "bottleneck.queue.longest"}[kind],
        "CRATE": name.lower(),
        "KIND": kind,
        "NAME": name,
        **(_judged() if kind == "control" else {}),
    }
    files = {
        "Cargo.toml": "Cargo",
        "scenario.toml": f"{kind}.toml",
        "src/main.rs": "main",
        f"src/{kind}.rs": kind,
    }
    (folder / "src").mkdir(parents=True)
    for file, template in files.items():
        (folder / file).write_text(_filled(f"rust/{template}.template", words), encoding="utf-8")
    lock = None if isinstance(source, str) else source.parent / "Cargo.lock"
    if lock is not None and lock.exists():
        # The versions that Sojourn was tested with.
        (folder / lock.name).write_bytes(lock.read_bytes())
    click.echo(f"{folder}. Next: cd {folder}; cargo test; cargo run --release -- scenario.toml")


def _judged() -> dict[str, str]:
    """Return on what the test of a crate judges low priority: what `sojourn try` has by default."""
    from sojourn.reading import toml_value
    from sojourn.trial.comparison import QUEUES
    from sojourn.trial.priority import BOUND

    queues = (f'r#"{toml_value(setting, str)}"#' for setting in QUEUES.values())
    return {"JUDGED_QUEUES": ",\n        ".join(queues) + ",", "JUDGED_BOUND": str(BOUND)}


def _crates(given: str | None) -> Path | str:
    """Return where the engine's crates are: a folder, or a Git address."""
    if given is not None and "://" in given:
        return given
    folder = (Path(given) if given else Path(__file__).parents[3] / "crates").resolve()
    if not all((folder / crate / "Cargo.toml").is_file() for crate in CRATES):
        allowed = "--crates with the folder `crates` of a copy of Sojourn's sources, or their Git address"
        message = f"the engine's crates are not in {folder}; allowed: {allowed}"
        raise input_error(message, key="--crates", found=str(folder), allowed=allowed)
    return folder


def _filled(template: str, words: dict[str, str]) -> str:
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    for word, value in words.items():
        text = text.replace(word, value)
    return text


@click.command(
    "try",
    cls=ExampleCommand,
    examples="""
    sojourn try mine.py
    sojourn try mine.py --plot window.png
    sojourn try mine.py --page mine.html
    sojourn try mine.py --json
    sojourn try ledbat --queue droptail
    sojourn try cubic
    sojourn try cubic --stack quinn
    sojourn try bbr3 --suite bbr
    sojourn try mine.py --junit mine.xml --markdown mine.md
    """,
)
@click.argument("what", metavar="[FILE|NAME]", required=False)
@click.option(
    "--stack",
    metavar="PROGRAM",
    help="Try a transport stack; NAME is one of its controls, or left out. PROGRAM is one of `sojourn list stacks`, or "
    "your own: see docs/guide/stacks.md.",
)
@click.option(
    "--suite",
    metavar="NAME|FILE",
    help="Go through the cases of a suite instead: bbr, cubic, ledbatpp, newreno or prague, or a file.",
)
@click.option("--queue", "queues", metavar="NAME,...", help="Judge low priority under these only.  [default: all six]")
@click.option(
    "--low-priority-bound",
    "bound",
    type=float,
    metavar="PERCENT",
    help="Largest share beside NewReno that counts as low priority.  [default: 10; of a stack it is judged where said]",
)
@json_option
@output("--page", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help=PAGE_HELP)
@output(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw a control's window over time, alone and when a NewReno flow joins (PNG, SVG or PDF).",
)
@output(
    "--junit",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the verdicts as JUnit's XML.",
)
@output(
    "--markdown",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the verdicts and tables as Markdown.",
)
@look_options
def try_(  # noqa: PLR0913 (one for each option)
    what: str | None,
    *,
    stack: str | None,
    suite: str | None,
    queues: str | None,
    bound: float | None,
    as_json: bool,
    page: Path | None,
    plot: Path | None,
    junit: Path | None,
    markdown: Path | None,
) -> None:
    """Check the laws that an algorithm has to keep, and compare it with others: one page, in seconds.

    FILE is a Python file with controls, disciplines, traffic or shapers; NAME is any that `sojourn list` knows. A
    control is shown over time, and beside NewReno, CUBIC and BBR under six disciplines. A discipline goes through the
    situations of RFC 7928 in short. The best known of the kind goes through the same. A stack's connections go beside
    the same controls, with laws of their own. With --suite a control or a stack goes through the cases of a suite: what
    a draft or an RFC says that it must show.

    A control that declares low priority gets a verdict for each of the six disciplines: kept, or lost. The exit code
    is 1 where a law is broken, or where low priority is lost under any discipline that was judged.
    """
    _check_files(plot, {"--page": page, "--junit": junit, "--markdown": markdown})
    if suite is not None:
        only = {"--queue": queues, "--low-priority-bound": bound, "--plot": plot}
        reports = _reports_of_suite(suite, what, stack, [option for option, given in only.items() if given is not None])
    elif stack is None:
        reports = _reports(what, queues, bound, {"--plot": (plot, "control"), "--page": (page, "")})
    else:
        reports = [_report_of_stack(stack, what, queues, bound, plot)]
    if plot is not None and reports[0].window is not None:
        from sojourn.figures import windows

        window = reports[0].window
        save_picture(lambda: windows(window), plot)
    if page is not None:
        from sojourn.pages import write
        from sojourn.trial.page import page as page_of

        write(page_of(reports[0], command_line()), page)
    _write_for_workflows(reports, junit, markdown)
    if as_json:
        render.print_json([report.document() for report in reports])
    else:
        for report in reports:
            _print(report)
    if not all(report.passes for report in reports):
        raise click.exceptions.Exit(BROKEN)


def _check_files(plot: Path | None, files: dict[str, Path | None]) -> None:
    """Raise InputError for a file that cannot be written."""
    if plot is not None:
        check_picture("--plot", plot)
    for option, file in files.items():
        if file is not None:
            check_file(option, file)


def _reports(
    what: str | None, queues: str | None, bound: float | None, alone: dict[str, tuple[Path | None, str]]
) -> list["Report"]:
    """Return the report of each algorithm; `alone` are the options that show one, of a kind where it is said."""
    from sojourn import trial

    if what is None:
        raise input_error(NOTHING, key="FILE|NAME", allowed=SUBJECTS)
    names = _names(what)
    terms = _terms(names, queues, bound)
    for option, (file, kind) in alone.items():
        if file is not None:
            _one_of(names, option, kind)
    return [trial.report(name, terms) for name in names]


def _reports_of_suite(suite: str, what: str | None, program: str | None, others: list[str]) -> list["Report"]:
    """Return a report for each control, or for the stack; `others` are options that a suite has no use for."""
    from sojourn import trial
    from sojourn.progress import progress
    from sojourn.trial.suite import load

    if others:
        message = f"{others[0]} has nothing to do with the cases of a suite"
        raise input_error(message, key=others[0], found=f"--suite {suite}", allowed="one of both")
    cases = load(suite)
    subjects: list[str | trial.Stack]
    if program is not None:
        stack = trial.Stack(program, what)
        stack.check()
        subjects = [stack]
    elif what is not None:
        subjects = list(_names(what))
    else:
        raise input_error(NOTHING, key="FILE|NAME", allowed=SUBJECTS)
    with progress(suite) as update:
        return [trial.of_suite(cases, subject, update) for subject in subjects]


def _report_of_stack(
    program: str, control: str | None, queues: str | None, bound: float | None, plot: Path | None
) -> "Report":
    from sojourn import trial
    from sojourn.progress import progress

    if plot is not None:
        message = "it draws the window of a control, and a stack does not say its own"
        raise input_error(message, key="--plot", found="--stack", allowed="--page")
    stack = trial.Stack(program, control)
    stack.check()
    judged = queues is not None or bound is not None
    with progress(stack.name) as update:
        return trial.of_stack(stack, _terms_of(queues, bound) if judged else None, update)


def _write_for_workflows(reports: list["Report"], junit: Path | None, markdown: Path | None) -> None:
    from sojourn.trial import workflow

    if junit is not None:
        junit.write_text(workflow.junit(reports), encoding="utf-8")
    if markdown is not None:
        markdown.write_text(workflow.markdown(reports), encoding="utf-8")


def _names(what: str) -> list[str]:
    from sojourn import plugins

    if not (what.endswith(".py") or Path(what).exists()):
        return [what]
    before = {name for names in plugins.added().values() for name in names}
    plugins.load(what)
    names = [name for names in plugins.added().values() for name in names if name not in before]
    if not names:
        message = "it adds no control, no discipline, no traffic and no shaper"
        decorators = (f'@sojourn.{kind}("name")' for kind in KEYS)
        raise input_error(message, file=what, allowed=f"a class under {' or '.join(decorators)}")
    return names


def _terms(names: list[str], queues: str | None, bound: float | None) -> "Terms":
    """Return on what low priority is judged; raises InputError where that is said and nothing declares it."""
    from sojourn.trial import priority

    given = {"--queue": queues, "--low-priority-bound": bound}
    option = next((option for option, value in given.items() if value is not None), None)
    if option is not None and not any(priority.declares(name) for name in names):
        message = f"{', '.join(names)} does not declare low priority, so {option} has nothing to judge"
        raise input_error(message, key=option, allowed="a control with low_priority=True in its decorator")
    return _terms_of(queues, bound)


def _terms_of(queues: str | None, bound: float | None) -> "Terms":
    from sojourn.trial import priority

    usual = priority.TERMS
    return priority.Terms(
        usual.bound if bound is None else bound / 100, usual.queues if queues is None else tuple(split(queues))
    )


def _one_of(names: list[str], option: str, kind: str = "") -> None:
    """Raise InputError where there is not one algorithm, of a kind where one is said."""
    from sojourn import trial

    found = [name for name in names if not kind or trial.kind_of(name) == kind]
    if len(found) != 1:
        word = kind or "algorithm"
        message = f"it shows one {word}"
        raise input_error(message, key=option, found=", ".join(names), allowed=f"one {word}")


def _print(report: "Report") -> None:
    from sojourn.trial.report import shown

    click.echo(f"{report.name} ({report.kind}): {report.verdict}\n")
    for law in report.laws:
        click.echo(f"  {'holds ' if law.holds else 'BROKEN'}  {law.name}: {law.found}")
    if report.priorities:
        click.echo()
        for one in report.priorities:
            click.echo(f"  {'kept  ' if one.kept else 'LOST  '}  low priority under {one.queue}: {one.found}")
    if report.window is not None:
        _print_window(report.name, report.window)
    if report.rows:
        from tabulate import tabulate

        click.echo()
        click.echo(tabulate([shown(row) for row in report.rows], headers="keys", disable_numparse=True))


def _print_window(name: str, seen: "Result") -> None:
    import numpy as np

    from sojourn.trial.window import DURATION_S, JOINING, JOINS_S, bars, windows

    lines = {label: windows(seen, group, WINDOW_PLACES) for label, group in ((name, "mine"), (JOINING, JOINING))}
    most = float(np.nanmax([value for values in lines.values() for value in values]))
    width = max(map(len, lines))
    click.echo(f"\n  The window over {DURATION_S} s, up to {most:.0f} segments; NewReno joins at {JOINS_S} s:")
    for label, values in lines.items():
        click.echo(f"  {label:{width}}  {bars(values, most)}")
