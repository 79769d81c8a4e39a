"""Packet by packet against the qdiscs of a real kernel: recorder, workloads, cases and comparison."""
