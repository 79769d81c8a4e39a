"""A study under the settings that a fit found: the same sweeps with them, and what they change in an item."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sojourn.reading import unknown_name
from sojourn.study.means import Means
from sojourn.study.model import Check

if TYPE_CHECKING:
    from sojourn.api import Scenario


def with_fitted(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return a study's tables with a second sweep for each that `fit` names; raises InputError for one there is not.

    It has what the first one has, what the study says for it under its own name, and what `fit` sets.
    """
    said = tables.get("fit", {})
    sweeps = dict(tables.get("sweep", {}))
    for name, own in said.get("sweeps", {}).items():
        if name not in sweeps:
            raise unknown_name("fit.sweeps: the study has no sweep", name, list(sweeps))
        first, given = sweeps[name], sweeps.get(own, {})
        axes = {**_axes(first), **_axes(given)}
        made = {**first.get("set", {}), **said.get("set", {}), **given.get("set", {})}
        sweeps[own] = {**first, **given, "axes": axes, "set": made}
    return {**tables, "sweep": sweeps} if sweeps else dict(tables)


def _axes(sweep: Mapping[str, Any]) -> dict[str, Any]:
    given = sweep.get("axes", {})
    return dict.fromkeys(given, True) if isinstance(given, list) else dict(given)


def first_of(sweep: str, tables: Mapping[str, Any]) -> str:
    """Return the sweep that a sweep repeats with the settings found; itself where it is no such one."""
    return next((name for name, own in tables.get("fit", {}).get("sweeps", {}).items() if own == sweep), sweep)


def under_fit(means: Means, item: str, tables: Mapping[str, Any]) -> Means | None:
    """Return means in which each sweep and measure is the one with the settings found, for an item that `fit` names.

    None where these were not run: they belong to an item of their own.
    """
    said = tables.get("fit", {})
    own: Mapping[str, str] = {**said.get("sweeps", {}), **said.get("measures", {})}
    there = {name: one for name, one in own.items() if name in means.sweeps}
    if item not in said.get("items", []) or not set(there.values()) <= means.sweeps.keys():
        return None
    found = {name: means.sweeps[one] for name, one in there.items()}

    def scenario(sweep: str, **at: Any) -> "Scenario":
        return means.scenario(own.get(sweep, sweep), **at)

    return Means({**means.sweeps, **found}, means.units, scenario)


def in_sweeps(claim: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the tables of a claim where its sweeps have other names; None where not all of them have.

    Some of its numbers with one reading and some with another are none of its readings.
    """
    lacking = False

    def renamed(tables: Any, key: str = "") -> Any:
        nonlocal lacking
        if isinstance(tables, dict):
            return {key: renamed(value, key) for key, value in tables.items()}
        if isinstance(tables, list):
            return [renamed(value) for value in tables]
        if key != "sweep" or not isinstance(tables, str):
            return tables
        lacking |= tables not in names
        return names.get(tables, tables)

    found: dict[str, Any] = renamed(dict(claim))
    return None if lacking else found


def under_fit_caption(caption: str) -> str:
    """Return the caption of the same figure with the settings found: its first sentence is about those printed.

    >>> under_fit_caption("Queues vanish. Bars are 95 % intervals.")
    'With the settings found. Bars are 95 % intervals.'
    """
    _, _, rest = caption.partition(". ")
    return f"With the settings found. {rest}".strip()


def change(before: Sequence[Check], after: Sequence[Check]) -> tuple[str, str]:
    """Return in a sentence what the settings found change in an item's checks, and which; empty where it has none.

    >>> one, other = (Check("it rises", "", "", held, "Open.") for held in (False, True))
    >>> change([one], [other])
    ('Fitted, 1 of 1 checks hold; as printed, 0.', 'With the settings found holds now: it rises.')
    """
    then = {check.claim: check for check in after}
    pairs = [(check, then[check.claim]) for check in before if check.claim in then]
    judged = [pair for pair in pairs if None not in {one.agrees for one in pair}]
    if not judged:
        return "", ""
    held = [sum(bool(pair[side].agrees) for pair in judged) for side in (0, 1)]
    named = [(one.claim, other.agrees) for one, other in judged if one.agrees is not other.agrees]
    which = [
        f"{word}: {'; '.join(names)}"
        for word, wanted in (("holds now", True), ("holds no longer", False))
        if (names := [claim for claim, holds in named if holds is wanted])
    ]
    short = f"Fitted, {held[1]} of {len(judged)} checks hold; as printed, {held[0]}."
    return short, f"With the settings found {'. It '.join(which)}." if which else ""
