"""The detector against a queue of a real kernel that is chosen at random."""

import secrets

import pytest

from sojourn.detect.answer import answer
from sojourn.detect.model import load_model
from sojourn.detect.plan import Path
from sojourn.detect.probe import over, probe
from sojourn.worlds.linux.errors import NotInstalledError
from sojourn.worlds.linux.kernels import kernels

QUEUES = {
    "droptail": {"preset": "linux", "limit": "100 packets"},
    "codel": {"preset": "linux"},
    "pie": {"preset": "linux"},
    "fq_codel": {"preset": "linux"},
    "sfq": {"preset": "linux"},
    "cake": {},
}


@pytest.mark.testbed
def test_a_queue_of_a_kernel_is_among_the_names() -> None:
    lacks = kernels()["uml-virtual"].missing()
    if lacks:
        pytest.skip(str(NotInstalledError("uml-virtual", lacks)))
    name = secrets.choice(list(QUEUES))
    rate_mbps = 3 + secrets.randbelow(4)
    link = {"rate": f"{rate_mbps} Mbit/s", "queue": {"kind": name, **QUEUES[name]}}
    found = answer(
        probe(over(Path({"bottleneck": link}, "30 ms"), 1, backend="linux", kernel="uml-virtual")), load_model()
    )
    assert found.judgement is not None, found.verdict
    # What one greedy flow gets is less where CoDel keeps a slow link short; the overload fills it.
    assert found.carried_mbps == pytest.approx(rate_mbps, rel=0.15)
    assert name in found.judgement.sets["99 %"], (name, found.judgement.names)
