"""The page of a study: what was found, how it was compared, and every item."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sojourn import _native, pages
from sojourn.pages import Cell, Fold, Page, Picture, Table, Tile
from sojourn.pages.laboratory import Link
from sojourn.study import model
from sojourn.study.counts import Counts
from sojourn.study.model import Check, Findings, Item, Study
from sojourn.study.short import verdict

_MAX_IN_LEAD = 10
_TONES = {True: "yes", False: "no", None: ""}
_CHECKS = ("Claim", "Source", "Measured", "Tolerance", "Holds", "Why not, or what is open")


def write_page(folder: Path, study: Study, findings: Mapping[str, Findings]) -> Path:
    """Write the page of all items that the folder keeps."""
    return pages.write(page(folder, study, findings), folder / pages.PAGE)


def page(folder: Path, study: Study, findings: Mapping[str, Findings]) -> Page:
    """Return the page of a study from what its folder keeps."""
    items = [item for item in study.items if item.name in findings]
    everything = [(item, check) for item in items for check in findings[item.name].checks]
    checks = [check for _, check in everything]
    counted = Counts.of(checks)
    summary = "" if study.summary is None else study.summary(dict(findings))
    if len(items) == 1 < len(study.items):
        summary = findings[items[0].name].verdict
    headline = "" if study.headline is None else study.headline(dict(findings))
    leading = _leading(everything)
    shown = _chosen(study, findings)
    links = {item.name: item.laboratory() for item in items}
    homes = _homes(items, findings)
    folds = [_fold(folder, item, findings[item.name], shown, links[item.name], homes) for item in items]
    if len(checks) > len(leading):
        rows = [[Cell(item.title), *_row(check)] for item, check in everything]
        table = _without_empty(Table(("Item", *_CHECKS), rows, f"All checks of {study.name}"))
        folds.insert(0, Fold(f"All {len(checks)} checks", [counted.sentence()], tables=[table]))
    return Page(
        title=headline or study.title,
        kicker=f"{_sentence(f'{study.source}: {study.title}' if headline else study.source)} "
        f"Repeated with Sojourn {_native.__version__}.",
        lead=[paragraph for paragraph in summary.split("\n\n") if paragraph.strip()],
        tiles=_tiles(checks),
        pictures=[
            _picture(folder / place, name, findings[place].captions[name], links[place].get(name, ()))
            for place, name in shown
        ],
        heading="Does it hold?",
        table=_without_empty(Table(_CHECKS[:-1], [_row(check)[:-1] for _, check in leading], "Main claims"))
        if leading
        else None,
        notes=[counted.sentence()] if checks else [],
        folds=folds,
        command=study.command([item.name for item in items] if len(items) < len(study.items) else ()),
    )


def _held(check: Check) -> int:
    return check.held if check.points else int(bool(check.agrees))


def _row(check: Check) -> list[Cell]:
    holds = Cell(verdict(check), tone=_TONES[check.agrees])
    return [Cell(check.claim), Cell(check.paper), Cell(check.measured), Cell(check.tolerance), holds, Cell(check.note)]


def _leading(everything: Sequence[tuple[Item, Check]]) -> list[tuple[Item, Check]]:
    """Return the claims that the study is about, and the first of each item that has none of these."""
    main = [one for one in everything if one[1].main and one[1].agrees is not None]
    there = {item.name for item, _ in main}
    for one in everything:
        if one[1].agrees is not None and one[0].name not in there:
            main.append(one)
            there.add(one[0].name)
    chosen = main[:_MAX_IN_LEAD]
    return [one for one in everything if any(one is other for other in chosen)]


def _tiles(checks: Sequence[Check]) -> list[Tile]:
    counted = Counts.of(checks)
    main = [check for check in checks if check.main and check.agrees is not None]
    found = []
    if main:
        held, points = sum(map(_held, main)), sum(max(check.points, 1) for check in main)
        found.append(Tile(f"{held} of {points}", "points at which the finding holds"))
    if counted.claims:
        found.append(Tile(f"{counted.held} of {counted.claims}", "claims of the source hold"))
    if counted.own:
        found.append(Tile(f"{counted.own_held} of {counted.own}", "expectations of the study's own hold"))
    if found and counted.shown:
        found.append(Tile(str(counted.shown), "further values, shown without a verdict"))
    return found


def _chosen(study: Study, findings: Mapping[str, Findings]) -> list[tuple[str, str]]:
    """Return item and name of the figure that stands for the study, where the folder has it."""
    known = [(place, name) for place, name in study.pictures if place in findings and name in findings[place].captions]
    return known[:1]


def _picture(place: Path, name: str, caption: str, laboratory: Sequence[Link]) -> Picture:
    wide, narrow = (path.read_text(encoding="utf-8") for path in pages.pictures.paths(place, name))
    finding, _, rest = caption.partition(". ")
    return Picture(wide, narrow, caption, f"{finding}." if rest else finding, rest, name, laboratory)


def _fold(
    folder: Path,
    item: Item,
    found: Findings,
    above: Sequence[tuple[str, str]],
    laboratory: Mapping[str, Sequence[Link]],
    homes: Mapping[str, Item],
) -> Fold:
    """Return an item, without the figure that stands above already, and the data that stand with another one."""
    own = [table for table in found.tables if homes[table.name] is item]
    others = [f"{table.name}: with {homes[table.name].title}." for table in found.tables if table not in own]
    parts = [item.setting, found.verdict, *found.text.split("\n\n")]
    return Fold(
        item.title,
        [part for part in parts if part.strip()],
        [
            _picture(folder / item.name, name, caption, laboratory.get(name, ()))
            for name, caption in found.captions.items()
            if (item.name, name) not in above
        ],
        [_without_empty(Table(_CHECKS, [_row(check) for check in found.checks], f"Checks of {item.title}"))]
        if found.checks
        else [],
        name=item.name,
        folds=[Fold("Its data", others, tables=[_data(table) for table in own])] if found.tables else [],
    )


def _homes(items: Sequence[Item], findings: Mapping[str, Findings]) -> dict[str, Item]:
    """Return for each table of data the first item that has it: half of a page would be tables said again."""
    return {table.name: item for item in reversed(items) for table in findings[item.name].tables}


def _sentence(text: str) -> str:
    """Return a text with a full stop, unless it has an end of its own."""
    return text if text.endswith(("?", "!", ".")) else f"{text}."


def _without_empty(table: Table) -> Table:
    """Return a table without the columns in which no row says anything."""
    kept = [place for place in range(len(table.columns)) if any(row[place].text for row in table.rows)]
    rows = [[row[place] for place in kept] for row in table.rows]
    return Table([table.columns[place] for place in kept], rows, table.caption)


def _data(table: model.Table) -> Table:
    return Table(table.columns, [[Cell.of(value) for value in row] for row in table.rows], table.caption)
