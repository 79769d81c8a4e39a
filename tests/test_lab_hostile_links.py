"""Links into the laboratory that somebody made to do harm, in a real browser: what they hold is checked and bounded."""

import base64
import json
import shlex
import zlib
from typing import TYPE_CHECKING, Any

from tests.lab_page import address, browser, errors, in_browser, page, serve_modules, settle

import sojourn

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["address", "browser", "errors", "page"]

pytestmark = in_browser

READY = {"name": "motivating-red", "changes": []}
# Far more than the page takes for it, far less than a page that hangs.
PROMPT_MS = 10_000


def behind(held: Any) -> str:
    """Return what stands behind # for a value, or for bytes that need not be JSON."""
    packer = zlib.compressobj(level=9, wbits=-zlib.MAX_WBITS)
    data = held if isinstance(held, bytes) else json.dumps(held).encode()
    return base64.urlsafe_b64encode(packer.compress(data) + packer.flush()).decode().rstrip("=")


def with_side(**side: Any) -> str:
    return behind({"sides": [side, READY]})


def changed(*pair: Any) -> str:
    return with_side(name="motivating-red", changes=[pair])


TEXT = "duration = '1 s'"
NO_SIDE = "a side is neither the name of a ready scenario nor a text of at most 1 MiB"
NO_CHANGE = "its changes are not at most 1000 keys with printable values"
HOSTILE = {
    "a command as the name of a text": (with_side(text=TEXT, name="x; touch planted"), NO_SIDE),
    "a command as a name": (with_side(name="x; touch planted"), NO_SIDE),
    "a name that is an object": (with_side(name={"a": 1}), NO_SIDE),
    "a text that is a list": (with_side(text=[TEXT]), NO_SIDE),
    "nothing": (with_side(), NO_SIDE),
    "a side that is a number": (behind({"sides": [7, READY]}), NO_SIDE),
    "a long text": (with_side(text="#" * 1_100_000), NO_SIDE),
    "the end of a paste": (changed("duration", "5 s\x1b[201~\ntouch planted\n"), NO_CHANGE),
    "a line break in a key": (changed("duration\n", "5 s"), NO_CHANGE),
    "text in another direction": (changed("duration", "5\u202e s"), NO_CHANGE),
    "a value that is a number": (changed("duration", 5), NO_CHANGE),
    "no pairs": (with_side(name="motivating-red", changes="abc"), NO_CHANGE),
    "many changes": (with_side(name="motivating-red", changes=[["a", "b"]] * 1001), NO_CHANGE),
    "one side": (behind({"sides": [READY]}), "it holds no two scenarios"),
    "two letters": (behind({"sides": "ab"}), "it holds no two scenarios"),
    "null": (behind(None), "it holds no two scenarios"),
    "a gigabyte's beginning": (behind(b"[" + b" " * 4_000_000), "it unpacks to more than 3 MiB"),
    "deep nesting": (behind(b"[" * 3_000_000), "it was cut off or damaged"),
    "a cut link": (with_side(name="motivating-red")[:-6], "it was cut off or damaged"),
    "no base64": ("%20<b>", "it was cut off or damaged"),
    "no deflate": ("nonsense", "it was cut off or damaged"),
}


def test_a_hostile_link_is_refused_with_its_reason(page: "Page", address: str, errors: list[str]) -> None:
    page.goto(address)
    settle(page)
    commands = [one.text_content() for one in page.locator("#texts pre").all()]
    for what, (link, reason) in HOSTILE.items():
        page.evaluate("(link) => { location.hash = link; }", link)
        page.locator("#notice").get_by_text(f"This link cannot be read ({reason})").wait_for(timeout=PROMPT_MS)
        assert [one.text_content() for one in page.locator("#texts pre").all()] == commands, what
        page.evaluate("() => { document.getElementById('notice').textContent = ''; }")
    assert errors == []


def test_a_gigabyte_in_a_link_is_refused_before_it_is_unpacked(page: "Page", address: str) -> None:
    packer = zlib.compressobj(level=9, wbits=-zlib.MAX_WBITS)
    packed = b"".join(packer.compress(b" " * 1_000_000) for _ in range(1000)) + packer.flush()
    link = base64.urlsafe_b64encode(packed).decode()
    serve_modules(page, "link.js")
    page.goto(address)
    settle(page)
    # Browsers take seconds for an address of this length, so the page's own function is asked.
    refuse = """async (link) => {
        const { unpacked } = await import("./link.js");
        const began = performance.now();
        try { await unpacked(link); } catch (error) { return [error.message, performance.now() - began]; }
    }"""
    message, took_ms = page.evaluate(refuse, link)
    assert message == "it unpacks to more than 3 MiB"
    assert took_ms < PROMPT_MS


def test_a_command_in_the_page_is_one_for_a_shell(page: "Page", address: str) -> None:
    changes = [["duration", "5 s"], ["group.tcp.title", """"it's `$(touch planted)`; #" """]]
    page.goto(f"{address}#{with_side(name='motivating-red', changes=changes)}")
    settle(page)
    command = page.locator("#texts pre").first.text_content() or ""
    told = [word for key, value in changes for word in ("--set", f"{key}={value}")]
    assert shlex.split(command) == ["sojourn", "run", "motivating-red", "--runs", "1", *told]
    scenario = sojourn.Scenario.load("motivating-red", told[1::2])
    assert scenario.to_dict().duration == "5 s"
