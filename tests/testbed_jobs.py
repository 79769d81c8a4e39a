"""Jobs that the tests run inside a kernel: `python -m testbed_jobs FOLDER` does what the plan's `do` says."""

import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    folder = Path(sys.argv[1])
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    {
        "report": report,
        "sleep": sleep,
        "spawn": spawn,
        "panic": panic,
        "error": error,
        "raise": fail,
        "nothing": lambda _folder, _plan: None,
        "big": big,
    }[plan["do"]](folder, plan)


def report(folder: Path, _plan: dict[str, object]) -> None:
    told = {
        "release": os.uname().release,
        "user": os.geteuid(),
        "hardware": [path.name for path in Path("/sys/class/net").iterdir() if (path / "device").exists()],
        "network": str(Path("/proc/self/ns/net").readlink()),
        "run": sorted(path.name for path in Path("/run").iterdir()),
        "time": time.time(),
        "python": sys.prefix,
    }
    (folder / "report.json").write_text(json.dumps(told), encoding="utf-8")


def sleep(folder: Path, _plan: dict[str, object]) -> None:
    (folder / "progress").write_text("0.5", encoding="ascii")
    # Short naps: in virtual time one long one would be over at once, and so would a thousand seconds of these be.
    while True:
        time.sleep(0.01)


def spawn(folder: Path, plan: dict[str, object]) -> None:
    """Leave an orphan in a session of its own behind, hard to find, and go to sleep."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            sleep(folder, plan)
        os._exit(0)
    os.wait()
    sleep(folder, plan)


def panic(_folder: Path, _plan: dict[str, object]) -> None:
    # Nobody wants this machine's own kernel to panic.
    assert "rootfstype=hostfs" in Path("/proc/cmdline").read_text(encoding="ascii")
    Path("/proc/sysrq-trigger").write_text("c", encoding="ascii")


def error(folder: Path, plan: dict[str, object]) -> None:
    (folder / "error.json").write_text(json.dumps(plan["error"]), encoding="utf-8")
    sys.exit(1)


def fail(_folder: Path, _plan: dict[str, object]) -> None:
    message = "the job's own reason"
    raise ValueError(message)


def big(folder: Path, _plan: dict[str, object]) -> None:
    (folder / "big").write_bytes(bytes(range(256)) * 40_000)
    (folder / "report.json").write_text("{}", encoding="ascii")


if __name__ == "__main__":
    main()
