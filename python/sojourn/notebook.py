"""The laboratory's page in a notebook, as a widget; needs the extra `notebook`."""

from html import escape
from typing import Any

from sojourn import lab
from sojourn._native import InputError
from sojourn.api import Scenario
from sojourn.pages.laboratory import fragment
from sojourn.reading import input_error

HEIGHT_PX = 900
# The page is one file, which a frame of its own keeps apart from the notebook's styles and keys.
MODULE = """
export default {
  render({ model, el }) {
    const address = URL.createObjectURL(new Blob([model.get("page")], { type: "text/html" }));
    const frame = document.createElement("iframe");
    frame.title = "The laboratory: two queues side by side";
    frame.style.cssText = `width: 100%; height: ${model.get("height_px")}px; border: 0`;
    frame.src = address + model.get("fragment");
    el.append(frame);
    return () => URL.revokeObjectURL(address);
  },
};
"""


def laboratory(left: Scenario | None = None, right: Scenario | None = None, *, height_px: int = HEIGHT_PX) -> Any:
    """Return a widget with the laboratory's page: two scenarios side by side, one on both sides, or the first screen.

    The engine runs in the browser, with the same bytes as here. Where the package has no page, the widget says so.
    Raises InputError where anywidget is not installed.
    """
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise input_error('the widget needs anywidget: pip install "sojourn[notebook]"') from None

    class Laboratory(anywidget.AnyWidget):
        """The page in a frame."""

        _esm = MODULE
        page = traitlets.Unicode().tag(sync=True)
        fragment = traitlets.Unicode().tag(sync=True)
        height_px = traitlets.Int().tag(sync=True)

    shown = ""
    if left is not None:
        shown = fragment(left.source, (right or left).source)
    return Laboratory(page=_page(), fragment=shown, height_px=height_px)


def _page() -> str:
    try:
        return lab.one_file()
    except InputError as missing:
        return f'<!doctype html><html lang="en"><title>Laboratory</title><p>{escape(str(missing))}</p></html>'
