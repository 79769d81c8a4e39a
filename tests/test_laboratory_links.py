"""Links from pages into the laboratory: the scenarios of what is shown, side by side, in a real browser too."""

import base64
import functools
import html
import json
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import PATIENCE_S, Command
from tests.lab_page import in_browser, marked

import sojourn
from sojourn import lab, plugins
from sojourn.api import Scenario
from sojourn.data.dataset import Dataset
from sojourn.pages import laboratory, of_dataset
from sojourn.papers import links as papers
from sojourn.reading import Source
from sojourn.study.find import find_folder, named
from sojourn.worlds.shell.path import behind

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PAGE = Path(sojourn.__file__).parent / "page"
SHORT = ("--set", "duration=15 s", "--runs", 2)
STUDIES = sorted(named())


def written(address: str) -> list[dict[str, Any]]:
    """Return the two sides that an address holds, as the page unpacks them."""
    name, _, packed = html.unescape(address).partition("#")
    assert name == laboratory.FILE
    text = zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), -zlib.MAX_WBITS)
    found: list[dict[str, Any]] = json.loads(text)["sides"]
    return found


def sides(address: str) -> list[sojourn.Scenario]:
    """Return the two scenarios that an address holds; one from a file has no name of its own there."""
    return [
        Scenario._of(Source(one.get("name", "side"), one.get("text"), changes=tuple(map("=".join, one["changes"]))))
        for one in written(address)
    ]


def nameless(*scenarios: sojourn.Scenario) -> list[str]:
    return [re.sub("^name = .*", "", one.to_toml()) for one in scenarios]


def addresses(page: str) -> dict[str, str]:
    return {text: address for address, text in re.findall(r'<a href="(lab[^"]*)">([^<]*)</a>', page)}


def test_a_run_opens_its_scenario() -> None:
    scenario = sojourn.Scenario.load("motivating-red", {"duration": "5 s"})
    page = scenario.run(runs=1).page()
    (picture,) = page.pictures
    (link,) = picture.laboratory
    assert written(link.address) == [{"name": "motivating-red", "changes": [["duration", "5 s"]]}] * 2
    assert sides(link.address) == [scenario] * 2
    assert page.has_laboratory


def test_each_variant_opens_beside_the_reference() -> None:
    base = sojourn.Scenario.load("voip-under-load", {"duration": "15 s"})
    variants = {name: base.with_(queue=name) for name in ("droptail", "codel", "fq_codel")}
    page = sojourn.compare(variants, runs=1).page()
    links = {link.text: sides(link.address) for link in page.pictures[0].laboratory}
    assert list(links) == ["codel beside droptail", "fq_codel beside droptail"]
    for text, (left, right) in links.items():
        assert left == variants["droptail"]
        assert right == variants[text.partition(" ")[0]]


@pytest.mark.long
@pytest.mark.parametrize("name", STUDIES)
def test_figures_of_studies_open_two_points_of_their_sweeps(name: str) -> None:
    found = 0
    for item in find_folder(name).study().items:
        for links in item.laboratory().values():
            for link in links:
                both = sides(link.address)
                assert (" beside " in link.text) == (both[0] != both[1]), link.text
                assert all(scenario.groups for scenario in both)
                found += 1
    assert found >= 1


def test_a_figure_opens_its_reference_beside_another_value_of_the_same_axis() -> None:
    (item,) = (item for item in find_folder("gong").study().items if item.name == "fig3")
    links = item.laboratory()
    assert [link.text for link in links["fig3"]] == ["CoDel beside DropTail"]
    left, right = (scenario.to_dict() for scenario in sides(links["fig3"][0].address))
    assert left.bottleneck.queue.kind == "droptail"
    assert right.bottleneck.queue.kind == "codel"
    assert left.group == right.group
    assert [link.text for link in links["buffers"]] == ["10 packets beside 400 packets"]


_STACK = """
duration = "20 s"
bottleneck = { rate = "20 Mbit/s", queue = "fq_codel" }
[[group]]
name = "flow"
stack = "quinn"
rtt = "30 ms"
"""


