"""What an agent says of hostile connections: a bounded number of lines, whoever comes and however often."""

import pytest

from sojourn.worlds.hosts.journal import LINES, WINDOW_S, Journal


class Watched:
    """A journal on a clock that the test moves."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.told: list[str] = []
        self.journal = Journal(self.told.append, lambda: self.now_s)

    def fail(self, count: int, addresses: int = 1, *, is_guest: bool = False) -> None:
        for number in range(count):
            self.journal.failed(f"192.0.2.{number % addresses}", ": no", is_guest=is_guest)


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_the_first_failures_have_a_line_each_and_the_others_one(watched: Watched) -> None:
    watched.fail(100_000, addresses=7)
    assert watched.told == [f"192.0.2.{number % 7}: no" for number in range(LINES)]
    watched.now_s = WINDOW_S
    watched.journal.look()
    count = 100_000 - LINES
    assert watched.told[LINES:] == [
        f"{count} more connections of strangers failed within 60 s, from 7 addresses, most from 192.0.2.3 (14285)"
    ]
    watched.journal.look(at_end=True)
    assert len(watched.told) == LINES + 1


def test_each_window_has_its_lines(watched: Watched) -> None:
    for window in range(5):
        watched.now_s = window * WINDOW_S
        watched.fail(50)
    assert len(watched.told) == 5 * LINES + 4
    watched.journal.look(at_end=True)
    assert watched.told[-1].startswith("40 more connections of strangers failed within 0 s, from 1 address, most")


def test_strangers_hide_no_failure_of_a_guest(watched: Watched) -> None:
    watched.fail(1000)
    watched.journal.failed("198.51.100.9", ": the run was too long", is_guest=True)
    assert watched.told[-1] == "198.51.100.9: the run was too long"


def test_few_failures_have_no_sum(watched: Watched) -> None:
    watched.fail(LINES)
    watched.journal.look(at_end=True)
    assert len(watched.told) == LINES


def test_addresses_without_end_cost_no_memory(watched: Watched) -> None:
    for number in range(20_000):
        watched.journal.failed(f"10.0.{number // 256}.{number % 256}", ": no", is_guest=False)
    watched.journal.look(at_end=True)
    assert "from at least 1000 addresses" in watched.told[-1]
