"""Where there is no POSIX: a process without its modules and names, as on Windows, runs all that needs no Linux.

`make lint` checks the types for Windows and macOS. Neither is a run on these systems: that is the workflow of wheels.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

# What other packages import is there before it is taken away: they have their own ways on Windows.
_WINDOWS = """
import sys
import asyncio, concurrent.futures.process, http.server, importlib, json, multiprocessing.pool
import multiprocessing.shared_memory, os, pkgutil, platform, shutil, signal, socket, ssl
import subprocess, tempfile, types, uuid, webbrowser
import click, distributed, jinja2, matplotlib.figure, matplotlib.pyplot, numpy, pyarrow.dataset, pyarrow.parquet
import rich.console, rich.progress, rich.table, scipy.integrate, scipy.interpolate, scipy.optimize, scipy.stats
import sklearn.ensemble, spake2, tabulate

GONE = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}
NAMES = {
    os: "O_CLOEXEC O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK fork geteuid getloadavg getuid killpg "
    "memfd_create pidfd_open sched_getaffinity setsid statvfs sysconf uname waitid WNOHANG",
    signal: "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 SIGUSR2 pthread_sigmask setitimer",
    socket: "AF_NETLINK AF_PACKET AF_UNIX MSG_DONTWAIT MSG_ERRQUEUE SO_REUSEPORT",
}


class Gone:
    def find_spec(self, name, path=None, target=None):
        if name in GONE:
            raise ModuleNotFoundError(f"no module on this system: {name}", name=name)


sys.meta_path.insert(0, Gone())
for name in GONE:
    sys.modules.pop(name, None)
for module, names in NAMES.items():
    for name in names.split():
        vars(module).pop(name, None)
msvcrt = types.ModuleType("msvcrt")
msvcrt.LK_NBLCK, msvcrt.locking = 2, lambda file, mode, count: None
sys.modules["msvcrt"] = msvcrt
os.O_BINARY = os.O_NOINHERIT = 0
sys.platform = "win32"
"""
# Real kernels, real hosts, real uplinks and namespaces: imported when they are used, after `need_linux`.
_LINUX_ONLY = (
    "sojourn.worlds.linux.",
    "sojourn.worlds.hosts.",
    "sojourn.worlds.shell.inside",
    "sojourn.worlds.shell.internet",
    "sojourn.worlds.shell.running",
    "sojourn.pad.",
)
_IMPORT_ALL = f"""
import sojourn
for module in pkgutil.walk_packages(sojourn.__path__, "sojourn."):
    if not module.name.startswith({_LINUX_ONLY!r}) and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
        print(module.name)
"""
_MAIN = """
import contextlib, io
from sojourn.__main__ import main

done = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["sojourn", *arguments]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main()
        except SystemExit as end:
            code = end.code
    done.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(done))
"""


def _python(code: str, *arguments: str, folder: Path) -> str:
    command = [sys.executable, "-c", _WINDOWS + code, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _main(commands: Sequence[str], folder: Path) -> "dict[str, tuple[int, str, str]]":
    """Run commands of `sojourn` in one process; return their codes, outputs and errors."""
    printed = _python(_MAIN, json.dumps([command.split() for command in commands]), folder=folder)
    return dict(zip(commands, map(tuple, json.loads(printed)), strict=True))


def test_everything_but_kernels_and_hosts_is_imported(tmp_path: Path) -> None:
    names = set(_python(_IMPORT_ALL, folder=tmp_path).split())
    assert {"sojourn.cli.run", "sojourn.pages", "sojourn.study.load", "sojourn.worlds.linux"} <= names


def test_what_needs_no_linux_runs(tmp_path: Path) -> None:
    expected = {
        "run first --runs 1 --page run.html": "first: ",
        "compare first --queue droptail,codel --runs 2 --page compare.html": "codel",
        "paper gong fig2 --kept --out gong": "gong/index.html",
        "show fq_codel": "quantum",
        "list": "queues",
        "run --help": "--world",
    }
    for command, (code, out, err) in _main(list(expected), tmp_path).items():
        assert code in {0, None}, f"{command}: {err}"
        assert expected[command] in out, command
    for page in ("run.html", "compare.html", "gong/index.html"):
        assert "<h1" in (tmp_path / page).read_text(encoding="utf-8"), page


def test_what_needs_linux_says_so(tmp_path: Path) -> None:
    commands = [
        "run first --world linux",
        "run first --world hosts --peer 192.0.2.7",
        "testbed doctor",
        "testbed clean",
        "agent",
        "pad 192.0.2.7",
        "shell --line cable-100-10-film -- true",
    ]
    for command, (code, out, err) in _main(commands, tmp_path).items():
        assert (code, out) == (2, ""), command
        assert "needs Linux; found win32" in err, command
