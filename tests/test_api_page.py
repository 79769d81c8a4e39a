"""The reference of the Python API: all that the package offers, as its docstrings have it."""

import re

from handbook import api


def test_the_page_is_that_of_the_docstrings() -> None:
    assert api.PAGE.read_text(encoding="utf-8") == api.text(), "run `make docs`"


def test_all_that_the_package_offers_is_on_the_page() -> None:
    listed = [name.removeprefix("sojourn.") for names in api.SECTIONS.values() for name in names]
    public = [name for name in listed if not name.startswith("_native.")]
    assert sorted(public) == sorted(api.offered())
    assert len(listed) == len(set(listed))


def test_everything_says_what_it_is() -> None:
    text = api.text()
    # A heading, its signature and the next heading: nothing in between.
    assert re.findall(r"^#### (.*)\n\n```python\n(?:(?!```).*\n)*```\n\n(?=#|Source)", text, flags=re.MULTILINE) == []
    assert re.findall(r"^\| (`\w+`) \|.*\|  \|$", text, flags=re.MULTILINE) == []
    assert re.findall(r"^\| (`\w+`) \|  \|", text, flags=re.MULTILINE) == []


def test_a_signature_has_the_values_of_constants_and_marks_its_kinds() -> None:
    text = api.text()
    assert "    bin_s: float = 0.1,\n" in text
    assert 'world: str = "sim",' in text
    assert "with_(changes: Mapping[str, Any] | None = None, /, **keys: Any) -> Scenario" in text
    assert "Result.load(directory: str | os.PathLike[str]) -> Result" in text
    assert "- `runs`, `seed`: Number of runs and seed of the first" in text
