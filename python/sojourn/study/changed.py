"""A study with some keys of all its scenarios changed: the reader's question, in the form of the study's figures."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from sojourn.study.load import StudyFolder
from sojourn.study.means import Means
from sojourn.study.model import Check, Findings

_WHY = "The setting was changed."


def changed(study: StudyFolder, overrides: Mapping[str, Any]) -> StudyFolder:
    """Return a study whose scenarios have these keys changed, after everything that the study itself changes.

    What the study says in words of its own settings is left out: its answer, and what it found in each item.
    """
    tables = {key: value for key, value in study.tables.items() if key != "answer"}
    asked = _said(overrides)
    options = "".join(f' --set "{key}={value}"' for key, value in overrides.items())
    tables |= {
        "name": f"{study.name}{options}",
        "finding": f"{study.tables['title']}, with {asked}",
        "item": [_item(item, asked) for item in study.tables["item"]],
    }
    return _Changed(study.folder, tables, study.code, dict(overrides))


def _said(overrides: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in overrides.items())


def _item(item: Mapping[str, Any], asked: str) -> dict[str, Any]:
    setting = "; ".join(filter(None, (item.get("setting"), f"changed: {asked}")))
    return {key: value for key, value in item.items() if key != "found"} | {"setting": setting}


class _Changed(StudyFolder):
    @functools.cached_property
    def _unchanged(self) -> tuple[StudyFolder, Means]:
        """The study as its folder has it, and the means that it keeps."""
        study = StudyFolder.load(self.folder)
        return study, study.replayed()

    def findings(self, item: Mapping[str, Any], means: Means) -> Findings:
        found = super().findings(item, means)
        title = str(item.get("title", item["name"]))
        caption = f"{title}{'' if title.endswith('?') else '.'} Changed: {_said(self.changed)}."
        found.captions = dict.fromkeys(found.captions, caption)
        before = self._verdicts(item) if any(one.agrees is False for one in found.checks) else {}
        found.checks = [
            dataclasses.replace(one, note=_why(before.get(one.claim))) if one.agrees is False else one
            for one in found.checks
        ]
        return found

    def _verdicts(self, item: Mapping[str, Any]) -> dict[str, Check]:
        """Return the item's checks by their claims, as they are without the change; none where no means are kept."""
        study, means = self._unchanged
        own = next(one for one in study.tables["item"] if one["name"] == item["name"])
        if not {*study._sweeps_behind(study.sweeps_of(own))} <= {*means.sweeps}:  # noqa: SLF001 (a study like this one)
            return {}
        return {one.claim: one for one in study.checks(own, means)}


def _why(before: Check | None) -> str:
    """Return why a claim does not hold, by what became of it without the change."""
    if before is None or before.agrees is None:
        return _WHY
    return (
        f"{_WHY} It holds without that."
        if before.agrees
        else f"It does not hold without the change either: {before.note}"
    )
