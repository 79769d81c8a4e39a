"""Congestion controls, queue disciplines, traffic and controllers of shapers of your own, written in Python.

A class with a few methods becomes an algorithm like any other. Scenarios can name it, it has parameters with units and
bounds, and it runs in sweeps and studies. `docs/guide/your-own.md` is the tutorial.

    import sojourn

    @sojourn.control("aimd", summary="one segment more each round trip, half at a loss")
    class Aimd:
        increase = sojourn.number(1.0, min=0.01, max=100.0, help="segments added each round trip")

        def __init__(self, path):
            self.window = path.initial_window

        def on_ack(self, ack):
            if not ack.in_recovery:
                self.window += self.increase * ack.newly_acked / self.window

        def on_congestion(self, event):
            self.window = max(self.window / 2, 2.0)

Times are whole nanoseconds, rates bit/s, windows segments; the unit stands at the end of each name that has one.
"""

import importlib
import os
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from sojourn import _native
from sojourn.faults import input_error, unknown_name
from sojourn.registry import catalogue, origins

NANOSECONDS = 1_000_000_000
_Class = TypeVar("_Class", bound=type)
# Of all kinds of plug-in: where packages announce theirs.
ENTRY_POINTS = ("sojourn.controls", "sojourn.disciplines", "sojourn.traffic", "sojourn.shapers")
# What a method of traffic, and `step` of a shaper's controller, may take.
_TOLD = {
    "step": ("now_ns", "replies", "sent_bytes"),
    "start": ("now_ns",),
    "on_timer": ("now_ns",),
    "on_arrived": ("now_ns", "connection", "delivered_bytes"),
}
_MAX_CONNECTIONS = 10_000
# What a table of an algorithm says beside its parameters.
RESERVED = ("kind", "preset")


@dataclass(frozen=True)
class Parameter:
    """What can be set of a plug-in. On an instance the attribute holds the value."""

    kind: str
    default: Any
    min: float | None = None
    max: float | None = None
    words: tuple[str, ...] = ()
    help: str = ""


def number(default: float, *, min: float | None = None, max: float | None = None, help: str = "") -> Any:  # noqa: A002
    """Declare a plain number, with its least and greatest value."""
    return Parameter("number", float(default), min, max, help=help)


def integer(default: int, *, min: int = 0, max: int | None = None, help: str = "") -> Any:  # noqa: A002
    """Declare a whole number, at least 0."""
    return Parameter("integer", int(default), min, max, help=help)


def time(default: str, *, min: str = "0 s", max: str | None = None, help: str = "") -> Any:  # noqa: A002
    """Declare a length of time, written as in a scenario ("100 ms"); the attribute holds whole nanoseconds."""
    return Parameter("time", _nanos(default), _nanos(min), None if max is None else _nanos(max), help=help)


def rate(default: str, *, help: str = "") -> Any:  # noqa: A002
    """Declare a rate, written as in a scenario ("4 Mbit/s"); the attribute holds bit/s."""
    return Parameter("rate", int(_quantity(default, "bit/s")), help=help)


def flag(*, default: bool, help: str = "") -> Any:  # noqa: A002
    """Declare a yes or no."""
    return Parameter("flag", bool(default), help=help)


def choice(default: str, *words: str, help: str = "") -> Any:  # noqa: A002
    """Declare one of a few words, the default among them."""
    return Parameter("choice", default, words=(default, *(word for word in words if word != default)), help=help)


