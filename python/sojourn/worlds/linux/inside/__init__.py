"""What runs inside the kernel: builds the network of a plan, runs its endpoints, reads counters, writes the report.

Started as `python -m sojourn.worlds.linux.inside FOLDER` by a kernel, as root of a network of its own. It uses the
standard library and iproute2 only, starts quickly, and removes what it made, also when it fails.
"""
