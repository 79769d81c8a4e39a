"""The laboratory's page in a real browser, for the tests: served, opened, and its numbers read."""

import importlib.util
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

import sojourn
from sojourn import _native, lab, worlds
from sojourn.pages import laboratory

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

_Test = TypeVar("_Test", bound=Callable[..., Any])
PAGE = Path(sojourn.__file__).parent / "page"
MODULES = Path(__file__).parent.parent / "web"
"""What the page's scripts are joined from."""
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WIDTHS = (360, 768, 1280)
MIN_ROWS = 11

needs_page = pytest.mark.skipif(not (PAGE / "engine.wasm").exists(), reason="the page is not built: make web")


def in_chromium(*more: pytest.MarkDecorator, package: str = "playwright") -> list[pytest.MarkDecorator]:
    """Return the marks of a test that drives a browser."""
    return [
        pytest.mark.long,
        pytest.mark.filterwarnings("default"),
        pytest.mark.skipif(CHROMIUM is None, reason="no chromium"),
        pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"no {package}"),
        *more,
    ]


def marked(*marks: pytest.MarkDecorator) -> Callable[[_Test], _Test]:
    """Give a test these marks."""

    def mark(test: _Test) -> _Test:
        for one in marks:
            one(test)
        return test

    return mark


in_browser = in_chromium(needs_page)
# How long a step in the browser may take on a busy machine, in ms.
PATIENCE_MS = 120_000


@pytest.fixture
def address() -> Iterator[str]:
    """Serve the page."""
    with lab.serving() as (address, server):
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield address
        server.shutdown()
        thread.join()


@pytest.fixture
def motivating(address: str) -> str:
    """Return the address of the motivating example: DropTail on the left, RED on the right."""
    left, right = (sojourn.Scenario.load(f"motivating-{queue}") for queue in ("droptail", "red"))
    return address + laboratory.fragment(left.source, right.source)


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def errors() -> list[str]:
    """Return what the browser complains of."""
    return []


@pytest.fixture
def page(browser: "Browser", errors: list[str]) -> Iterator["Page"]:
    # Nothing moves by itself.
    page = browser.new_page(reduced_motion="reduce")
    page.set_default_timeout(PATIENCE_MS)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type in {"error", "warning"} else None)
    yield page
    page.close()


def serve_modules(page: "Page", *names: str) -> None:
    """Let the page import modules that its scripts are joined from."""

    def serve(route: "Route") -> None:
        name = route.request.url.rsplit("/", 1)[1]
        route.fulfill(path=MODULES / name, content_type="text/javascript")

    for name in names:
        page.route(f"**/{name}", serve)


def settle(page: "Page", state: str = "done") -> None:
    page.locator(f"body[data-state={state}]").wait_for(state="attached")


def wait_until(page: "Page", condition: str) -> None:
    """Wait until a condition in JavaScript holds; the page's policy forbids the browser to look by itself."""
    until = time.monotonic() + PATIENCE_MS / 1000
    while not page.evaluate(condition):
        assert time.monotonic() < until, condition
        page.wait_for_timeout(50)


def native(page: "Page", index: int) -> dict[str, Any]:
    """Run the TOML that the page exports with the native engine."""
    text = page.locator("#files textarea").nth(index).input_value()
    scenario = _native.load(text)
    (run,) = scenario.run([scenario.seed], 1, worlds.Wanted().native, None)
    record: dict[str, Any] = json.loads(run.record())
    return record


def table(page: "Page") -> list[dict[str, Any]]:
    """Return the numbers of both sides in full, by what they are."""
    sides: list[dict[str, Any]] = [{}, {}]
    for row in page.locator("#results tbody tr").all():
        for side, cell in zip(sides, row.locator("td").all(), strict=True):
            side[cell.get_attribute("data-key") or ""] = json.loads(cell.get_attribute("data-value") or "null")
    return sides


def of_record(record: dict[str, Any], key: str) -> float | None:
    parts = key.split(".")
    value: Any = record
    for part in parts:
        value = value[part]
    return value * 100 if parts[-1] in {"share", "utilization", "drop_rate"} and value is not None else value


def assert_numbers_are_native(page: "Page") -> None:
    for index, side in enumerate(table(page)):
        record = native(page, index)
        assert len(side) >= MIN_ROWS
        assert side == {key: of_record(record, key) for key in side}
