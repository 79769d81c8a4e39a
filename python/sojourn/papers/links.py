"""Links of the documentation's figures into the laboratory on the documentation's site."""

import re
from importlib.metadata import metadata

from sojourn.pages import laboratory
from sojourn.pages.laboratory import Link
from sojourn.study.find import find_folder

_IMAGE = re.compile(r"^!\[[^\]]*(?:\[[^\]]*\][^\]]*)*\]\((\S+)\)$", re.MULTILINE)
_LINE = re.compile(r"^Open in the laboratory: .*\n\n", re.MULTILINE)
_DEFINITIONS = re.compile(r"\n*(^\[lab-[^\]]*\]: \S+\n)+\Z", re.MULTILINE)


def site() -> str:
    """Return the address of the documentation's site."""
    addresses = dict(one.split(", ", 1) for one in metadata("sojourn").get_all("Project-URL") or [])
    return str(addresses["Documentation"]).rstrip("/")


def of_study(study: str) -> dict[str, list[Link]]:
    """Return what opens the scenarios of a study's figures, by the figure's name."""
    items = find_folder(study).study().items
    return {figure: list(links) for item in items for figure, links in item.laboratory().items()}


def linked(study: str, text: str) -> str:
    """Return a study's page with a link below each figure whose scenarios the laboratory can run.

    The addresses hold whole scenarios, and stand at the end of the page.
    """
    known = of_study(study)
    definitions: dict[str, str] = {}

    def with_link(image: re.Match[str]) -> str:
        figure = image[1].rpartition("/")[2].rpartition(".")[0]
        named = {
            f"lab-{figure}" + (f"-{number}" if number else ""): one for number, one in enumerate(known.get(figure, []))
        }
        if not named:
            return image[0]
        definitions.update((name, f"{site()}/{one.address}") for name, one in named.items())
        shown = ", ".join(f"[{one.text}][{name}]" for name, one in named.items())
        return f"{image[0]}\n\nOpen in the laboratory: {shown}."

    body = _IMAGE.sub(with_link, without(text).rstrip("\n"))
    end = "".join(f"[{name}]: {address}\n" for name, address in definitions.items())
    return f"{body}\n\n{end}" if end else f"{body}\n"


def without(text: str) -> str:
    """Return a page without the links that `linked` adds."""
    return _DEFINITIONS.sub("\n", _LINE.sub("", text))


def local(text: str, up: str) -> str:
    """Return a page that finds the laboratory on the site that it belongs to; `up` leads to the site's root."""
    return text.replace(f"{site()}/{laboratory.FILE}", f"{up}{laboratory.FILE}")
