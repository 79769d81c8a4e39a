"""list, show, check and schema."""

import json
import os
import tomllib
from pathlib import Path

import jsonschema
import pytest

import sojourn
from conftest import SMALL, Command

SNAPSHOTS = Path(__file__).parent / "snapshots"


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "queues"),
        ("list", "controls"),
        ("list", "presets"),
        ("list", "scenarios"),
        ("show", "droptail"),
        ("show", "motivating-red"),
    ],
    ids=" ".join,
)
def test_output_is_as_recorded(command: Command, arguments: tuple[str, ...]) -> None:
    """Record anew with SOJOURN_RECORD=1, and read the difference."""
    outcome = command(*arguments)
    assert outcome.code == 0
    assert outcome.err == ""
    recorded = SNAPSHOTS / f"{'-'.join(arguments)}.txt"
    if os.environ.get("SOJOURN_RECORD"):
        recorded.write_text(outcome.out, encoding="utf-8")
    assert outcome.out == recorded.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "what", ["queues", "controls", "media", "noises", "protections", "access", "presets", "scenarios"]
)
def test_lists_as_json(command: Command, what: str) -> None:
    listed = json.loads(command("list", what, "--json").out)
    assert listed
    assert all(row["name"] and row["summary"] for row in listed)


def test_words_choose_among_what_is_listed(command: Command) -> None:
    rows = json.loads(command("list", "lines", "Cable", "household", "--json").out)
    assert rows
    assert all("cable" in row["name"] and "household" in row["name"] for row in rows)
    done = command("list", "lines", "cable", "sea")
    assert done.code == 2
    assert "none has 'cable' and 'sea' in its name or beside it" in done.err


def test_show_as_json_tells_units_and_defaults(command: Command) -> None:
    (red,) = json.loads(command("show", "red", "--json").out)
    assert red["is"] == "queue"
    assert {"name", "kind", "unit", "default", "allowed", "description"} <= set(red["parameters"][0])


def test_everything_listed_can_be_shown(command: Command) -> None:
    known = sojourn.catalogue()
    # Code points are numbers with names, with nothing more to show.
    entries = [entry for kind, listed in known.items() if kind != "code_points" for entry in listed]
    assert len(entries) > len(known["queues"])
    for entry in entries:
        outcome = command("show", entry["name"])
        assert outcome.code == 0
        assert outcome.out


def test_every_algorithm_has_a_source_and_a_summary() -> None:
    known = sojourn.catalogue()
    parts = [*known["framings"], *known["media"], *known["noises"], *known["protections"], *known["access"]]
    for entry in [*known["queues"], *known["controls"], *parts]:
        assert entry["summary"]
        assert entry["sources"]


def test_an_access_line_shows_both_directions(command: Command) -> None:
    out = command("show", "adsl-braud").out
    assert "3815 kbit/s" in out.partition("Up")[0]
    assert "854 kbit/s" in out.partition("Up")[2]
    shown = json.loads(command("show", "docsis", "--json").out)
    assert [entry["is"] for entry in shown] == ["medium", "access"]


def test_an_unknown_name_gets_the_nearest(command: Command) -> None:
    outcome = command("show", "ledbta")
    assert outcome.code == 2
    assert "did you mean 'ledbat'?" in outcome.err


def test_check_says_what_it_read(command: Command, small_file: Path) -> None:
    outcome = command("check", small_file)
    assert outcome.code == 0
    assert outcome.out == f"{small_file}: ok: small, 3 flow(s) in 2 group(s), 2 s, 1 run(s)\n"


def test_the_schema_accepts_what_check_accepts(command: Command) -> None:
    schema = json.loads(command("schema").out)
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    validator.validate(tomllib.loads(SMALL))
    for ready in sojourn.catalogue()["scenarios"]:
        validator.validate(tomllib.loads(command("show", ready["name"]).out))


def test_the_schema_refuses_unknown_keys(command: Command) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(command("schema").out))
    assert not validator.is_valid(tomllib.loads("nonsense = 1\n" + SMALL))
    assert not validator.is_valid(tomllib.loads(SMALL.replace("droptail", "nonsense")))
