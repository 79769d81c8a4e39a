"""The kernel with virtual time: built once from source, kept in Sojourn's cache."""

from pathlib import Path

from sojourn.testbed.places import cache_folder

PROGRAM = "linux"
BUILD_COMMAND = "sojourn testbed build-kernel"


def kernels_folder() -> Path:
    """Return where built kernels are kept."""
    return cache_folder() / "kernels"


def built_kernel() -> Path | None:
    """Return the newest kernel that was built; None where there is none."""
    found = sorted(kernels_folder().glob(f"[!.]*/{PROGRAM}"), key=lambda path: path.stat().st_mtime)
    return found[-1] if found else None
