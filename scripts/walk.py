"""Walk the four doors with a clock (docs/contributing/newcomer.md): python scripts/walk.py [PATH OF sojourn]."""

import shlex
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
from tests.test_doors import DOORS, EXAMPLE  # noqa: E402 (what a door's commands are has one home)


def main(command: str) -> None:
    """Print what each command of each door took, in a folder of the door's own."""
    for page in sorted(DOORS.glob("*.md")):
        with TemporaryDirectory() as folder:
            for example in EXAMPLE.finditer(page.read_text(encoding="utf-8")):
                words = shlex.split(example["words"].replace("\\\n", " "))
                began = time.monotonic()
                subprocess.run([command, *words], cwd=folder, check=True, capture_output=True)
                print(f"{page.stem:<9} {time.monotonic() - began:6.1f} s  sojourn {shlex.join(words)[:80]}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(ROOT / ".venv" / "bin" / "sojourn"))
