"""The peers as Debian packages: which are there, and how to have the others."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable

PACKAGES = ("ns2", "libns3-dev", "g++")


def package_version(package: str) -> str | None:
    """Version of an installed Debian package, or None where it is absent (or dpkg is)."""
    if shutil.which("dpkg-query") is None:
        return None
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}", package],
        capture_output=True,
        text=True,
        check=False,
    )
    status, version = done.stdout[:3].strip(), done.stdout[3:].strip()
    return version if done.returncode == 0 and status == "ii" else None


def missing_packages(packages: Iterable[str] = PACKAGES) -> list[str]:
    """Name the packages that are needed and not there. A compiler that did not come from Debian counts as g++."""
    return [name for name in packages if not (name == "g++" and shutil.which("g++")) and package_version(name) is None]


def install() -> bool:
    """Install what is missing when root, otherwise print the one command that does. True when nothing is missing."""
    missing = missing_packages()
    if not missing:
        return True
    command = f"apt-get install -y --no-install-recommends {' '.join(missing)}"
    if shutil.which("apt-get") is None:
        print(
            f"peers: missing {', '.join(missing)}; they are Debian packages, and there is no apt-get here",
            file=sys.stderr,
        )
        return False
    if os.geteuid() != 0:
        print(f"peers: missing {', '.join(missing)}; install with: sudo {command}", file=sys.stderr)
        return False
    print(f"peers: installing {', '.join(missing)}", file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (command, "apt-get update", command):
        # A stale package index is the usual reason for a first failure: refresh it once and try again.
        done = subprocess.run(step.split(), env=environment, stdout=sys.stderr, check=False)
        if step == command and done.returncode == 0:
            break
    return not missing_packages()


def versions() -> dict[str, str | None]:
    """Versions of the Debian packages that a run depends on."""
    return {name: package_version(name) for name in PACKAGES}
