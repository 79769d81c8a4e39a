"""Jobs that the tests run inside a kernel: `python -m testbed_jobs FOLDER` does what the plan's `do` says."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from sojourn.worlds.linux.survey import has_qdisc


def main() -> None:
    folder = Path(sys.argv[1])
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    {
        "report": report,
        "sleep": sleep,
        "spawn": spawn,
        "panic": panic,
        "tc": tc,
        "error": error,
        "raise": fail,
        "nothing": lambda _folder, _plan: None,
        "big": big,
    }[plan["do"]](folder, plan)


def report(folder: Path, plan: dict[str, Any]) -> None:
    leave_an_orphan()
    begun = time.monotonic()
    time.sleep(plan.get("nap_s", 0))
    told = {
        "release": os.uname().release,
        "user": os.geteuid(),
        "hardware": [path.name for path in Path("/sys/class/net").iterdir() if (path / "device").exists()],
        "network": str(Path("/proc/self/ns/net").readlink()),
        "run": sorted(path.name for path in Path("/run").iterdir()),
        "time": time.time(),
        "slept_s": time.monotonic() - begun,
        "python": sys.prefix,
    }
    (folder / "report.json").write_text(json.dumps(told), encoding="utf-8")


def leave_an_orphan() -> None:
    """Leave the first process a child that it did not start, and that ends before the job does."""
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(3)
        os._exit(0)
    os.wait()
    time.sleep(0.1)


def tc(folder: Path, plan: dict[str, Any]) -> None:
    """Ask for disciplines in two ways: with tc and its parameters, and as the survey does."""
    added = []
    for kind, parameters in plan["kinds"].items():
        command = ["tc", "qdisc", "replace", "dev", "lo", "root", kind, *parameters.split()]
        if subprocess.run(command, check=False).returncode == 0:
            added.append(kind)
    told = {"tc": added, "survey": [kind for kind in plan["kinds"] if has_qdisc(kind)]}
    (folder / "report.json").write_text(json.dumps(told), encoding="utf-8")


def sleep(folder: Path, _plan: dict[str, Any]) -> None:
    (folder / "progress").write_text("0.5", encoding="ascii")
    # Short naps: in virtual time one long one would be over at once, and so would a thousand seconds of these be.
    while True:
        time.sleep(0.01)


def spawn(folder: Path, plan: dict[str, Any]) -> None:
    """Leave an orphan in a session of its own behind, hard to find, and go to sleep."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            sleep(folder, plan)
        os._exit(0)
    os.wait()
    sleep(folder, plan)


def panic(_folder: Path, _plan: dict[str, Any]) -> None:
    # Nobody wants this machine's own kernel to panic.
    assert "rootfstype=hostfs" in Path("/proc/cmdline").read_text(encoding="ascii")
    Path("/proc/sysrq-trigger").write_text("c", encoding="ascii")


def error(folder: Path, plan: dict[str, Any]) -> None:
    (folder / "error.json").write_text(json.dumps(plan["error"]), encoding="utf-8")
    sys.exit(1)


def fail(_folder: Path, _plan: dict[str, Any]) -> None:
    message = "the job's own reason"
    raise ValueError(message)


def big(folder: Path, _plan: dict[str, Any]) -> None:
    (folder / "big").write_bytes(bytes(range(256)) * 40_000)
    (folder / "report.json").write_text("{}", encoding="ascii")


if __name__ == "__main__":
    main()
