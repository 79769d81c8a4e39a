"""The study that `sojourn study new` makes."""

import shutil
from pathlib import Path

from sojourn.reading import input_error
from sojourn.store import check_writable
from sojourn.study.model import FILE

START = Path(__file__).parent / "start"


def make(folder: Path) -> Path:
    """Make a study in a folder that is new or empty, and return its file; raises InputError for any other."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise input_error("exists and is not empty; allowed: a new folder", file=str(folder))
    check_writable(folder.parent, str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(START / FILE, folder / FILE)
    return folder / FILE
