"""Signs of random loss and of others' flows: worked logs, and paths that have one of them or not."""

from typing import Any

import numpy as np
import pytest

from sojourn.detect.causes import NAMES, signs
from sojourn.detect.log import FlowLog
from sojourn.detect.plan import FULL, GREEDY, THIN, Path
from sojourn.detect.probe import over, probe

PACKET_S = 0.001
RTT = "30 ms"


def flow(sent_s: Any, wait_s: Any, lost: tuple[int, ...] = (), size: int = 1500) -> FlowLog:
    received = np.asarray(sent_s) + 0.01 + np.asarray(wait_s)
    received[list(lost)] = np.nan
    count = len(received)
    return FlowLog(np.asarray(sent_s), received, np.full(count, size), np.zeros(count, dtype=np.bool_))


def trains() -> FlowLog:
    """Return four trains of six packets that leave 1 ms apart: 12 Mbit/s."""
    sent = np.repeat(np.arange(4) * 0.25, 6)
    return flow(sent, np.tile(np.arange(6), 4) * PACKET_S)


def load(lost: tuple[int, ...]) -> dict[str, float]:
    """Return the signs of a greedy flow that fills a queue of 50 packets in its second half, and loses some packets."""
    sent = 1 + np.arange(1000) * PACKET_S
    wait = np.where(np.arange(1000) < 500, 0.0, 50 * PACKET_S)
    thin = flow(np.arange(100) * 0.02, np.zeros(100), size=64)
    return signs({FULL: trains()}, {GREEDY: flow(sent, wait, lost), THIN: thin, FULL: trains()}, {})


def test_what_is_lost_at_an_empty_queue_is_counted() -> None:
    """Two of 500 packets are lost between such as did not wait at all, and three at the full queue."""
    found = load((100, 300, 700, 800, 900))
    assert found["load_empty_losses"] == pytest.approx(np.log1p(2))
    # 499 packets of the greedy flow and 98 of the thin one lie between two that hardly waited, and 22 of the trains.
    assert 10 ** found["load_empty_loss"] == pytest.approx(2 / (499 + 98 + 22), rel=0.05)
    assert load((700, 800, 900))["load_empty_losses"] == 0.0


def test_nothing_is_said_of_what_was_not_sent() -> None:
    assert all(np.isnan(value) for value in signs({}, {}, {}).values())
    found = load(())
    assert tuple(found) == NAMES
    assert all(np.isnan(found[name]) for name in NAMES if name.startswith("over_"))


def test_another_greedy_flow_takes_its_part_of_a_busy_path() -> None:
    """Of two flows of CUBIC in one FIFO each gets a half in the long run, of three a third; alone one gets all."""
    shares = []
    for others in (0, 2):
        groups = (
            [{"name": "o", "rtt": RTT, "flows": others, "control": "cubic", "transport": "linux"}] if others else []
        )
        link = {"rate": "10 Mbit/s", "queue": {"kind": "droptail", "limit": "60 packets"}}
        seen = probe(over(Path({"bottleneck": link}, RTT, groups), 1), decided=lambda _: True)
        shares.append(10 ** seen.signs["load_busy_share"])
    assert shares[0] == pytest.approx(1, abs=0.05)
    assert shares[1] < 0.75


@pytest.mark.parametrize(("links", "loss"), [((0.0, 0.0), 0.0), ((0.01, 0.0), 0.01), ((0.01, 0.02), 0.0298)])
def test_a_path_loses_what_any_of_its_links_loses(links: tuple[float, float], loss: float) -> None:
    here, there = links
    hop = {"name": "isp", "at": "before", "rate": "20 Mbit/s", "loss": there}
    back = {"name": "modem", "at": "after", "rate": "20 Mbit/s", "loss": 0.5, "direction": "reverse"}
    path = Path({"bottleneck": {"rate": "10 Mbit/s", "loss": here}, "hop": [hop, back]}, RTT)
    assert path.loss == pytest.approx(loss)
