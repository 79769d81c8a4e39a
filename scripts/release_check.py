"""Say whether a release is ready for a person's hand: one line for each check, exit code 1 where one fails."""

import json
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import addresses

ROOT = addresses.ROOT
PYTHON = ROOT / ".venv" / "bin" / "python"
MAX_WORDS = 1000
"""Of the paper: the Journal of Open Source Software asks for 250 to 1000."""


def text_of(name: str) -> str:
    """Return a file of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def version() -> str:
    """Return the version, which Cargo.toml says."""
    return str(tomllib.loads(text_of("Cargo.toml"))["workspace"]["package"]["version"])


def must(holds: object, fault: str) -> None:
    """Raise a ValueError that says what is wrong."""
    if not holds:
        raise ValueError(fault)


def run(*words: str | Path, folder: Path = ROOT) -> str:
    """Run a command and return its output; raises a ValueError with its last line where it fails."""
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False)
    last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
    must(done.returncode == 0, f"{' '.join(map(str, words))}: {last}")
    return done.stdout


def one_version() -> str:
    """Check that the version is the same everywhere."""
    must(f"\nversion: {version()}\n" in text_of("CITATION.cff"), "CITATION.cff has another version")
    must(f"version = {{{version()}}}" in re.sub(" +", " ", text_of("docs/cite.md")), "docs/cite.md has another version")
    heading = re.search(r"^## (.*)$", text_of("CHANGELOG.md"), re.MULTILINE)
    must(heading and heading[1].startswith(version()), "the first heading of CHANGELOG.md is another version")
    return version()


def changelog_is_cut() -> str:
    """Check that the changelog's entry has a date."""
    heading = re.search(r"^## (.*)$", text_of("CHANGELOG.md"), re.MULTILINE)
    must(heading and re.fullmatch(r"\S+ \(\d{4}-\d\d-\d\d\)", heading[1]), f"its heading is {heading and heading[1]!r}")
    return str(heading and heading[1])


def owner() -> str:
    """Check that the place of publication is named, and all addresses follow from it."""
    astray = [str(file.relative_to(ROOT)) for file, _ in addresses.astray()]
    must(not astray, f"other addresses in {', '.join(astray)}: python scripts/addresses.py --write")
    must(addresses.NOBODY not in addresses.addresses()[0], "[project.urls] of pyproject.toml names no owner yet")
    return addresses.addresses()[0]


def citation() -> str:
    """Check that CITATION.cff and .zenodo.json have what their readers need, and agree."""
    given = text_of("CITATION.cff")
    for key in ("cff-version", "message", "title", "type", "authors", "version", "license", "repository-code"):
        must(re.search(rf"^{key}:", given, re.MULTILINE), f"CITATION.cff has no {key}")
    deposit = json.loads(text_of(".zenodo.json"))
    for key in ("title", "description", "upload_type", "license", "creators", "keywords"):
        must(deposit.get(key), f".zenodo.json has no {key}")
    must(f'title: "{deposit["title"]}"' in given, ".zenodo.json has another title than CITATION.cff")
    return str(deposit["title"])


def paper() -> str:
    """Check that paper.md has the parts of a paper of JOSS, few enough words, its sources and figures."""
    _, head, body = text_of("paper.md").split("---\n", 2)
    for key in ("title", "tags", "authors", "affiliations", "date", "bibliography"):
        must(re.search(rf"^{key}:", head, re.MULTILINE), f"paper.md has no {key}")
    for heading in ("Summary", "Statement of need", "References"):
        must(f"# {heading}\n" in body, f"paper.md has no part {heading!r}")
    known = set(re.findall(r"^@\w+\{([^,]+),", text_of("paper.bib"), re.MULTILINE))
    cited = set(re.findall(r"@([\w-]+)", body))
    must(cited <= known, f"paper.bib lacks {', '.join(sorted(cited - known))}")
    missing = [name for name in re.findall(r"\]\(([^)#]+)\)", body) if "://" not in name and not (ROOT / name).exists()]
    must(not missing, f"paper.md shows {', '.join(missing)}, which is not there")
    words = len(re.sub(r"[#*`\[\]()]", " ", body).split())
    must(words <= MAX_WORDS, f"paper.md has {words} words, allowed: {MAX_WORDS}")
    return f"{words} words"


def wheel() -> str:
    """Check that a wheel, in an environment of its own, runs a scenario and has the laboratory."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        run(PYTHON, "-m", "maturin", "build", "--release", "--locked", "--quiet", "--out", place / "dist")
        (built,) = (place / "dist").glob("*.whl")
        venv.create(place / "own", with_pip=True)
        python = place / "own" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", built)
        run(python.with_name("sojourn"), "run", "motivating-red", "--runs", "1", folder=place)
        run(python.with_name("sojourn"), "lab", "motivating-red", "--export", "lab.html", folder=place)
        return built.name


def crates() -> str:
    """Check that the crates that others can use are complete."""
    return run(ROOT / "scripts" / "crates").strip()


def site() -> str:
    """Check that the site is built, and its links lead somewhere."""
    run("make", "site")
    return "build/site"


CHECKS: dict[str, Callable[[], str]] = {
    "version": one_version,
    "changelog": changelog_is_cut,
    "addresses": owner,
    "citation": citation,
    "paper": paper,
    "wheel": wheel,
    "crates": crates,
    "site": site,
}


def main() -> int:
    """Print what holds and what does not."""
    failed = 0
    for name, check in CHECKS.items():
        try:
            said = f"holds  {name}: {check()}"
        except ValueError as error:
            said, failed = f"fails  {name}: {error}", failed + 1
        print(said, flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
