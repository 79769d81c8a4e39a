"""The import graphs of package and crates: no circles, every arrow points down; what a command imports to start."""

import ast
import functools
import importlib
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "python" / "sojourn"

# From the ground up. A room may use those of its own line and of the lines above it, nothing below.
FLOORS = (
    ("_native", "children", "look", "needed", "record", "processors"),
    ("registry", "faults"),
    ("plugins", "ready"),
    ("reading",),
    ("parquet",),
    ("spelling", "system", "resolved", "chance", "padding", "networks"),
    ("data", "tables", "progress"),
    ("worlds.world", "worlds.options"),
    ("worlds.stacks",),
    ("worlds.sim", "worlds.fluid"),
    ("worlds.linux", "worlds.shell"),
    ("worlds.hosts",),
    ("worlds",),
    ("measured",),
    ("fairness",),
    ("store",),
    ("data.dataset", "sweeps"),
    ("report", "figures"),
    ("grade",),
    ("pages",),
    ("result",),
    ("purposes",),
    ("differences",),
    ("compared",),
    ("pages.of_comparison",),
    ("api",),
    ("variants",),
    ("lab",),
    ("notebook",),
    (
        "campaign",
        "comparison",
        "detect",
        "exported",
        "lines",
        "pad",
        "shaping",
        "study",
        "papers",
        "qlog",
        "studies",
        "trial",
    ),
    ("goals", "imported"),
    ("tuned",),
    ("tune", "whatif"),
    ("cli",),
    ("demo",),
    ("__main__",),
)


