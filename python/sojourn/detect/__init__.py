"""Which queue is at a bottleneck: probes between two hosts, what their logs show, and a classifier for it."""