def control(
    name: str,
    *,
    summary: str = "",
    sources: Sequence[str] = (),
    presets: Mapping[str, Mapping[str, Any]] | None = None,
    low_priority: bool = False,
    rate_samples: bool = False,
    short_segments: bool = False,
    ecn: str = "optional",
) -> Callable[[_Class], _Class]:
    """Make a class the congestion control `name`.

    It needs the methods `on_ack` and `on_congestion`, and an attribute `window` in segments. It may have `ssthresh`
    (segments) and `pacing_rate_bps` (bit/s, or None), and a method `probe` that returns numbers by name. A method takes
    one object (`ack`, `event`) with everything in it, or the fields it needs by name, which is faster:
    `def on_ack(self, now_ns, newly_acked, rtt_ns)`.

    `low_priority` declares that it gives way to best effort: `sojourn try` then judges it under each of six queues.
    `rate_samples` asks for `ack.delivery_rate_pps`. With `short_segments` the attribute `segment_bytes` bounds the
    payload of new segments; None is a full MSS. `ecn` is "optional", "exact" (DCTCP) or "scalable" (L4S).
    The same name can be taken again: scenarios that are read from then on have the new class.

    Raises InputError where the name is a built-in control's or a method is missing.
    """

    def add(cls: _Class) -> _Class:
        for method in ("on_ack", "on_congestion"):
            if not callable(getattr(cls, method, None)):
                raise _wrong(name, cls, f"no method {method}", "a class with on_ack, on_congestion and window")
        behaviour = SimpleNamespace(
            on_ack=_arguments(cls.on_ack),  # type: ignore[attr-defined]
            on_congestion=_arguments(cls.on_congestion),  # type: ignore[attr-defined]
            rate_samples=rate_samples,
            short_segments=short_segments,
            ecn=ecn,
            has=SimpleNamespace(
                **{
                    method: callable(getattr(cls, method, None))
                    for method in ("on_connected", "on_recovered", "on_start")
                }
            ),
        )
        about = _about(name, cls, summary, sources, presets, low_priority)
        _add(_native.add_control, name, cls, behaviour, about, _maker(cls))
        return cls

    return add


def discipline(
    name: str,
    *,
    summary: str = "",
    sources: Sequence[str] = (),
    presets: Mapping[str, Mapping[str, Any]] | None = None,
) -> Callable[[_Class], _Class]:
    """Make a class the queue discipline `name`.

    It needs `enqueue(packet, now_ns)`, which keeps the packet or calls `packet.drop()`, and `dequeue(now_ns)`, which
    returns the packet that leaves, or None. `packet.mark()` marks it CE. A shaper has `ready_at_ns(now_ns)`. One with a
    clock of its own sets `timer_ns` and has `on_timer(now_ns)`.

    Raises InputError where the name is a built-in discipline's or a method is missing.
    """

    def add(cls: _Class) -> _Class:
        for method in ("enqueue", "dequeue"):
            if not callable(getattr(cls, method, None)):
                raise _wrong(name, cls, f"no method {method}", "a class with enqueue and dequeue")
        has_timer = callable(getattr(cls, "on_timer", None))
        behaviour = SimpleNamespace(ready_at_ns=callable(getattr(cls, "ready_at_ns", None)), timer_ns=has_timer)
        about = _about(name, cls, summary, sources, presets)
        _add(_native.add_discipline, name, cls, behaviour, about, _maker(cls))
        return cls

    return add


def traffic(name: str, *, summary: str = "", sources: Sequence[str] = ()) -> Callable[[_Class], _Class]:
    """Make a class the traffic `name`: when an application has data, and how much.

    It needs `start(now_ns)`. What it sends it asks of the flow that `__init__(flow, ...)` is given:
    `flow.send(size_bytes)`, `flow.send_forever()`, `flow.connect(size_bytes)`, `flow.pause()`. The attribute `timer_ns`
    says when `on_timer(now_ns)` is called next; it is None again when that has happened. `on_arrived(now_ns)` is called
    when all that was to be sent has arrived; it may also take `connection` and `delivered_bytes`. Every other argument
    of `__init__` is a random stream of the flow by that name. A parameter `connections` says how many connections a
    flow may have at once.

    Raises InputError where the name is a built-in kind's, or a method is missing or takes what there is not.
    """

    def add(cls: _Class) -> _Class:
        takes = {method: _told(name, cls, method) for method in _TOLD}
        if takes["start"] is None:
            raise _wrong(name, cls, "no method start", "a class with start, and on_timer and on_arrived where needed")
        connections = _parameters(cls).get("connections")
        if connections is not None and not _counts_connections(connections):
            found = f"connections is a {connections.kind} up to {connections.max}"
            raise _wrong(name, cls, found, f"sojourn.integer(1, min=1, max={_MAX_CONNECTIONS}) or less")
        streams = (_arguments(cls.__init__) if "__init__" in _own(cls) else [])[1:]  # type: ignore[misc]
        behaviour = SimpleNamespace(**takes, streams=[stream.replace("_", "-") for stream in streams])
        about = _about(name, cls, summary, sources, None)
        _add(_native.add_traffic, name, cls, behaviour, about, _traffic_maker(cls))
        return cls

    return add


