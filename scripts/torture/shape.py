"""A shaped interface: kill -9 of any parts of a run; whichever part lives restores it, or else the next run."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.torture import place
from scripts.torture.hosts import LAB, agent, asking
from scripts.torture.killing import chance, differences, form, kill, start, temporary, unended, usual_s, whole

_OWN, _PEER = "10.8.1.1", "10.8.1.2"
_INTERFACE = "h1"
# What the words of the holder and of its keeper have in them.
_HOLDS = "sojourn.worlds.hosts.shaping"


def torture(point: float, folder: Path) -> list[str]:
    """Kill one, some or all processes of a run between two network namespaces, and run it again."""
    (folder / "lab.toml").write_text(LAB, encoding="utf-8")
    with _hosts() as (own, peer), agent(_PEER, folder, peer):
        words = asking(_PEER, "--shape", _INTERFACE, network=own)
        took_s = usual_s((*words, "--out", "whole"), folder)
        spare, networks = set(place.processes()), (own, peer)
        run = start([*words, "--out", "killed"], folder)
        time.sleep(point * took_s)
        there = {pid: said for pid, said in place.processes().items() if pid not in spare}
        victims = _victims(point, sorted(there))
        kill(victims)
        wrong = unended(run)
        restoring = [pid for pid, said in there.items() if pid == run.pid or _HOLDS in said]
        if set(restoring) - set(victims):
            wrong += place.left(folder / "none", spare=spare, networks=networks)
        else:
            wrong += place.left_processes(spare)
        wrong += whole([*words, "--out", "killed", "--force"], folder)
        wrong += place.left(temporary(folder), spare=spare, networks=networks)
        wrong += differences(form(folder / "whole"), form(folder / "killed"))
        shutil.rmtree(folder / "killed", ignore_errors=True)
    return wrong + place.left(temporary(folder))


def _victims(point: float, there: list[int]) -> list[int]:
    drawn = chance(point)
    count = drawn.choice([1, drawn.randint(1, max(1, len(there))), len(there)])
    return drawn.sample(there, min(count, len(there)))


@contextmanager
def _hosts() -> Iterator[tuple[str, str]]:
    """Make two network namespaces side by side."""
    names = ("own", "peer")
    try:
        for name in names:
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        _ip("link", "add", _INTERFACE, "netns", "own", "type", "veth", "peer", "name", "h2", "netns", "peer")
        for name, link, address in (("own", _INTERFACE, _OWN), ("peer", "h2", _PEER)):
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", link)
            _ip("-n", name, "link", "set", link, "up")
        yield names
    finally:
        for name in names:
            _ip("netns", "del", name)


def _ip(*words: str) -> None:
    subprocess.run(("ip", *words), check=True, capture_output=True)
