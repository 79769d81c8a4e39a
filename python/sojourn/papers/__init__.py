"""The papers' figures and tables, repeated: `sojourn paper`."""