def shaper(
    name: str,
    *,
    summary: str = "",
    sources: Sequence[str] = (),
    presets: Mapping[str, Mapping[str, Any]] | None = None,
) -> Callable[[_Class], _Class]:
    """Make a class the controller `name` of a gateway's shapers.

    It needs `step(now_ns, replies, sent_bytes)`, called at every `interval` of the scenario's `[shaper]`, which takes
    any of these. It returns two rates in bit/s: of the bottleneck and of the return link, the gateway's shapers.
    `replies` are the answers to pings since the step before, `sent_bytes` is what each shaper has sent since the start.
    `__init__(gateway)` is told `base_bps` and `packet_bytes`, each for both directions. A method `probe` returns
    numbers by name.

    Raises InputError where the name is a built-in controller's, or `step` is missing or takes what there is not.
    """

    def add(cls: _Class) -> _Class:
        step = _told(name, cls, "step")
        if step is None:
            raise _wrong(name, cls, "no method step", "a class with step")
        behaviour = SimpleNamespace(step=step, probe=callable(getattr(cls, "probe", None)))
        about = _about(name, cls, summary, sources, presets)
        _add(_native.add_shaper, name, cls, behaviour, about, _maker(cls))
        return cls

    return add


def load(target: str | Path) -> None:
    """Run a file or import a module whose decorators add plug-ins.

    The same file with the same content is run once. Raises InputError where it cannot be run.
    """
    text = str(target)
    path = Path(target)
    if path.suffix != ".py" and not path.exists():
        try:
            importlib.import_module(text)
        except ImportError as error:
            found = f"plug-in {text!r}: no file and no module of this name: {error}"
            raise input_error(
                found, key="plugin", found=text, allowed="a Python file or an importable module"
            ) from None
        _LOADED[text] = ""
        return
    try:
        source = path.read_bytes()
    except OSError as error:
        raise input_error(f"cannot be read: {error.strerror}", file=text, key="plugin", found=text) from None
    content = _sha256(source)
    place = str(path.resolve())
    if _LOADED.get(place) == content:
        return
    _run(path.resolve(), content)
    _LOADED[place] = content


def unload(*names: str) -> None:
    """Take plug-ins away again: those of these names, or all, with the permission that `allow` gave.

    Scenarios that were read before still run. A file that added one is run again when it is next asked for, as by such
    a scenario. Raises InputError for a name that no plug-in has.
    """
    known = origins()
    for name in names:
        if name not in known:
            raise unknown_name("no plug-in is called", name, list(known))
    chosen = {name: known[name]["from"] for name in names} if names else {name: known[name]["from"] for name in known}
    for name in chosen:
        _native.remove_plugin(name)
    gone = {str(Path(file).resolve()) for file in chosen.values()}
    for target in list(_LOADED):
        if not names or target in gone:
            del _LOADED[target]
    if not names:
        _PERMISSION.clear()
    catalogue.cache_clear()


def added() -> dict[str, list[str]]:
    """Return the names of all plug-ins by family: queues, controls, traffic and shapers."""
    known = catalogue()
    return {
        "queues": [entry["name"] for entry in known["queues"] if entry["origin"]],
        "controls": [entry["name"] for entry in known["controls"] if entry["origin"]],
        "traffic": [entry["name"] for entry in known["traffic"] if entry["origin"]],
        "shapers": [entry["name"] for entry in known["shapers"] if entry["origin"]],
    }


def ensure(targets: Sequence[str]) -> None:
    """Load what this process does not have yet, as a worker does that was sent a plan."""
    for target in targets:
        if target == ANNOUNCED:
            load_announced()
        elif target not in _LOADED:
            load(target)


def allow() -> None:
    """Let scenarios run the Python files that they name under `plugins`."""
    _PERMISSION.add(ANY)


