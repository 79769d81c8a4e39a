"""The options of the kernel that Sojourn builds, from `kernel-options.toml`."""

import hashlib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("kernel-options.toml")
# Disciplines that every kernel with packet scheduling has, without an option of their own.
_BUILT_IN_DISCIPLINES = ("bfifo", "pfifo", "pfifo_fast")
_BUILT_IN_CONTROLS = ("reno",)


@dataclass(frozen=True)
class Options:
    """What a kernel is configured with."""

    defconfig: str
    objects: int
    """About how many files are compiled."""
    required: tuple[str, ...]
    wanted: tuple[str, ...]
    off: tuple[str, ...]
    qdiscs: tuple[str, ...]
    """Names of disciplines as the kernel has them, such as fq_codel."""
    controls: tuple[str, ...]
    """Names of congestion controls as the kernel has them, such as lp."""

    @property
    def digest(self) -> str:
        """Changes with what is built, not with how the list is written."""
        return hashlib.sha256(f"{self.defconfig}\n{self.fragment()}".encode()).hexdigest()

    def fragment(self) -> str:
        """Return the lines to add to a configuration; later lines hold."""
        on = "".join(f"CONFIG_{name}=y\n" for name in (*self.required, *self.wanted))
        return on + "".join(f"# CONFIG_{name} is not set\n" for name in self.off)

    def absent(self, config: str) -> tuple[list[str], list[str]]:
        """Return which required and which other wanted options a finished configuration lacks."""
        lines = set(config.splitlines())

        def lacking(names: Iterable[str]) -> list[str]:
            return [name for name in names if f"CONFIG_{name}=y" not in lines]

        return lacking(self.required), lacking(self.wanted)


def read_options(file: Path = FILE) -> Options:
    """Read the list of options."""
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    qdiscs, controls = table["disciplines"], table["controls"]
    rest = [name for names in table["rest"].values() for name in names]
    return Options(
        defconfig=table["defconfig"],
        objects=table["objects"],
        required=tuple(name for names in table["required"].values() for name in names),
        # Names of single disciplines and controls come last: others make them possible.
        wanted=(*rest, *qdiscs.values(), *controls.values()),
        off=tuple(table["off"]["names"]),
        qdiscs=tuple(sorted((*qdiscs, *_BUILT_IN_DISCIPLINES))),
        controls=tuple(sorted((*controls, *_BUILT_IN_CONTROLS))),
    )
