"""Join a module of the laboratory's page with all that it imports into one file, which a browser has sooner than many.

`python3 scripts/join_modules.py web/main.js` prints it: each module in a scope of its own, of which it gives what it
exports; who is used comes before who uses it.
"""

import re
import sys
from pathlib import Path

IMPORT = re.compile(r'(?m)^import (\{.*\}) from "\./(\w+)\.js";')
EXPORT = re.compile(r"(?m)^export (?:async )?(?:const|class|function) (\w+)")


def needed(path: Path, before: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """Return what a module imports, directly or not, and itself, in an order in which each can begin."""
    for _, name in IMPORT.findall(path.read_text(encoding="utf-8")):
        if (one := path.with_name(f"{name}.js")) not in before:
            before = needed(one, before)
    return (*before, path)


def scope(path: Path) -> str:
    """Return a module as a constant with what it exports."""
    text = path.read_text(encoding="utf-8")
    given = ", ".join(EXPORT.findall(text))
    inside = EXPORT.sub(lambda found: found[0].removeprefix("export "), IMPORT.sub(r"const \1 = \2_js;", text))
    if left := re.search(r"(?m)^(import|export)\b.*", inside):
        sys.exit(
            f"{path}: {left[0]}: written in a way that is not joined; see IMPORT and EXPORT of {Path(__file__).name}"
        )
    return f"const {path.stem}_js = (() => {{\n{inside}\nreturn {{ {given} }};\n}})();"


if __name__ == "__main__":
    print("\n".join(map(scope, needed(Path(sys.argv[1])))))