def named(text: str, path: Path) -> list[Path]:
    """Return the files that the text of a scenario names under `plugins`, relative to its own `path`."""
    try:
        given = tomllib.loads(text).get("plugins", [])
    except tomllib.TOMLDecodeError:
        return []  # The engine says what is wrong, and where.
    given = [given] if isinstance(given, str) else given
    return (
        [(path.parent / name).resolve() for name in given if isinstance(name, str)] if isinstance(given, list) else []
    )


def ask(file: Path, scenario: Path) -> None:
    """Load a Python file that a scenario names.

    A scenario is data and must not run code by itself. Its files are loaded where `allow` was called, or where the list
    `plugins` of the user's own settings has them. Raises InputError otherwise.
    """
    if ANY not in _PERMISSION and str(file) not in _listed_by_the_user():
        message = f"it wants to run the code in {file}; allowed with --allow-plugins, or where {_settings()} lists it"
        raise input_error(message, file=str(scenario), key="plugins", found=str(file), allowed="--allow-plugins")
    load(file)


def _settings() -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(folder) / "sojourn" / "config.toml"


def _listed_by_the_user() -> set[str]:
    path = _settings()
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8")).get("plugins", [])
    except (OSError, ValueError):
        return set()
    return {str(Path(name).expanduser().resolve()) for name in listed if isinstance(name, str)}


def loaded() -> dict[str, str]:
    """Return the files and modules that were loaded, each with the SHA-256 of its content (modules: empty)."""
    return dict(_LOADED)


def load_announced() -> bool:
    """Load the plug-ins that installed packages announce by the entry points of `ENTRY_POINTS`, once.

    Returns whether there were any to load. Raises InputError for one that cannot be loaded.
    """
    if ANNOUNCED in _LOADED:
        return False
    from importlib.metadata import entry_points

    _LOADED[ANNOUNCED] = ""
    found = [entry for group in ENTRY_POINTS for entry in entry_points(group=group)]
    for entry in found:
        try:
            entry.load()
        except (ImportError, AttributeError) as error:
            raise input_error(f"the entry point {entry.name!r} of {entry.group}: {error}") from None
    return bool(found)


ANY = "any"
ANNOUNCED = "entry points"
_LOADED: dict[str, str] = {}
_PERMISSION: set[str] = set()


def _run(path: Path, content: str) -> None:
    import importlib.util

    name = f"sojourn_plugin_{content[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise input_error(
            "not a Python file", file=str(path), key="plugin", found=path.name, allowed="a name ending in .py"
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except _native.InputError:
        raise
    except Exception as error:
        where = _line_in(path, error)
        message = f"the plug-in cannot be loaded: {type(error).__name__}: {error}"
        raise input_error(message, file=str(path), line=where, key="plugin") from error


def _line_in(path: Path, error: Exception) -> int | None:
    if isinstance(error, SyntaxError):
        return error.lineno
    trace = error.__traceback__
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _add(
    add: Callable[[Any, Any, Any], None],
    name: str,
    cls: type,
    behaviour: SimpleNamespace,
    about: SimpleNamespace,
    make: Callable[..., Any],
) -> None:
    reserved = [one.name for one in about.parameters if one.name in RESERVED]
    if reserved:
        raise _wrong(name, cls, f"a parameter called {reserved[0]}", f"any name but {' and '.join(RESERVED)}")
    try:
        add(about, behaviour, make)
    except ValueError as error:
        raise _wrong(name, cls, str(error), "another name, or parameters as sojourn.plugins declares them") from None
    catalogue.cache_clear()


def _wrong(name: str, cls: type, found: str, allowed: str) -> _native.InputError:
    message = f"plug-in {name!r} ({cls.__qualname__}): {found}; allowed: {allowed}"
    return input_error(message, key=name, found=found, allowed=allowed)


