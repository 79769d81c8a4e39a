"""What can go wrong on a real kernel. Each message is a sentence for the user."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.worlds.world import WorldError


class TestbedError(WorldError):
    """A job did not end as it should; the command line ends with exit code 1."""

    # A class whose name begins with Test is none of pytest's.
    __test__ = False


@dataclass(frozen=True)
class Missing:
    """Something that this machine lacks."""

    what: str
    """A noun with its reason, such as `linux.uml (user-mode Linux)`."""
    package: str | None = None
    """The Debian package that has it; None where no package helps."""
    advice: str = ""
    """What to do where no package helps."""


def install_command(missing: Sequence[Missing]) -> str | None:
    """Return the one command that installs all that packages can bring; None where they can bring nothing.

    >>> lacks = [Missing("tc", "iproute2"), Missing("ip", "iproute2"), Missing("bc", "bc")]
    >>> install_command(lacks).removeprefix("sudo ")
    'apt-get install bc iproute2'
    """
    packages = sorted({item.package for item in missing if item.package})
    if not packages:
        return None
    # Root needs no sudo, and in a container there is often none.
    return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install {' '.join(packages)}"


def advice(missing: Sequence[Missing]) -> str:
    """Return what to do about all that is missing, as one sentence or two."""
    command = install_command(missing)
    parts = [f"To install: {command}" if command else "", *dict.fromkeys(item.advice for item in missing)]
    return ". ".join(part for part in parts if part)


class NotInstalledError(TestbedError):
    """The machine lacks something; `who` needs it, such as `the kernel uml`."""

    def __init__(self, who: str, missing: Sequence[Missing]) -> None:
        lacks = ", ".join(item.what for item in missing)
        super().__init__(f"{who} needs {lacks}. {advice(missing)}".rstrip())
        self.missing = list(missing)


class KernelError(TestbedError):
    """The kernel itself did not start, panicked, or went away."""


class TimedOutError(TestbedError):
    """The job took longer than it was given."""


class StoppedError(TestbedError):
    """The job was stopped because another one failed."""


class ClockJumpedError(TestbedError):
    """The machine's clock was set, or the machine slept, during a measurement in real time."""


class JobError(TestbedError):
    """What ran inside the kernel failed."""


class MissingInsideError(JobError):
    """The kernel lacks a qdisc, a congestion control or a tool that the job asked for."""


class BuildError(TestbedError):
    """A kernel could not be built."""