def test_what_the_page_cannot_run_has_no_link(tmp_path: Path) -> None:
    (tmp_path / "link.trace").write_text("1\n2\n3\n", encoding="utf-8")
    ready = sojourn.Scenario.load("cellular")
    own = ready.with_({"bottleneck.trace": str(tmp_path / "link.trace")})
    assert laboratory.link("it", ready.source)
    assert laboratory.link("it", own.source) == []
    assert laboratory.link("both", ready.source, own.source) == []
    program = behind(None, ["access.line=cable-100-10-quiet"])
    assert laboratory.link("a program", program) == [], "its groups would be silent"
    stack = Source("stack", _STACK, str(tmp_path))
    assert laboratory.link("a stack", stack) == []
    assert laboratory.link(
        "the same without", replace(stack, text=_STACK.replace('stack = "quinn"', 'control = "cubic"'))
    )
    assert laboratory.link("a cell", sojourn.Scenario.load("5g-uploads").source) == []
    assert not own.with_(duration="8 s").run(runs=1).page().has_laboratory


BASE = """# My link.
duration = "5 s"
[bottleneck]
rate = "10 Mbit/s"
queue = "droptail"  # as the modem has it
[[group]]
name = "tcp"
control = "newreno"
rtt = "20 ms"
"""


def test_a_link_holds_the_file_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(BASE, encoding="utf-8")
    scenario = sojourn.Scenario.load(tmp_path / "mine.toml", {"bottleneck.queue": "red"}).with_(tcp={"flows": 2})
    (link,) = laboratory.link("it", scenario.source)
    changes = [["bottleneck.queue", "red"], ["group.tcp.flows", "2"]]
    assert written(link.address) == [{"text": BASE, "changes": changes}] * 2
    assert nameless(*sides(link.address)) == nameless(scenario) * 2


def test_a_key_changed_twice_has_the_value_that_counts() -> None:
    base = sojourn.Scenario.load("motivating-red")
    for steps in (
        [{"group.tcp.flows": 2}, {"group.tcp.flows": 3}],
        [{"bottleneck.queue": "codel"}, {"bottleneck.queue.target": "8 ms"}],
        [{"bottleneck.queue": "codel"}, {"bottleneck.queue.limit": "9 packets"}, {"bottleneck.queue": "codel"}],
    ):
        scenario = functools.reduce(sojourn.Scenario.with_, steps, base)
        (link,) = laboratory.link("it", scenario.source)
        assert nameless(*sides(link.address)) == nameless(scenario) * 2
        keys = [key for key, _ in written(link.address)[0]["changes"]]
        assert len(set(keys)) == len(keys), "the page keeps one value of a key"


def test_a_scenario_of_tables_has_a_link_too() -> None:
    queue = {"kind": "codel", "target": "8 ms"}
    groups = [
        {"name": "tcp", "control": "newreno", "rtt": "20 ms"},
        {"name": "late", "control": "ledbat", "rtt": "9 ms"},
    ]
    scenario = sojourn.scenario(duration="9 s", bottleneck={"rate": "10 Mbit/s", "queue": queue}, group=groups)
    (link,) = laboratory.link("it", scenario.source)
    assert nameless(*sides(link.address)) == nameless(scenario) * 2
    assert (
        '[bottleneck]\nrate = "10 Mbit/s"\nqueue = { kind = "codel", target = "8 ms" }\n'
        in written(link.address)[0]["text"]
    )


def test_what_names_plug_ins_has_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "ask", lambda *_: None)
    (tmp_path / "none.py").write_text("", encoding="utf-8")
    (tmp_path / "mine.toml").write_text(f'plugins = ["none.py"]\n{BASE}', encoding="utf-8")
    assert laboratory.link("it", sojourn.Scenario.load(tmp_path / "mine.toml").source) == []


