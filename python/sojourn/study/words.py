"""Sentences of a study with places for values."""

import re
from collections.abc import Mapping
from typing import Any

_PLACE = re.compile(r"\{([^{}]*)\}")


def fill(text: str, values: Mapping[str, Any]) -> str:
    """Return a text with `{name}` replaced; raises KeyError for a name without a value.

    Unlike `str.format` it knows neither attributes nor widths: whoever wrote the text may be anybody.

    >>> fill("{queue} at {rate}", {"queue": "RED", "rate": 5})
    'RED at 5'
    """
    return _PLACE.sub(lambda found: str(values[found[1]]), text)
