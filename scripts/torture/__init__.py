"""Kill -9 at many moments of what runs for long: `python -m scripts.torture [POINTS [PART ...]]`.

Each module here is a part, with one function `torture(point, folder)`. It starts its command, kills it at the part, 0
to 1, of its usual duration, and returns what is wrong afterwards: a process, namespace or folder that is left, or bytes
that differ from those of a run that nobody killed. To add a part: its module, and its line in `__main__.PARTS`.
"""
