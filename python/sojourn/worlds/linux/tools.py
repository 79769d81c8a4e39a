"""Programs that the testbed uses, and the Debian packages that have them."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass

from sojourn.worlds.linux.errors import Missing

# Those of the administrator are there too, though not on every user's path.
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Tool:
    """A program."""

    name: str
    package: str
    purpose: str

    def path(self) -> str | None:
        """Return where it is; None where it is not there."""
        return shutil.which(self.name) or shutil.which(self.name, path=_PATH)


BUILD_TOOLS = tuple(
    Tool(name, package, "to build a kernel with virtual time")
    for name, package in (
        ("make", "make"),
        ("gcc", "gcc"),
        ("flex", "flex"),
        ("bison", "bison"),
        ("bc", "bc"),
        ("tar", "tar"),
        ("xz", "xz-utils"),
    )
)
UTP_TOOLS = (
    Tool("npm", "npm", "to fetch the source of libutp"),
    Tool("c++", "g++", "to build libutp"),
)
JOB_TOOLS = (
    Tool("ip", "iproute2", "to make networks"),
    Tool("tc", "iproute2", "to set queue disciplines"),
    Tool("ethtool", "ethtool", "to switch offloads off"),
    Tool("ping", "iputils-ping", "to probe as the papers do"),
)
MODPROBE = Tool("modprobe", "kmod", "to load modules of the kernel uml")
UNSHARE = Tool("unshare", "util-linux", "to make namespaces on the kernel host")
TOOLS = (
    *JOB_TOOLS,
    MODPROBE,
    UNSHARE,
    *BUILD_TOOLS,
    *UTP_TOOLS,
)


def missing_tools(tools: Iterable[Tool]) -> list[Missing]:
    """Return which of the tools this machine lacks."""
    return [Missing(f"{tool.name} ({tool.purpose})", tool.package) for tool in tools if tool.path() is None]
