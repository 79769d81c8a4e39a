"""Answers computed apart from the engine, each beside Sojourn's own: docs/validation/answers.md."""
