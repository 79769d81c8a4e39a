"""The laboratory as a widget of a notebook."""

import base64
import json
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.conftest import PATIENCE_S
from tests.lab_page import in_browser, marked

import sojourn
from sojourn import lab, notebook

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PAGE = Path(sojourn.__file__).parent / "page"
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


@marked(*in_browser)
def test_the_module_shows_the_page_in_a_frame(tmp_path: Path, browser: "Browser") -> None:
    """The widget's module in a browser, with a model as anywidget gives it."""
    left = sojourn.Scenario.load("motivating-red", {"duration": "5 s"})
    widget = notebook.laboratory(left, left.with_(queue="codel"))
    state = {name: getattr(widget, name) for name in ("page", "fragment", "height_px")}
    (tmp_path / "state.json").write_text(json.dumps(state), encoding="utf-8")
    program = """async ([text, state]) => {
        const module = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
        module.default.render({ model: { get: (name) => state[name] }, el: document.body });
    }"""
    tab = browser.new_page()
    tab.set_default_timeout(200 * PATIENCE_S)
    tab.goto((tmp_path / "state.json").as_uri())
    tab.evaluate(program, [notebook.MODULE, state])
    frame = tab.frame_locator("iframe[title^='The laboratory']")
    frame.locator("body[data-state=done]").wait_for(state="attached")
    assert frame.get_by_label("Queue, right").input_value() == "codel"
