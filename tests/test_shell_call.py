"""A call between two browsers behind a path, as the guide has it."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.test_shell import forbids, shell

CALL = Path(__file__).parents[1] / "docs" / "guide" / "call.py"
MISSING = shutil.which("chromium") is None or bool(forbids())


def rows(said: str) -> Mapping[str, list[float]]:
    """Return the numbers of a table, by the words of their rows."""
    lines = [line.split() for line in said.splitlines() if line.split()]
    return {words[0]: [float(word) for word in words[1:]] for words in lines if words[0] in {"sent", "received"}}


@pytest.mark.testbed
@pytest.mark.real_time
@pytest.mark.long
@pytest.mark.skipif(MISSING, reason="no chromium, or no namespaces")
def test_an_upload_delays_a_call_less_where_the_gateway_has_cake() -> None:
    """Video flows both ways; the round trip that the browsers measure holds the queue of the modem, or that of CAKE."""
    found = {}
    for name, more in (("modem", []), ("cake", ["--set", "access.gateway=0.9"])):
        done = shell(*more, "--server", f"python3 {CALL} serve", "--", "python3", str(CALL), "15", "upload")
        assert done.returncode == 0, (done.stdout, done.stderr)
        found[name] = rows(done.stdout)
        for way in ("sent", "received"):
            mbps, frames = found[name][way][:2]
            assert (mbps > 0.05, frames > 5) == (True, True), found
    modem, cake = (found[name]["sent"][7] for name in ("modem", "cake"))
    assert cake < modem - 20, found
