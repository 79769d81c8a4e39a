"""Kill -9 at many moments of what runs for long: `python -m scripts.torture [POINTS [PART ...]]`.

Everything happens in namespaces that the command makes for itself (`place`): process ids, mounts and a network of its
own. So whatever is found there afterwards was left by what was killed, and nothing else on the machine is touched.

Each entry of `__main__.PARTS` is a function `torture(point, folder)`. It starts its command, kills one of its processes
at the part, 0 to 1, of its usual duration, lets the same command go on, and returns what is wrong: what is left
(`place.left`), or bytes that differ from those of a run that nobody killed.
"""