def _about(
    name: str,
    cls: type,
    summary: str,
    sources: Sequence[str],
    presets: Mapping[str, Mapping[str, Any]] | None,
    low_priority: bool = False,
) -> SimpleNamespace:
    from inspect import getdoc

    origin, content = _origin(cls)
    declared = _parameters(cls)
    return SimpleNamespace(
        name=name,
        summary=summary or (getdoc(cls) or "").partition("\n")[0],
        sources=list(sources),
        low_priority=low_priority,
        parameters=[
            SimpleNamespace(
                name=key,
                kind=one.kind,
                default=one.default,
                min=one.min,
                max=one.max,
                words=list(one.words),
                description=one.help,
            )
            for key, one in declared.items()
        ],
        presets=[
            (preset, "", [(key, _plain(declared, key, value)) for key, value in values.items()])
            for preset, values in (presets or {}).items()
        ],
        origin=origin,
        content=content,
    )


def _plain(declared: Mapping[str, Parameter], key: str, value: Any) -> Any:
    kind = declared[key].kind if key in declared else ""
    if kind == "time":
        return _nanos(value)
    if kind == "rate":
        return int(_quantity(value, "bit/s"))
    return value


def _parameters(cls: type) -> dict[str, Parameter]:
    found: dict[str, Parameter] = {}
    for base in reversed(cls.__mro__):
        found.update({key: value for key, value in vars(base).items() if isinstance(value, Parameter)})
    return found


def _origin(cls: type) -> tuple[str, str]:
    """Return the file or module of a class and a hash of its source, which is empty where nobody has it."""
    import inspect

    try:
        file = inspect.getsourcefile(cls)
        source = Path(file).read_bytes() if file and Path(file).exists() else inspect.getsource(cls).encode()
    except (OSError, TypeError):
        return cls.__module__, ""
    return file or cls.__module__, _sha256(source)


def _sha256(source: bytes) -> str:
    import hashlib

    return hashlib.sha256(source).hexdigest()


def _maker(cls: type) -> Callable[[dict[str, Any], dict[str, Any], _native.Random], Any]:
    """Return what makes an instance: parameters as attributes first, then `__init__` with what it asks for."""
    wanted = len(_arguments(cls.__init__)) if "__init__" in _own(cls) else 0  # type: ignore[misc]

    def make(values: dict[str, Any], about: dict[str, Any], random: _native.Random) -> Any:
        plugin: Any = object.__new__(cls)
        for key, value in values.items():
            setattr(plugin, key, value)
        plugin.__init__(*(SimpleNamespace(**about), random)[:wanted])
        return plugin

    return make


def _traffic_maker(cls: type) -> Callable[[dict[str, Any], _native.Flow, list[_native.Random]], Any]:
    """Return what makes an application: as `_maker`, with its flow and a random stream for each further argument."""
    wanted = len(_arguments(cls.__init__)) if "__init__" in _own(cls) else 0  # type: ignore[misc]

    def make(values: dict[str, Any], flow: _native.Flow, streams: list[_native.Random]) -> Any:
        plugin: Any = object.__new__(cls)
        for key, value in {"timer_ns": None, **values}.items():
            setattr(plugin, key, value)
        plugin.__init__(*(flow, *streams)[:wanted])
        return plugin

    return make


def _told(name: str, cls: type, method: str) -> list[str] | None:
    """Return what a method takes, by name; None where there is no such method."""
    written = getattr(cls, method, None)
    if not callable(written):
        return None
    names = _arguments(written)
    for one in names:
        if one not in _TOLD[method]:
            raise _wrong(name, cls, f"{method} takes {one!r}", f"any of {', '.join(_TOLD[method])}")
    return names


def _counts_connections(declared: Parameter) -> bool:
    least, most = declared.min or 0, declared.max
    return declared.kind == "integer" and least >= 1 and most is not None and most <= _MAX_CONNECTIONS


def _own(cls: type) -> set[str]:
    return {name for base in cls.__mro__ if base is not object for name in vars(base)}


def _arguments(method: Callable[..., Any]) -> list[str]:
    import inspect

    return [name for name in inspect.signature(method).parameters if name != "self"]


def _nanos(text: str) -> int:
    return round(_quantity(text, "s") * NANOSECONDS)


def _quantity(text: str, unit: str) -> float:
    found = _native.quantity(text)
    if found is None or found[1] != unit:
        what = {"s": "a time such as '100 ms'", "bit/s": "a rate such as '4 Mbit/s'"}[unit]
        raise input_error(f"found {text!r}; allowed: {what}", found=repr(text), allowed=what)
    return found[0]
