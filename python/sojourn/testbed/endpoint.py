"""Endpoints on real sockets, one process: ``python -m sojourn.testbed.endpoint PLAN REPORT``.

PLAN is a JSON file, described by the Rust types of crates/sojourn-wire/src/plan.rs: when the run starts (seconds of
CLOCK_MONOTONIC), how long it lasts, and the ends of flows, captures and probes. REPORT is written when the run is
over, whole or not at all: what the endpoints saw (crates/sojourn-wire/src/report.rs), or, where the run failed,
``{"error": {"kind": "input" | "missing" | "failed", "message": ...}}``; then the message is on standard error, too.

Exit codes: 0, 1 (failed or missing), 2 (the plan is wrong), 130 or 143 (SIGINT, SIGTERM; no report).
"""

import json
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from sojourn import _native

USAGE = "usage: python -m sojourn.testbed.endpoint PLAN REPORT"


def main(arguments: list[str]) -> int:
    """Run the plan; return the exit code."""
    if len(arguments) != 2:  # noqa: PLR2004 (the plan and the report)
        print(USAGE, file=sys.stderr)  # noqa: T201
        return 2
    plan, report = map(Path, arguments)
    signal.signal(signal.SIGTERM, _terminate)
    try:
        text = _native.wire(plan.read_text(encoding="utf-8"))
    except _native.WireError as error:
        return _fail(report, error.fault, str(error))
    except OSError as error:
        return _fail(report, "input", f"the plan {plan} cannot be read ({error.strerror})")
    except KeyboardInterrupt:
        return 130
    _write(report, text)
    return 0


def _terminate(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _fail(report: Path, kind: str, message: str) -> int:
    error: dict[str, Any] = {"error": {"kind": kind, "message": message}}
    _write(report, json.dumps(error))
    print(message, file=sys.stderr)  # noqa: T201
    return 2 if kind == "input" else 1


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    unfinished = path.with_name(f".{path.name}.part")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
