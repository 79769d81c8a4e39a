"""Run as a program: `python -m sojourn.worlds.linux.inside FOLDER`."""

import json
import signal
import sys
import traceback
from pathlib import Path

from sojourn.worlds.linux.inside.job import JobError, run


def main(folder: Path) -> int:
    """Execute the plan of a folder; what goes wrong is written to error.json."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    try:
        run(folder)
    except JobError as error:
        _write_error(folder, error.kind, str(error))
    except Exception as error:
        traceback.print_exc()
        _write_error(folder, "failed", f"{type(error).__name__}: {error}")
    else:
        return 0
    return 1


def _write_error(folder: Path, kind: str, message: str) -> None:
    beside = folder / "error.json.new"
    beside.write_text(json.dumps({"kind": kind, "message": message}), encoding="utf-8")
    beside.replace(folder / "error.json")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
