"""Segment by segment against the TCP of a real kernel: recorder, cases, replay and comparison."""
