"""Measurements of a line, read as a scenario: each value with what says it, and what nothing says as a range."""

from sojourn.imported.line import Imported
from sojourn.imported.registry import read

__all__ = ["Imported", "read"]