def test_each_point_of_a_sweep_opens_beside_the_first(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(BASE, encoding="utf-8")
    queues = ["droptail", {"kind": "codel", "target": "8 ms"}]
    axes = {"bottleneck.queue": queues, "group.tcp.flows": [1, 2]}
    dataset = sojourn.sweep(tmp_path / "base.toml", axes=axes, out=tmp_path / "made", set={"duration": "2 s"})
    page = of_dataset.page(Dataset.open(dataset.folder))
    assert page.table is not None
    assert page.has_laboratory
    base = sojourn.Scenario.load(tmp_path / "base.toml", {"duration": "2 s"})
    wanted = [base.with_(queue=queue, tcp={"flows": flows}) for queue in queues for flows in (1, 2)]
    found = [nameless(*sides(row[-1].address)) for row in page.table.rows]
    assert found == [nameless(wanted[0], one) for one in wanted]
    assert written(page.table.rows[-1][-1].address)[1]["text"] == BASE
    (dataset.folder / "plan.json").unlink()
    assert not of_dataset.page(Dataset.open(dataset.folder)).has_laboratory


@pytest.mark.long
def test_a_plan_that_somebody_changed_gives_no_links(tmp_path: Path) -> None:
    axes = {"group.tcp.flows": [1, 2]}
    dataset = sojourn.sweep("motivating-red", axes=axes, out=tmp_path / "made", set={"duration": "1 s"})
    sound = json.loads((dataset.folder / "plan.json").read_text(encoding="utf-8"))
    base = sound["base"]
    wrong: list[Any] = [
        [],
        {"sweep": {}, "base": {}},
        {**sound, "base": {**base, "text": 7}},
        {**sound, "base": {**base, "changes": [7]}},
        {**sound, "base": {**base, "name": "../../etc/passwd"}},
        {**sound, "base": {**base, "text": 'bottleneck = { trace = "/etc/passwd" }'}},
    ]
    for changed in wrong:
        (dataset.folder / "plan.json").write_text(json.dumps(changed), encoding="utf-8")
        assert not of_dataset.page(Dataset.open(dataset.folder)).has_laboratory, changed


def test_without_the_laboratory_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "files", lambda _: tmp_path)
    lab.write_beside(tmp_path / "index.html")
    assert list(tmp_path.iterdir()) == []


DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.long
@pytest.mark.parametrize(
    "page",
    [page for page in sorted((DOCS / "papers").glob("*.md")) if not page.stem.endswith("-claims")],
    ids=lambda page: page.stem,
)
def test_figures_of_the_documentation_open_their_scenarios_on_its_site(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    addresses = dict(re.findall(r"^\[(lab-[^\]]+)\]: (\S+)$", text, re.MULTILINE))
    below = re.findall(r"^!\[.*\]\(\S+/(\S+)\.png\)\n\nOpen in the laboratory: (.*)\.$", text, re.MULTILINE)
    found = {figure: re.findall(r"\[([^\]]+)\]\[([^\]]+)\]", links) for figure, links in below}
    shown = re.findall(r"^!\[.*\]\(\S+/(\S+)\.png\)$", text, re.MULTILINE)
    expected = {figure: of for figure, of in papers.of_study(page.stem).items() if figure in shown and of}
    assert list(found) == [figure for figure in shown if figure in expected], "make docs renews them"
    for figure, links in found.items():
        assert [name for name, _ in links] == [link.text for link in expected[figure]]
        for link, (_, name) in zip(expected[figure], links, strict=True):
            site, _, address = addresses[name].rpartition("/")
            assert site == papers.site()
            # The packer of another machine may give other bytes.
            assert written(address) == written(link.address), "make docs renews them"
    assert papers.without(papers.linked(page.stem, text)) == papers.without(text)
    assert papers.site() not in papers.local(text, "../")


@marked(*in_browser)
def test_a_click_opens_both_scenarios(command: Command, tmp_path: Path, browser: "Browser") -> None:
    words = ("compare", "voip-under-load", "--queue", "droptail,codel", *SHORT, "--out", tmp_path / "both")
    assert command(*words).code == 0
    (text,) = addresses((tmp_path / "both" / "index.html").read_text(encoding="utf-8"))
    tab = browser.new_page()
    tab.set_default_timeout(200 * PATIENCE_S)
    tab.goto((tmp_path / "both" / "index.html").as_uri())
    tab.get_by_role("link", name=text).click()
    tab.locator("body[data-state=done]").wait_for(state="attached")
    chosen = [tab.get_by_label(f"Queue, {side}").input_value() for side in ("left", "right")]
    assert chosen == ["droptail", "codel"]
