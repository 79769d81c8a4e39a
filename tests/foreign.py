"""A folder that came from elsewhere: whatever Python takes from it leaves a mark."""

import sys
from pathlib import Path

# Names of the standard library and of packages that are used here; Python has some of its own in its program.
NAMES = sorted({*sys.stdlib_module_names, "dask", "distributed", "numpy", "pyarrow", "sitecustomize", "usercustomize"})


def plant(folder: Path) -> Path:
    """Put hostile modules into a folder; return the file that has a line for each that was run."""
    mark = folder / "taken.txt"
    text = f"with open({str(mark)!r}, 'a') as mark:\n    mark.write(__name__ + '\\n')\n"
    for name in NAMES:
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return mark


def taken(mark: Path) -> list[str]:
    """Return the names of the modules that were run."""
    return mark.read_text(encoding="utf-8").split() if mark.exists() else []
