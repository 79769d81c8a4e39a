"""What the documentation shows works: links lead somewhere, examples run as they are printed."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from tests.conftest import PATIENCE_S, Command, Echo, Start

import sojourn
from sojourn import _native
from sojourn.cli import cli

ROOT = Path(__file__).parent.parent
FOLDERS = ("docs", "benchmarks", "scenarios", "fuzz")
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in ROOT.glob(f"{folder}/**/*.md"))])
RECORD_PAGE = ROOT / "docs/guide/record.md"
GUIDES = [
    ROOT / "docs/cite.md",
    ROOT / "docs/guide/start.md",
    ROOT / "docs/guide/campaigns.md",
    ROOT / "docs/guide/studies.md",
    RECORD_PAGE,
    ROOT / "docs/guide/traffic.md",
    ROOT / "docs/guide/access.md",
    ROOT / "docs/guide/lines.md",
    ROOT / "docs/guide/padding.md",
]
LONGEST_PARAGRAPH = 700
# Their commands need a kernel or a second host; tests of their own do that.
REMOTE_GUIDES = [ROOT / "docs/guide/testbed.md", ROOT / "docs/guide/hosts.md", ROOT / "docs/guide/shell.md"]


# They take more than ten seconds.
LONG_GUIDES = {ROOT / "docs/guide/lines.md", ROOT / "docs/guide/studies.md"}


def quick_or_long(page: Path) -> Any:
    return pytest.param(page, marks=pytest.mark.long) if page in LONG_GUIDES else page


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def shell_lines(page: Path) -> list[str]:
    """Return the commands that a page shows, each on one line."""
    return "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Return the files that a page links to, and the part of each after #."""
    for target, part in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            yield (page.parent / target).resolve() if target else page, part


