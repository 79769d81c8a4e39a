"""The study that `sojourn study new` makes."""

import shutil
from pathlib import Path

from sojourn.reading import input_error
from sojourn.store import check_writable
from sojourn.study.model import FILE

START = Path(__file__).parent / "start"


def make(folder: Path, origin: Path | None = None) -> Path:
    """Make a study in a folder that is new or empty, and return its file; raises InputError for any other.

    It is the smallest one, or that of another folder without the means and verdicts that this keeps.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise input_error("exists and is not empty; allowed: a new folder", file=str(folder))
    check_writable(folder.parent, str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    for file in [START / FILE] if origin is None else sorted(origin.iterdir()):
        if file.is_file() and file.suffix in (".toml", ".py", ".csv"):
            shutil.copyfile(file, folder / file.name)
    return folder / FILE
