"""Who gives way to whom at an agent's door: connections without an agent behind them."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from tests.conftest import PATIENCE_S, wait_for

from sojourn.worlds.hosts import visitors
from sojourn.worlds.hosts.visitors import MAX_GUESTS, MAX_OF_ONE_ADDRESS, MAX_STRANGERS, Visitor, Visitors

# They wait for threads.
pytestmark = pytest.mark.real_time


class Door:
    """Visitors who stay until they are sent away, with the ends of their connections that are theirs."""

    def __init__(self) -> None:
        self.visitors = Visitors()
        self.ends: list[socket.socket] = []
        self.inside: list[Visitor] = []

    def come(self, address: str, *, as_guest: bool = False) -> Visitor:
        near, far = socket.socketpair()
        self.ends.append(near)
        came = threading.Event()

        def stay(visitor: Visitor) -> None:
            self.inside.append(visitor)
            if as_guest:
                self.visitors.greet(visitor)
            came.set()
            with suppress(OSError):
                visitor.link.recv(1)

        self.visitors.receive(far, address, stay)
        assert came.wait(PATIENCE_S)
        return self.inside[-1]

    def gone(self) -> list[Visitor]:
        return [one for one in self.inside if one.gave_way]


@pytest.fixture
def door() -> Iterator[Door]:
    found = Door()
    yield found
    found.visitors.end()
    for end in found.ends:
        end.close()


def test_the_oldest_of_an_address_with_too_many_gives_way_and_is_told(door: Door) -> None:
    other = door.come("192.0.2.1")
    many = [door.come("192.0.2.2") for _ in range(MAX_OF_ONE_ADDRESS)]
    assert door.gone() == []
    door.come("192.0.2.2")
    assert door.gone() == [many[0]]
    assert b"too many ask the agent at once" in door.ends[1].recv(4096)
    assert not other.gave_way


def test_where_all_places_are_taken_the_address_with_most_gives_way(door: Door) -> None:
    few = [door.come("192.0.2.1") for _ in range(2)]
    rest = MAX_STRANGERS - len(few)
    many = [door.come(f"198.51.100.{number // 3}") for number in range(rest)]
    door.come("192.0.2.9")
    assert door.gone() == many[:1]
    assert not any(one.gave_way for one in few)


def test_guests_keep_their_places_whoever_else_comes(door: Door) -> None:
    guest = door.come("192.0.2.2", as_guest=True)
    for _ in range(2 * MAX_OF_ONE_ADDRESS):
        door.come("192.0.2.2")
    for number in range(2 * MAX_STRANGERS):
        door.come(f"198.51.100.{number}")
    assert len(door.gone()) > MAX_STRANGERS
    assert not guest.gave_way


def test_of_too_many_guests_one_without_a_run_gives_way(door: Door) -> None:
    guests = [door.come("192.0.2.2", as_guest=True) for _ in range(MAX_GUESTS)]
    guests[0].has_run = True
    door.come("192.0.2.2", as_guest=True)
    assert door.gone() == [guests[1]]


def test_room_is_made_by_strangers_only(door: Door) -> None:
    guest = door.come("192.0.2.2", as_guest=True)
    door.visitors.make_room()
    stranger = door.come("192.0.2.2")
    door.visitors.make_room()
    assert door.gone() == [stranger]
    assert not guest.gave_way
    assert wait_for(lambda: list(door.visitors._open) == [guest])


def test_a_process_of_few_files_has_few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors.resource, "getrlimit", lambda _kind: (100, 100))
    assert Visitors()._most_strangers < 100 - MAX_GUESTS
