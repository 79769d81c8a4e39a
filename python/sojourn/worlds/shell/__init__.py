"""The world of real programs: any command behind a scenario's path, in real time and without root."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sojourn import _native
from sojourn.data.rows import KEPT
from sojourn.reading import input_error
from sojourn.spelling import spelled
from sojourn.system import need_linux
from sojourn.worlds.options import option
from sojourn.worlds.shell.ends import NAME, RECEIVER, SENDER, TIMER, TIMINGS, Ends, carried, words
from sojourn.worlds.world import Progress, Wanted, World

if TYPE_CHECKING:
    from sojourn.tables import Run


@dataclass(frozen=True)
class ShellOptions:
    """What runs at the ends of the path."""

    command: str = option("the program whose packets cross the path", metavar="COMMAND")
    server: str = option("what runs at the other end, 10.77.0.1", metavar="COMMAND")
    internet: bool = option("lead the path on to the Internet", default=False, kind=bool)
    timing: str = option(
        "how the path waits: it sleeps, it never sleeps and takes a processor core, or it has real-time priority",
        TIMER,
        choices=TIMINGS,
    )
    at: str = option(
        "at which end the command is: where forward packets come from, or where they go to",
        SENDER,
        choices=(SENDER, RECEIVER),
    )


class Shell(World[ShellOptions]):
    """A program of the reader's behind the scenario's path."""

    name = NAME
    summary = "a program of your own behind the scenario's links and queues, in real time, without root"
    keeps = frozenset(KEPT)
    options = ShellOptions
    parallel = False

    def fit(self, scenario: _native.Scenario, options: ShellOptions) -> list[str]:
        """Return what real time cannot have; raises InputError where no group takes a program's packets."""
        del options
        resolved = json.loads(scenario.to_json())
        unnamed = [group for group in carried(resolved["group"]) if set(group["traffic"]) == {"kind"}]
        ways = {group.get("direction", "forward") for group in unnamed}
        for way in ("forward", "reverse"):
            if way not in ways:
                message = (
                    f'the world {self.name!r} needs a group with traffic = "program" and direction = "{way}"; '
                    "`sojourn shell` adds both"
                )
                raise input_error(message, key="group")
        links = [resolved["bottleneck"], resolved.get("reverse", {}), *resolved.get("hop", [])]
        filters = any(link.get("queue", {}).get("ack_filter", "off") != "off" for link in links)
        return ["CAKE's ack_filter sees no acknowledgements in packets of programs"] if filters else []

    def estimate_s(self, scenario: _native.Scenario, options: ShellOptions) -> float:
        """Return how long a run takes: real time."""
        del options
        return scenario.duration_s

    def real_time_s(self, scenario: _native.Scenario, options: ShellOptions) -> float:
        """Return how long a run takes at most."""
        del options
        return scenario.duration_s

    def run(
        self,
        scenario: _native.Scenario,
        seeds: Sequence[int],
        wanted: Wanted,
        options: ShellOptions,
        *,
        jobs: int | None,
        progress: Progress | None,
    ) -> "Sequence[Run]":
        """Run the command once for each seed, one after the other."""
        need_linux(f"the world {self.name!r}")
        from sojourn.worlds.shell import running

        del jobs
        self.fit(scenario, options)
        if not options.command:
            raise input_error(f"{spelled('world', self.name)} needs {spelled('command')} COMMAND", key="command")
        ends = Ends(
            words(options.command, "command"),
            words(options.server or "", "server"),
            options.at == RECEIVER,
            internet=options.internet,
            timing=options.timing,
            to_errors=True,
        )
        return [running.run(scenario, seed, wanted, ends, progress) for seed in seeds]


WORLD = Shell()
