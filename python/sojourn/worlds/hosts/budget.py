"""What a side of a session may send in all, as its processes share it.

One token bucket holds for every connection, flow and answer of a side: crates/sojourn-wire/src/budget.rs.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MIN_BURST_BYTES = 60_000
"""Twice the initial window of a connection and what else a burst is for, at any rate."""
_BURST_S = 0.06
_WORD_BYTES = 8


def burst_bytes(rate_bps: int) -> int:
    """Return the bytes above a rate that may leave at once: within any second no more than the rate and this."""
    return max(MIN_BURST_BYTES, int(rate_bps / 8 * _BURST_S))


@contextmanager
def budget(rate_bps: int) -> Iterator[dict[str, Any]]:
    """Give a budget for plans. It has no file of its own: it ends with the context, or with this process."""
    word = os.memfd_create("sojourn-budget")
    try:
        os.ftruncate(word, _WORD_BYTES)
        # The processes of endpoints are this user's, who may open what this process has open.
        yield {"rate_bps": rate_bps, "burst_bytes": burst_bytes(rate_bps), "file": f"/proc/{os.getpid()}/fd/{word}"}
    finally:
        os.close(word)
