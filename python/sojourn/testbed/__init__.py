"""The Linux world: kernels to run jobs in, and what it takes to have one.

A *job folder* holds `plan.json`. A kernel executes `python -m sojourn.testbed.inside FOLDER` as root of its own
network, and the folder then holds `report.json`. Nothing else is left behind, also when interrupted or killed.
"""