def modules() -> dict[str, Path]:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = ("sojourn", *path.relative_to(PACKAGE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(path: Path) -> set[str]:
    """Return the modules of the package that a file imports anywhere, also inside functions and for types."""
    names = {name for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for name in named(node)}
    return {name for name in names if name in MODULES}


def named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        inner = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name if name in MODULES else node.module for name in inner)


@functools.cache
def graph() -> dict[str, set[str]]:
    return {name: imports(path) - {name} for name, path in MODULES.items()}


def circle(edges: dict[str, set[str]]) -> list[str]:
    """Return the modules of some circle, in order; none where there is no circle."""
    done: set[str] = set()

    def walk(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done:
            return []
        for other in sorted(edges.get(name, ())):
            if found := walk(other, [*way, name]):
                return found
        done.add(name)
        return []

    for name in sorted(edges):
        if found := walk(name, []):
            return found
    return []


def floor(module: str) -> int:
    """Return the floor of the room with the longest name that holds a module."""
    path = module.removeprefix("sojourn").removeprefix(".")
    rooms = [(len(room), place) for place, rooms in enumerate(FLOORS) for room in rooms if is_in(path, room)]
    assert rooms, f"{module} is in no room: add it to FLOORS"
    return max(rooms)[1]


def is_in(path: str, room: str) -> bool:
    return path == room or path.startswith(f"{room}.")


def inner() -> Iterable[str]:
    # The face of the package shows what is in it; whoever imports it from inside takes the version alone.
    return (name for name in graph() if name != "sojourn")


def test_a_circle_would_be_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
    assert floor("sojourn.worlds.world") < floor("sojourn.worlds.sim") < floor("sojourn.cli.run")


def test_the_import_graph_has_no_circles() -> None:
    assert circle({name: graph()[name] - {"sojourn"} for name in inner()}) == []


CRATES = sorted((PACKAGE.parents[1] / "crates").iterdir())
# A path from the root of the crate, from the file's own folder, or a list of names in braces after either.
RUST_PATH = re.compile(r"\b(crate|super)::(?:([\w:]+)|\{([^}]*)\})")


def rust_graph(sources: dict[str, str]) -> dict[str, set[str]]:
    """Return which modules the text of each one names, but for the folders that it lies in itself."""
    graph: dict[str, set[str]] = {}
    for name, source in sources.items():
        code = re.sub(r"//[^\n]*", "", source.split("#[cfg(test)]\nmod ")[0])
        paths: set[str] = set()
        for start, path, names in RUST_PATH.findall(code):
            before = "" if start == "crate" else f"{name.rpartition('::')[0]}::".removeprefix("::")
            paths.update(before + one.strip() for one in (names.split(",") if names else [path]))
        children = (one for one in re.findall(r"\b(\w+)::", code) if f"{name}::{one}" in sources)
        paths.update(f"{name}::{one}" for one in children)
        found = {module for path in paths if (module := deepest(path, sources))}
        graph[name] = {other for other in found if other != name and not name.startswith(f"{other}::")}
    return graph


def deepest(path: str, modules: Iterable[str]) -> str | None:
    while path and path not in modules:
        path = path.rpartition("::")[0]
    return path or None


def test_a_circle_of_rust_modules_would_be_found() -> None:
    sources = {"a": "use crate::b::{C, D};", "b": "mod c;\nuse c::E;", "b::c": "use super::B; // crate::a"}
    assert circle(rust_graph(sources)) == []
    assert circle(rust_graph(sources | {"b::c": "use crate::a::F;"})) == ["a", "b", "b::c", "a"]


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_the_modules_of_a_crate_have_no_circles(crate: Path) -> None:
    source = crate / "src"
    files = [path for path in source.rglob("*.rs") if path.stem not in ("tests", "lib") and "tests" not in path.parts]
    names = {"::".join(path.relative_to(source).with_suffix("").parts): path for path in files}
    assert circle(rust_graph({name: path.read_text(encoding="utf-8") for name, path in names.items()})) == []


def test_every_arrow_points_down() -> None:
    up = [
        f"{name} -> {other}" for name in inner() for other in graph()[name] - {"sojourn"} if floor(other) > floor(name)
    ]
    assert up == []


def hidden(package: str) -> list[str]:
    """Return the names that a package's own file has and that a module of it would replace once it is imported."""
    modules = {name.removeprefix(f"{package}.") for name in MODULES if name.startswith(f"{package}.")}
    names = set()
    body = ast.parse(MODULES[package].read_text(encoding="utf-8")).body
    for node in (*body, *(one for block in body if isinstance(block, ast.If) for one in block.body)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                # A function that comes from the module of its name replaces that, and once; users see the face alone.
                is_own = package != "sojourn" and node.module == f"{package}.{one.name}"
                if not is_own and f"{node.module}.{one.name}" not in MODULES:
                    names.add(one.asname or one.name)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return sorted(names & modules)


def test_no_module_has_the_name_of_what_its_package_offers() -> None:
    assert {name: hidden(name) for name, path in MODULES.items() if path.name == "__init__.py" and hidden(name)} == {}


def test_nobody_imports_the_command_line() -> None:
    guests = [name for name in inner() if any(is_in(other, "sojourn.cli") for other in graph()[name])]
    assert {name.split(".")[1] for name in guests} <= {"cli", "__main__", "demo"}


def test_a_study_imports_no_other_and_nobody_imports_one() -> None:
    # `studies` are data: what two of them need is in `sojourn.study`.
    def study(name: str) -> list[str]:
        return name.split(".")[:3]

    others = {
        name: {one for one in graph()[name] if is_in(one, "sojourn.studies") and study(one) != study(name)}
        for name in graph()
    }
    assert {name: found for name, found in others.items() if found} == {}
    assert any(is_in(name, "sojourn.studies") for name in graph())


def loaded(code: str) -> set[str]:
    """Return the packages that a process has loaded after some code, and the modules of this one."""
    kept = "{name if name.startswith('sojourn.') else name.split('.')[0] for name in sys.modules}"
    script = f"import sys\n{code}\nprint(' '.join(sorted({kept})))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.splitlines()[-1].split())


HEAVY = {"matplotlib", "numpy", "pandas", "polars", "pyarrow", "rich", "scipy", "duckdb", "distributed", "IPython"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["list", "queues", "--json"],
        ["list"],
        ["paper"],
        ["run", "motivating-red", "--set", "duration=1 s", "--runs", "2", "--json"],
    ],
)
def test_a_command_loads_only_what_it_needs(arguments: list[str]) -> None:
    code = f"from sojourn.cli import run_command_line\nassert run_command_line({arguments!r}) == 0"
    found = loaded(code)
    assert found & HEAVY == set()
    if arguments[0] in {"list", "paper"}:
        # Another command, or the whole file of a study, is as much work as these are themselves.
        assert found & {"sojourn.api", "sojourn.cli.compare", "sojourn.cli.run", "sojourn.study.load"} == set()


@pytest.mark.parametrize("package", ["sojourn", "sojourn.study"])
def test_a_face_has_every_name_that_it_lists_and_no_other(package: str) -> None:
    face = importlib.import_module(package)
    assert set(face.__all__) <= set(dir(face))
    assert [name for name in face.__all__ if getattr(face, name) is None] == []
    with pytest.raises(AttributeError, match="has no attribute 'sweeep'"):
        _ = face.sweeep


def test_the_package_itself_loads_nothing_heavy() -> None:
    assert loaded("import sojourn") & HEAVY == set()


STARTING = {"sys.executable", "multiprocessing", "concurrent.futures.ProcessPoolExecutor", "runpy"}
"""What starts a Python that searches the current folder, or may do so."""


def mentioned(path: Path) -> set[str]:
    """Return the dotted names of what a file imports or takes from a module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Attribute):
            found.add(ast.unparse(node))
    return found


def test_one_module_starts_python() -> None:
    assert {name for name, path in MODULES.items() if mentioned(path) & STARTING} == {"sojourn.children"}
    # A cluster of Dask's starts its processes by itself.
    clusters = {name for name, path in MODULES.items() if "distributed.LocalCluster" in mentioned(path)}
    assert clusters == {"sojourn.sweeps.cluster"}
