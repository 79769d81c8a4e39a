"""Files that a command is to write at its end: what cannot be written is refused before any time is spent."""

from pathlib import Path

from sojourn.reading import input_error

PICTURES = (".pdf", ".png", ".svg")


def check_picture(option: str, path: Path) -> None:
    """Raise InputError where the picture that `option` names cannot be drawn or written."""
    if path.suffix.lower() not in PICTURES:
        raise input_error(f"{option}: a picture's name ends in {', '.join(PICTURES)}", file=str(path))
    check_file(option, path)


def check_file(option: str, path: Path) -> None:
    """Raise InputError where the file that `option` names cannot be written."""
    from sojourn.store import check_writable

    if not path.parent.is_dir():
        raise input_error(f"{option}: no such directory", file=str(path.parent))
    check_writable(path.parent, str(path))
