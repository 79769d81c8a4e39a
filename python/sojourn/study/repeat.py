"""Repeats a study: runs what its folder lacks, writes figures, data and the page."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import repeat as repeated
from pathlib import Path

from sojourn import children
from sojourn.look import Look, asked, looking
from sojourn.reading import unknown_name
from sojourn.store import check_writable
from sojourn.study.kept import read_items, write_item
from sojourn.study.lab import Lab
from sojourn.study.load import StudyFolder
from sojourn.study.means import Means
from sojourn.study.model import Findings, Item, Study
from sojourn.study.page import write_page
from sojourn.study.short import write_short
from sojourn.worlds.linux.errors import NotInstalledError

_MAX_WORKERS = 8
"""Each has the libraries and the means of its own in memory."""


@dataclass
class Repeated:
    """What was repeated of a study."""

    page: Path = Path()
    findings: dict[str, Findings] = field(default_factory=dict)
    """What each item found, by name."""
    skipped: dict[str, NotInstalledError] = field(default_factory=dict)
    """Items that need a kernel where there is none."""


def chosen_items(study: Study, names: Sequence[str]) -> list[Item]:
    """Return items by name; without names all but those that take long. Raises InputError for an unknown name."""
    known = {item.name: item for item in study.items}
    for name in names:
        if name not in known:
            raise unknown_name(f"{study.name} has no item", name, list(known))
    return [known[name] for name in names] if names else [item for item in study.items if not item.by_name]


def repeat(
    study: Study,
    items: Sequence[Item],
    folder: Path,
    jobs: int,
    update: Callable[[float], None],
    say: Callable[[str], None] = lambda sentence: None,
) -> Repeated:
    """Repeat items of a study in a folder, and write the page of all items that the folder has.

    `update` is told the done fraction, `say` what becomes of runs that the folder held before. Raises
    NotInstalledError where all items need a kernel and there is none.
    """
    check_writable(folder.parent if not folder.exists() else folder, str(folder))
    done = Repeated()
    goes_on = not all(item.needs_kernel for item in items)
    most = 0.0

    def report(_what: str, part: float) -> None:
        # An item may need several sweeps; what is shown never falls back.
        nonlocal most
        most = max(most, (len(done.findings) + len(done.skipped) + part) / len(items))
        update(most)

    lab = Lab(folder, jobs, report, say)
    for item in items:
        try:
            done.findings[item.name] = item.find(lab)
        except NotInstalledError as error:
            if not (item.needs_kernel and goes_on):
                raise
            done.skipped[item.name] = error
            continue
        write_item(folder, study, item, done.findings[item.name])
        report(item.name, 0)
    everything = read_items(folder, study)
    done.page = write_page(folder, study, everything)
    write_short(folder, study, everything)
    return done


def from_kept(study: StudyFolder, names: Sequence[str], folder: Path, jobs: int) -> Path:
    """Write figures, tables and page of a study from the means that it keeps, and return the page; nothing is run.

    Figures of different items are drawn at once by up to `jobs` processes, which read the study's folder again. PNG and
    PDF, which no page shows and which take two fifths of the time, are those of items that are named. Raises InputError
    where the folder keeps none, or has no item of a name.
    """
    check_writable(folder.parent if not folder.exists() else folder, str(folder))
    made = study.study()
    chosen = [item.name for item in chosen_items(made, names or [item.name for item in made.items])]
    workers = min(jobs, len(chosen), _MAX_WORKERS)
    if workers > 1:
        with children.pool(workers) as pool:
            given = (repeated(one) for one in (study.folder, folder, not names, asked()))
            list(pool.map(_draw_kept, study.longest_first(chosen), *given))
    else:
        means = study.replayed()
        for name in chosen:
            _write_kept(study, made, means, name, folder, page_only=not names)
    everything = read_items(folder, made)
    write_short(folder, made, everything)
    return write_page(folder, made, everything)


def _draw_kept(name: str, study: Path, folder: Path, page_only: bool, look: Look) -> None:
    """Write an item in a process of its own."""
    with looking(look):
        _write_kept(*_replayed(study), name, folder, page_only=page_only)


@functools.cache
def _replayed(folder: Path) -> tuple[StudyFolder, Study, Means]:
    study = StudyFolder.load(folder)
    return study, study.study(), study.replayed()


def _write_kept(study: StudyFolder, made: Study, means: Means, name: str, folder: Path, *, page_only: bool) -> None:
    (item,) = chosen_items(made, [name])
    write_item(folder, made, item, study.found_in_kept(study.item(name), means), page_only=page_only)
