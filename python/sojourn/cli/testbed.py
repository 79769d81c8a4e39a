"""The commands of `testbed`."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn.cli.examples import ExampleCommand, ExampleGroup, json_option
from sojourn.cli.render import print_json
from sojourn.processors import usable_processors
from sojourn.progress import progress
from sojourn.system import need_linux

if TYPE_CHECKING:
    from sojourn.worlds.linux.doctor import Diagnosis, Finding


@click.group(
    cls=ExampleGroup,
    examples="""
    sojourn testbed doctor         # what this machine can do, and what is missing
    sojourn testbed build-kernel   # once, for exact results in virtual time
    sojourn testbed build-libutp   # once, for flows over libutp
    """,
)
def testbed() -> None:
    """Real Linux kernels for `--world linux`: what is there, and how to have one."""
    need_linux("a testbed of real kernels")


@testbed.command(
    cls=ExampleCommand,
    examples="""
    sojourn testbed doctor
    sojourn testbed doctor --json
    """,
)
@json_option
def doctor(as_json: bool) -> int:
    """Try every kernel, and say what it can do and what is missing.

    Ends with exit code 0 where any kernel works, else with 1.
    """
    from sojourn.worlds.linux.doctor import diagnose

    with progress("asking the kernels") as update:
        diagnosis = diagnose(report=update)
    if as_json:
        print_json(diagnosis.document())
    else:
        click.echo(doctor_text(diagnosis))
    return 0 if diagnosis.works else 1


def doctor_text(diagnosis: "Diagnosis") -> str:
    """Return what a person reads."""
    lines = ["Kernels, best first"]
    for finding in diagnosis.kernels:
        lines += [f"  {finding.name:<12} {finding.summary}", *(f"{'':15}{line}" for line in _state(finding, diagnosis))]
    lines += ["", "Tools"]
    for tool in diagnosis.tools:
        where = tool["path"] or f"missing (package {tool['package']})"
        lines.append(f"  {tool['name']:<12} {where}  {tool['purpose']}")
    lines += ["", "Built once, on request"]
    for build in diagnosis.builds:
        lacks = ", ".join(item.what for item in build.missing)
        state = "built" if build.built else f"cannot be built: needs {lacks}" if lacks else build.command
        lines.append(f"  {build.name:<12} {state}")
    if diagnosis.install:
        lines += ["", "To install what is missing", f"  {diagnosis.install}"]
    return "\n".join(lines)


def _state(finding: "Finding", diagnosis: "Diagnosis") -> list[str]:
    if finding.missing:
        advice = {item.advice for item in finding.missing if item.advice}
        return [f"not there: needs {', '.join(item.what for item in finding.missing)}", *sorted(advice)]
    if finding.error is not None:
        return ["does not work", *finding.error.splitlines()]
    return [
        f"works: Linux {finding.version}, {finding.seconds:.1f} s to boot and answer",
        _has("disciplines", finding.qdiscs, diagnosis.asked.qdiscs),
        _has("controls", finding.controls, diagnosis.asked.controls),
    ]


def _has(what: str, found: list[str], asked: tuple[str, ...]) -> str:
    lacks = [name for name in asked if name not in found]
    if not lacks:
        return f"all {len(asked)} {what}"
    few, rest = (found, "has only") if len(found) < len(lacks) else (lacks, "lacks")
    return f"{len(found)} of {len(asked)} {what}; {rest} {', '.join(few)}"


@testbed.command(
    "build-kernel",
    cls=ExampleCommand,
    examples="""
    sojourn testbed build-kernel                          # from Debian's package linux-source
    sojourn testbed build-kernel --source linux-6.12.tar.xz
    """,
)
@click.option("--source", type=click.Path(path_type=Path), metavar="PATH", help="A kernel's source: tarball or folder.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processors to use.  [default: all]")
@click.option("--force", is_flag=True, help="Build it again where it is there already.")
def build_kernel(source: Path | None, jobs: int | None, force: bool) -> None:
    """Build a kernel with virtual time, once, into Sojourn's cache.

    It takes minutes and about 2 GB meanwhile; nothing of it needs root. Interrupted, it goes on where it was.
    """
    from sojourn.worlds.linux import build
    from sojourn.worlds.linux.options import read_options
    from sojourn.worlds.linux.source import find_source

    found = find_source(source)
    if found is not None:
        click.echo(f"from {found.path} into {build.kernels_folder()}; no step of it needs root", err=True)
    with progress("building the kernel") as update:
        built = build.build_kernel(found, read_options(), jobs=jobs or usable_processors(), force=force, report=update)
    if built.absent:
        click.echo(f"this version of the kernel does not have {', '.join(built.absent)}", err=True)
    if not built.fresh:
        click.echo("it was there already; --force builds it again", err=True)
    click.echo(str(built.program))


@testbed.command(cls=ExampleCommand, examples="sojourn testbed clean")
def clean() -> None:
    """Remove what was built, kernels and libutp, and what killed builds and runs have left.

    That are folders of temporary files and, as root, a bottleneck of `run --shape` on an interface.
    """
    from sojourn.worlds.hosts.shaping import remove_left
    from sojourn.worlds.linux import utp
    from sojourn.worlds.linux.build import kernels_folder
    from sojourn.worlds.linux.inside.namespace import CommandError
    from sojourn.worlds.linux.places import remove, remove_orphans

    for folder in (kernels_folder(), utp.folder()):
        click.echo(f"{remove(folder) / 1e6:.1f} MB removed from {folder}")
    for place in remove_orphans():
        click.echo(f"{place}, which a killed run had left, removed")
    if sys.platform == "win32" or os.geteuid() != 0:
        return
    # Where there is no tc, nobody has shaped anything.
    with suppress(CommandError):
        for interface in remove_left():
            click.echo(f"the bottleneck that a killed run had left on {interface} removed")


@testbed.command(
    "build-libutp",
    cls=ExampleCommand,
    examples="""
    sojourn testbed build-libutp   # npm fetches the source, c++ compiles it
    """,
)
def build_libutp() -> None:
    """Build libutp, the LEDBAT of BitTorrent, once, into Sojourn's cache.

    Its source (MIT) is fetched by your npm client from the package utp-native.
    """
    from sojourn.worlds.linux import utp

    with progress("building libutp") as update:
        built = utp.build(report=update)
    click.echo(str(built))
