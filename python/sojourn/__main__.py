"""`python -m sojourn` is the command `sojourn`."""

import sys


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
