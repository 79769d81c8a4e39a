"""Lets every address of the project follow from pyproject.toml: where the sources are, and where the documentation is.

python scripts/addresses.py          name the files that have another address; exit code 1 where there are any
python scripts/addresses.py --write  write what [project.urls] says into them
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
HOME = ROOT / "pyproject.toml"
NOBODY = "OWNER"
"""What stands where nobody has said yet who publishes."""
_SOURCES = re.compile(r"https://github\.com/[\w.-]+/sojourn(?![\w-])")
_SITE = re.compile(r"https://[\w.-]+\.github\.io/sojourn(?![\w-])")


def addresses() -> tuple[str, str]:
    """Return the address of the sources and that of the documentation."""
    urls = tomllib.loads(HOME.read_text(encoding="utf-8"))["project"]["urls"]
    return urls["Homepage"].rstrip("/"), urls["Documentation"].rstrip("/")


def followed(text: str) -> str:
    """Return a text in which the addresses are those of pyproject.toml."""
    sources, site = addresses()
    return _SITE.sub(site, _SOURCES.sub(sources, text))


def astray() -> Iterator[tuple[Path, str]]:
    """Yield each file that has another address, and what it should say."""
    having = ["git", "grep", "--files-with-matches", "--null", "-E", r"github\.(com/[^/]+|io)/sojourn"]
    listed = subprocess.run(having, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    for name in filter(None, listed.split("\0")):
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        if (right := followed(text)) != text:
            yield ROOT / name, right


def main() -> int:
    """Name the files, or renew them."""
    found = list(astray())
    for file, text in found:
        if "--write" in sys.argv:
            file.write_text(text, encoding="utf-8")
        print(file.relative_to(ROOT))
    return int(bool(found) and "--write" not in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
