"""The laboratory as a widget of a notebook."""

import base64
import json
import shutil
import sys
import zlib
from pathlib import Path

import pytest
from tests.conftest import PATIENCE_S

import sojourn
from sojourn import lab, notebook

PAGE = Path(sojourn.__file__).parent / "page"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytest.importorskip("anywidget", reason="no anywidget: pip install sojourn[notebook]")


def test_the_widget_holds_the_page_and_both_scenarios() -> None:
    left = sojourn.Scenario.load("motivating-red", {"duration": "5 s"})
    right = left.with_(queue="codel")
    widget = notebook.laboratory(left, right)
    packed = widget.fragment.removeprefix("#")
    text = zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), -zlib.MAX_WBITS)
    short = ["duration", "5 s"]
    sides = [
        {"name": "motivating-red", "changes": changes} for changes in ([short], [short, ["bottleneck.queue", "codel"]])
    ]
    assert json.loads(text)["sides"] == sides
    assert notebook.laboratory().fragment == ""
    assert (widget.page == lab.one_file()) if (PAGE / "engine.wasm").exists() else ("make web" in widget.page)


def test_without_the_page_the_widget_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "files", lambda _: tmp_path)
    assert "make web" in notebook.laboratory().page


def test_without_anywidget_a_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(sojourn.InputError, match=r"sojourn\[notebook\]"):
        notebook.laboratory()


@pytest.mark.filterwarnings("default")
@pytest.mark.skipif(not (PAGE / "engine.wasm").exists(), reason="the page is not built: make web")
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
def test_the_module_shows_the_page_in_a_frame(tmp_path: Path) -> None:
    """The widget's module in a browser, with a model as anywidget gives it."""
    playwright = pytest.importorskip("playwright.sync_api")
    left = sojourn.Scenario.load("motivating-red", {"duration": "5 s"})
    widget = notebook.laboratory(left, left.with_(queue="codel"))
    state = {name: getattr(widget, name) for name in ("page", "fragment", "height_px")}
    (tmp_path / "state.json").write_text(json.dumps(state), encoding="utf-8")
    program = """async ([text, state]) => {
        const module = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
        module.default.render({ model: { get: (name) => state[name] }, el: document.body });
    }"""
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.set_default_timeout(200 * PATIENCE_S)
        tab.goto((tmp_path / "state.json").as_uri())
        tab.evaluate(program, [notebook.MODULE, state])
        frame = tab.frame_locator("iframe[title^='The laboratory']")
        frame.locator("body[data-state=done]").wait_for(state="attached")
        assert frame.get_by_label("Queue, right").input_value() == "codel"
        browser.close()
