"""A program behind a path: whatever is killed, no process and no network of the shell is left."""

import shutil
from pathlib import Path

from scripts.torture import place
from scripts.torture.killing import command, kill_one, temporary, usual_s, whole

# A program that starts others in the background, and one that serves them.
_PROGRAM = ["sh", "-c", "sleep 100 & ping -i 0.1 -c 8 10.77.0.1"]
_SERVER = "sh -c 'sleep 100 & exec python3 -m http.server 80'"

_INTERNET = ["--internet"] if shutil.which("nft") else []


def torture(point: float, folder: Path) -> list[str]:
    """Kill one of its processes, look what is left, and run it again."""
    words = command("shell", "--line", "cable-100-10-quiet", "--out", "killed", "--force", "--server", _SERVER)
    words += [*_INTERNET, "--", *_PROGRAM]
    took_s = usual_s(tuple(words), folder)
    wrong = kill_one(words, folder, point * took_s, point)
    wrong += place.left(temporary(folder))
    wrong += whole(words, folder)
    return wrong + place.left(temporary(folder))
