"""Python processes that this package starts: none of them looks for modules in the current folder.

A Python that is started with `-m` or `-c` searches the current folder first. A file `json.py` there would run, whoever
put it there. So every such process is started with what this module says, and nothing else in the package names the
interpreter (`tests/test_layers.py`). Installed packages are found as before, editable ones among them.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

_SAFE, _PATH = "PYTHONSAFEPATH", "PYTHONPATH"


def module(name: str, *arguments: str) -> list[str]:
    """Return the command that runs a module as a program."""
    return [sys.executable, "-P", "-m", name, *arguments]


def program(file: str, *arguments: str) -> list[str]:
    """Return the command that runs a file which needs nothing but the standard library."""
    return [sys.executable, "-I", "-S", file, *arguments]


def search_path() -> dict[str, str]:
    """Return the environment's part in where such a process, and those that it starts, look for modules.

    Of PYTHONPATH an entry is left out that stands for the current folder, as an empty one does.
    """
    entries = [Path(one) for one in os.environ.get(_PATH, "").split(os.pathsep)]
    kept = os.pathsep.join(str(one.absolute()) for one in entries if one != Path())
    return {_SAFE: "1", **({_PATH: kept} if kept else {})}


def environment() -> dict[str, str]:
    """Return this process's environment, with the `search_path` of its children."""
    return {**{name: value for name, value in os.environ.items() if name != _PATH}, **search_path()}


@contextlib.contextmanager
def started_safely() -> Iterator[None]:
    """Give the processes that libraries start meanwhile the environment of children."""
    before = {name: os.environ.get(name) for name in (_SAFE, _PATH)}
    found = search_path()
    _set({name: found.get(name) for name in before})
    try:
        yield
    finally:
        _set(before)


@contextlib.contextmanager
def pool(workers: int) -> "Iterator[ProcessPoolExecutor]":
    """Have some processes that are given calls. They end with this one, also where it is killed."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # A process that is forked would have the locks of threads that do not go on in it.
    spawned = multiprocessing.get_context("spawn")
    with started_safely(), ProcessPoolExecutor(workers, spawned, initializer=_end_with_parent) as executor:
        yield executor


def _end_with_parent() -> None:
    threading.Thread(target=_await_parent, daemon=True).start()


def _await_parent() -> None:
    import multiprocessing

    parent = multiprocessing.parent_process()
    assert parent is not None, "only a child waits for its parent"  # noqa: S101
    parent.join()
    os._exit(1)


def _set(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
