"""Measurements of Sojourn: speed (`python -m benchmarks.bench`) and truth (`python -m benchmarks.validate`)."""
