"""Where numbers come from: what every part of a dataset says of the engine, the scenario and the files that made it."""

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import _native

if TYPE_CHECKING:
    import pyarrow as pa

KEY = b"sojourn"
UNREADABLE = "what cannot be read"


@dataclass(frozen=True)
class Provenance:
    """What numbers depend on beside the plan."""

    scenario: str
    """A hash of the base scenario."""
    files: Mapping[str, str] = field(default_factory=dict)
    """A hash of the content of every file that scenarios name, such as traces, by the file's name."""
    version: str = _native.__version__
    build: str = _native.__build__
    """A hash of the engine's sources."""
    platform: str = f"{platform.system()} {platform.machine()}"
    """Where it was made; not part of what numbers depend on."""

    @classmethod
    def of(cls, scenario: str, files: Iterable[str]) -> "Provenance":
        """Return the provenance of runs of a scenario that names some files; raises OSError where one is gone."""
        return cls(hashlib.sha256(scenario.encode()).hexdigest(), _contents(files))

    @classmethod
    def read(cls, part: Path) -> "Provenance | None":
        """Return what a part says; None where it cannot be read, or says nothing."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not part.is_file():
            return None
        try:
            return cls(**json.loads((pq.read_metadata(part).metadata or {})[KEY]))
        except (pa.ArrowException, OSError, KeyError, TypeError, ValueError):
            return None

    def written_into(self, table: "pa.Table") -> "pa.Table":
        """Return the table with the provenance in its metadata."""
        text = json.dumps(asdict(self), sort_keys=True)
        return table.replace_schema_metadata({**(table.schema.metadata or {}), KEY: text})

    def changed_since(self, old: "Provenance | None") -> list[str]:
        """Say what is another now than for older numbers; nothing where they would come out the same.

        >>> now = Provenance("a", {"lte.trace": "1"}, build="2")
        >>> now.changed_since(Provenance("a", {"lte.trace": "0"}, build="1"))
        ['the engine', 'lte.trace']
        """
        if old is None:
            return [UNREADABLE]
        engines = [(one.version, one.build) for one in (self, old)]
        found = ["the engine"] if engines[0] != engines[1] else []
        if self.scenario != old.scenario:
            found.append("the base scenario")
        return found + sorted(name for name in {*self.files, *old.files} if self.files.get(name) != old.files.get(name))


def _contents(files: Iterable[str]) -> dict[str, str]:
    """Return a hash of each file's content by its name, without its folder: a dataset may be moved."""
    found: dict[str, str] = {}
    for file in sorted(set(files)):
        path = Path(file)
        name, number = path.name, 1
        while name in found:
            number += 1
            name = f"{path.name} ({number})"
        with path.open("rb") as opened:
            found[name] = hashlib.file_digest(opened, "sha256").hexdigest()
    return found