def anchors(page: Path) -> set[str]:
    """Return what a browser makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    missing = [
        (str(target), part)
        for target, part in links(page)
        if not target.exists() or (part and part not in anchors(target))
    ]
    assert not missing


def test_every_page_and_figure_can_be_found_from_the_readme() -> None:
    found: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        found.add(page)
        if page.suffix == ".md":
            waiting += [target for target, _ in links(page) if target not in found]
    figures = ROOT.glob("docs/**/*.png")
    assert [str(page) for page in [*PAGES, *figures] if page not in found] == []


@pytest.mark.parametrize("page", [page for page in PAGES if name(page).startswith(("README", "docs/"))], ids=name)
def test_paragraphs_are_short(page: Path) -> None:
    """Tables, lists and code are read in another way."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    paragraphs = [part for part in text.split("\n\n") if not re.match(r"\s*([|*<#-]|\d+\. |\[[^\]]+\]: )|  ", part)]
    assert [part[:80] for part in paragraphs if len(part) > LONGEST_PARAGRAPH] == []


@pytest.mark.parametrize("page", [page for page in PAGES if name(page).startswith(("README", "docs/"))], ids=name)
def test_every_column_has_a_name(page: Path) -> None:
    """Whoever hears a table needs one."""
    heads = re.findall(r"^(\|.*\|)\n\|(?: ?:?-+:? ?\|)+$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [head for head in heads if re.search(r"\|\s*\|", head)] == []


def test_the_map_of_the_architecture_is_that_of_the_tree() -> None:
    (tree, *_) = re.findall(
        r"^```\n(.*?)^```", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), flags=re.M | re.S
    )
    above = ""
    places = []
    for indent, folder in re.findall(r"^( *)(\S+)/ ", tree.replace("/\n", "/ \n"), flags=re.M):
        above = above if indent else folder
        places.append(f"{above}/{folder}" if indent else folder)
    assert [place for place in places if not (ROOT / place).is_dir()] == []
    crates = [f"crates/{crate.parent.name}" for crate in ROOT.glob("crates/*/Cargo.toml")]
    assert sorted(place for place in places if place.startswith("crates/")) == sorted(crates)


@pytest.fixture
def beside_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """Stand in a folder with the files that the page shows, each named in its first line."""
    page: Path = request.param
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    for block in blocks(page, "toml"):
        if named := re.match(r"# (\S+\.toml)\n", block):
            (tmp_path / named[1]).parent.mkdir(exist_ok=True)
            (tmp_path / named[1]).write_text(block, encoding="utf-8")
    return page


def printed(page: Path) -> Iterator[list[str]]:
    """Return the words of each command that a page shows, without what a shell does with its output."""
    for line in shell_lines(page):
        if line.startswith("sojourn "):
            words = shlex.split(line, comments=True)[1:]
            yield words[: words.index(">")] if ">" in words else words


@pytest.mark.parametrize("beside_files", [quick_or_long(page) for page in GUIDES], ids=name, indirect=True)
def test_commands_run(beside_files: Path, command: Command, start: Start, echo: Echo) -> None:
    assert list(printed(beside_files))
    for words in printed(beside_files):
        if words[0] == "pad":
            # Padding stays on this machine, and ends soon; the rest is as it is printed.
            here = ["127.0.0.1" if word == "example.net" else word for word in words]
            process = start(*here, "--udp-echo", echo.port, "--before", "0.1 s", "--duration", "0.5 s")
            assert process.communicate(timeout=PATIENCE_S) == ("no padding was sent\n", ""), words
        else:
            assert command(*words).code == 0, words


@pytest.mark.parametrize("beside_files", REMOTE_GUIDES, ids=name, indirect=True)
def test_commands_that_are_not_run_are_ones_that_there_are(beside_files: Path, command: Command) -> None:
    assert list(printed(beside_files))
    for words in printed(beside_files):
        if words[0] == "check":
            assert command(*words).code == 0, words
            continue
        found: click.Command = cli
        while isinstance(found, click.Group):
            named = found.get_command(click.Context(found), words.pop(0))
            assert named is not None
            found = named
        found.make_context(found.name, words)


@pytest.mark.parametrize("beside_files", [page for page in GUIDES if blocks(page, "python")], ids=name, indirect=True)
def test_python_runs(beside_files: Path, command: Command) -> None:
    for line in shell_lines(beside_files):
        if line.startswith("sojourn sweep"):
            assert command(*shlex.split(line)[1:]).code == 0
    (program,) = blocks(beside_files, "python")
    exec(compile(program, name(beside_files), "exec"), {})


EVERYTHING = {
    "duration": "2 s",
    "bottleneck": {"rate": "10 Mbit/s", "queue": {"kind": "dualpi2"}},
    "reverse": {"rate": "10 Mbit/s", "queue": {"kind": "dualpi2"}},
    "hop": [{"name": "gateway", "at": "before", "rate": "20 Mbit/s", "queue": {"kind": "dualpi2"}}],
    "group": [
        {
            "name": "tcp",
            "control": "newreno",
            "rtt": "20 ms",
            "traffic": {"kind": "bulk", "size": "100 kB"},
        },
        {"name": "call", "rtt": "20 ms", "traffic": "voip"},
        {"name": "film", "control": "newreno", "rtt": "20 ms", "traffic": "video"},
        {
            "name": "loads",
            "control": "newreno",
            "rtt": "20 ms",
            "traffic": {"kind": "transfers", "interval": "200 ms", "size": "10 kB"},
        },
        {
            "name": "pages",
            "control": "newreno",
            "rtt": "20 ms",
            "traffic": {"kind": "web", "objects": 2, "size": "10 kB"},
        },
        {"name": "padding", "rtt": "20 ms", "traffic": "adaptive-padding"},
        {"name": "train", "rtt": "20 ms", "traffic": {"kind": "train", "count": 2}},
    ],
    "phase": [{"name": "first", "from": "0 s", "to": "1 s"}],
}


def test_the_page_of_the_record_lists_every_field() -> None:
    section, _ = RECORD_PAGE.read_text(encoding="utf-8").split("## Time series")
    cells = re.findall(r"^\| `([^`]+)` \|[^|]*\|[^|]*\|$", section, flags=re.M)
    listed = [path for cell in cells for path in expanded(cell)]
    shared = sojourn.Scenario.load("wifi-home", {"duration": "12 s"})
    records = [
        sojourn.scenario(EVERYTHING).run(series=False, delays=True).runs[0],
        shared.run(runs=1, series=False).runs[0],
    ]
    assert sorted(listed) == sorted({field for record in records for field in fields(record, "")})


def expanded(cell: str) -> list[str]:
    opening, _, rest = cell.partition("{")
    choices, _, ending = rest.partition("}")
    return [opening + choice + ending for choice in choices.split(",")]


def fields(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            named = path.endswith(("hops", "groups", "classes", "fct_by_size_ms", "stations", "phases"))
            place = f"{path}.{'NAME' if named else key}".lstrip(".")
            # A station is a link, and more.
            own = r"stations\.NAME(?!\.(?:goodput_|air_)|$)"
            link = rf"^(phases\.NAME\.)?(bottleneck|reverse|hops\.NAME|{own})(?![\w])"
            yield from fields(one, re.sub(link, r"\1LINK", place))
    elif isinstance(value, list):
        for one in value:
            yield from fields(one, f"{path}[]")
    else:
        yield path


def test_every_algorithm_says_how_far_it_has_been_checked() -> None:
    page = (ROOT / "docs/algorithms.md").read_text(encoding="utf-8")
    known = json.loads(_native.catalogue())
    names = [entry["name"] for kind in ("queues", "controls") for entry in known[kind]]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_what_is_cited_is_this_version() -> None:
    said = f"version = {{{sojourn.__version__}}}"
    assert said in re.sub(" +", " ", (ROOT / "docs/cite.md").read_text(encoding="utf-8"))
    assert f"version: {sojourn.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
