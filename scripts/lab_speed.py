"""Measure how fast the laboratory's page is in Chromium, and write the table of docs/guide/lab.md.

Run it after `make web`. Each start has a browser of its own, with nothing in its cache. Goals are those that the page
was built for. On a busy machine all takes longer: the load average stands above the table, and beside the map's time
its processor time.
"""

import math
import os
import shutil
import statistics
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from sojourn import lab

PAGE = Path(__file__).parent.parent / "docs" / "guide" / "lab.md"
BEGIN, END = "<!-- measured by scripts/lab_speed.py -->\n", "<!-- end of what was measured -->\n"
PATIENCE_MS = 120_000
STARTS, MOVES, PLAY_MS = 5, 30, 5000
PHONE = 4
"""How much slower a telephone of the middle class is: the preset of Chromium's tools. Its workers are not slowed."""
MS_PER_S = 1000

# Before any script of the page: when the first result is on the screen, and how long each frame's script takes.
WATCH = """
Object.defineProperty(navigator, "hardwareConcurrency", { get: () => 1 });
globalThis.frames_ms = [];
const later = globalThis.requestAnimationFrame.bind(globalThis);
globalThis.requestAnimationFrame = (act) => later((now) => {
    const began = performance.now();
    act(now);
    frames_ms.push(performance.now() - began);
});
const shown = () => document.body?.dataset.state === "done" && later(() => setTimeout(() => {
    globalThis.first_ms ??= performance.now();
}));
new MutationObserver(shown).observe(document, { subtree: true, attributes: true, attributeFilter: ["data-state"] });
"""
MOVE = """(place) => new Promise((resolve) => {
    const slider = document.getElementById("slider-rate");
    const before = sojournLab.turn;
    const began = performance.now();
    new MutationObserver((_, observer) => {
        if (sojournLab.turn === before || document.body.dataset.state !== "done") return;
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
    }).observe(document.body, { attributes: true });
    slider.value = String(place);
    slider.dispatchEvent(new Event("input"));
})"""


@dataclass(frozen=True)
class Measured:
    """One row: what, values in a unit, and the goal for their median."""

    what: str
    values: Sequence[float]
    unit: str
    goal: float

    def row(self) -> str:
        """Return the row of the table."""
        least, middle, most = min(self.values), statistics.median(self.values), max(self.values)
        spread = f" ({least:.3g} to {most:.3g})" if len(self.values) > 1 else ""
        return f"| {self.what} | {middle:.3g} {self.unit}{spread} | {self.goal:g} {self.unit} |"


@contextmanager
def opened(*, motion: bool = False, slowed: int = 1) -> Iterator[Page]:
    """Open the page in a fresh browser, whose main thread may be slowed, up to its first result."""
    with lab.serving() as (address, server), sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(reduced_motion="no-preference" if motion else "reduce")
        page.set_default_timeout(PATIENCE_MS)
        page.add_init_script(WATCH)
        if slowed > 1:
            page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slowed})
        page.goto(address)
        page.locator("body[data-state=done]").wait_for(state="attached")
        yield page
        browser.close()
        server.shutdown()


def first_result_s(slowed: int = 1) -> float:
    """Return the time from the request for the page to its first result on the screen."""
    with opened(slowed=slowed) as page:
        while (first_ms := page.evaluate("globalThis.first_ms")) is None:
            page.wait_for_timeout(20)
        return float(first_ms) / MS_PER_S


def slider_ms() -> list[float]:
    """Return the times from moves of a slider to their pictures, after two that warm the engine up."""
    with opened() as page:
        times = [float(page.evaluate(MOVE, 400 + 5 * (move % 10))) for move in range(MOVES + 2)]
    return times[2:]


def frame_ms() -> list[float]:
    """Return the time of the scripts of each frame while the packets of the first screen move."""
    with opened(motion=True) as page:
        page.get_by_role("button", name="Pause", exact=True).wait_for()
        page.evaluate("frames_ms.length = 0")
        page.wait_for_timeout(PLAY_MS)
        frames: list[float] = page.evaluate("frames_ms")
    return frames


def map_s() -> tuple[float, float]:
    """Return the time of the whole map of the first scenario in one worker, and the processor time of the page."""
    with opened() as page:
        session = page.context.browser.new_browser_cdp_session() if page.context.browser else None

        def used_s() -> float:
            found = session.send("SystemInfo.getProcessInfo")["processInfo"] if session else []
            return math.fsum(process["cpuTime"] for process in found if process["type"] == "renderer")

        page.locator("#map summary").click()
        before_s = used_s()
        page.get_by_role("button", name="Compute the map").click()
        done = page.locator("#map-state").get_by_text("cells in")
        done.wait_for()
        return float(done.inner_text().split(" cells in ")[1].split(" s")[0]), used_s() - before_s


def main() -> None:
    """Measure, print the table and write it into the page."""
    load = os.getloadavg()[0]
    whole_s, busy_s = map_s()
    rows = [
        Measured("First result of an empty browser", [first_result_s() for _ in range(STARTS)], "s", 1),
        Measured(
            f"The same, the browser's main thread {PHONE} times slowed",
            [first_result_s(PHONE) for _ in range(STARTS)],
            "s",
            1.5,
        ),
        Measured("Slider to picture, both runs of 60 s", slider_ms(), "ms", 80),
        Measured("Scripts of a frame in live play", frame_ms(), "ms", 4),
        Measured(f"Map in one worker, 60 s a cell ({busy_s:.1f} s of processor time)", [whole_s], "s", 6),
    ]
    text = (
        f"Medians, and the range where there is one, on a machine with {os.cpu_count()} shared processor cores "
        f"at a load average of {load:.1f}:\n\n| What | Measured | Goal |\n| --- | --- | --- |\n"
        + "".join(f"{row.row()}\n" for row in rows)
    )
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if found:
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
