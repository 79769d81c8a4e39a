"""`python -m sojourn` is the command `sojourn`."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # Python has put the current folder first. A file `json.py` there would run in place of the standard library's.
    del sys.path[0]


def main() -> None:
    """Run the command line and end the process with its exit code."""
    if sys.stdout is None or sys.stderr is None:
        # The first file that is opened would take its place.
        sys.exit("error: standard output or standard error is closed; to see nothing: >/dev/null 2>&1")
    try:
        from sojourn.cli import run_command_line
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run_command_line(sys.argv[1:]))


if __name__ == "__main__":
    main()
