"""Draw docs/images/lab.webp, the laboratory's first screen in motion: run it after `make web`.

It plays once, and shows fixed simulated times, so that a busy machine draws the same picture. It needs chromium.
"""

import io
import shutil
import threading
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from sojourn import lab

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "lab.webp"
WIDTH, HEIGHT = 1000, 930
FRAMES, STEP_S = 20, 0.25
FRAME_MS, LAST_MS = 200, 2000


def main() -> None:
    """Take the pictures and put them together."""
    with lab.serving() as (address, server), sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(address)
        page.get_by_role("button", name="Pause", exact=True).click(timeout=120_000)
        frames = []
        for index in range(1, FRAMES + 1):
            page.evaluate("timeS => { scrollTo(0, 0); sojournLab.player.show(timeS); }", index * STEP_S)
            frames.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
        browser.close()
        server.shutdown()
    durations = [FRAME_MS] * (FRAMES - 1) + [LAST_MS]
    first, *others = frames
    first.save(PICTURE, save_all=True, append_images=others, duration=durations, loop=1, quality=30, method=6)


if __name__ == "__main__":
    main()
