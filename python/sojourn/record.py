"""Run records and other documents, readable as dictionaries and as attributes."""

import json
from typing import Any


class Record(dict[str, Any]):
    """A dictionary whose keys can be read as attributes, all the way down.

    >>> record = Record.parse('{"bottleneck": {"queue_ms": {"mean": 4.5}}}')
    >>> record.bottleneck.queue_ms.mean
    4.5
    >>> record["bottleneck"]["queue_ms"]["mean"]
    4.5
    >>> record.duration = "7 s"
    >>> record["duration"]
    '7 s'
    """

    @classmethod
    def parse(cls, text: str) -> "Record":
        """Read JSON text whose outermost value is an object."""
        record: Record = json.loads(text, object_hook=cls)
        return record

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no {name!r} here; there is: {', '.join(map(str, self))}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        """Set the key; a name that dictionaries use themselves is refused."""
        if hasattr(dict, name):
            raise AttributeError(f"{name!r} is a method of dictionaries; set record[{name!r}]")
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError:
            raise AttributeError(f"no {name!r} here; there is: {', '.join(map(str, self))}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]
