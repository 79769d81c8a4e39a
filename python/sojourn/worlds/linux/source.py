"""The source of a kernel: Debian's package, or a tarball or folder that the user names."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from sojourn.reading import input_error

PACKAGES = Path("/usr/src")
PACKAGE = "linux-source"
_KEY_DIGITS = 12
_TARBALLS = (".tar.xz", ".tar.gz", ".tar.bz2", ".tar")
_MAKEFILE = "Makefile"


@dataclass(frozen=True)
class Source:
    """Where a kernel's source lies."""

    path: Path
    is_tree: bool

    def key(self, options_digest: str) -> str:
        """Return the name of what is built from it with certain options: another source has another name.

        A tarball is known by what it holds, a folder, whose files may change, by its path and its Makefile.
        """
        digest = hashlib.sha256(options_digest.encode())
        if self.is_tree:
            digest.update(str(self.path).encode() + (self.path / _MAKEFILE).read_bytes())
        else:
            with self.path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        name = re.sub(r"[^\w.-]", "-", self.path.name)
        for ending in _TARBALLS:
            name = name.removesuffix(ending)
        return f"{name}-{digest.hexdigest()[:_KEY_DIGITS]}"


def find_source(given: Path | None, packages: Path = PACKAGES) -> Source | None:
    """Return the source that the user names, or the newest of Debian's packages; None where there is neither."""
    if given is not None:
        return _named(given)
    found = sorted(packages.glob(f"{PACKAGE}-*.tar.xz"), key=_version)
    return Source(found[-1], is_tree=False) if found else None


def _named(given: Path) -> Source:
    allowed = f"a folder with a kernel's source, or a file {', '.join(f'*{ending}' for ending in _TARBALLS)}"
    if given.is_dir():
        if (given / _MAKEFILE).is_file() and (given / "arch" / "um").is_dir():
            return Source(given.resolve(), is_tree=True)
        raise input_error(f"--source {given}: this folder holds no source of a kernel; allowed: {allowed}")
    if given.is_file() and given.name.endswith(_TARBALLS):
        return Source(given.resolve(), is_tree=False)
    what = "is no tarball" if given.is_file() else "does not exist"
    raise input_error(f"--source {given}: this {what}; allowed: {allowed}")


def _version(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]
