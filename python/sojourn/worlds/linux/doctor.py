"""What this machine can do as a testbed, asked from the kernels themselves."""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from sojourn.worlds.linux import utp
from sojourn.worlds.linux.build import BUILD_COMMAND, built_kernel, missing_for_build
from sojourn.worlds.linux.errors import Missing, TestbedError, install_command
from sojourn.worlds.linux.kernels import Kernel, kernels, never
from sojourn.worlds.linux.kernels.job import PLAN, REPORT
from sojourn.worlds.linux.kernels.uml import UmlVirtual
from sojourn.worlds.linux.options import Options, read_options
from sojourn.worlds.linux.places import work_folder
from sojourn.worlds.linux.source import find_source
from sojourn.worlds.linux.tools import TOOLS, UTP_TOOLS, missing_tools

SURVEY = "sojourn.worlds.linux.survey"
_SURVEY_S = 60


@dataclass
class Finding:
    """One kernel."""

    name: str
    summary: str
    version: str | None
    missing: list[Missing]
    works: bool = False
    error: str | None = None
    """Why it does not work though nothing is missing."""
    seconds: float | None = None
    """From the start to the end of a job that asks what the kernel can do: mostly the boot."""
    qdiscs: list[str] = field(default_factory=list)
    controls: list[str] = field(default_factory=list)


@dataclass
class Build:
    """Something that Sojourn builds once, on request."""

    name: str
    command: str
    built: bool
    missing: list[Missing]
    """What is missing to build it."""


@dataclass
class Diagnosis:
    """The machine."""

    kernels: list[Finding]
    tools: list[dict[str, str | None]]
    builds: list[Build]
    missing: list[Missing]
    """All that is missing for anything."""
    asked: Options

    @property
    def works(self) -> bool:
        """Whether any kernel works."""
        return any(kernel.works for kernel in self.kernels)

    @property
    def install(self) -> str | None:
        """The one command that installs what packages can bring."""
        return install_command(self.missing)

    def document(self) -> dict[str, Any]:
        """Return all of it as one JSON document."""
        return {
            "works": self.works,
            "kernels": [asdict(kernel) for kernel in self.kernels],
            "tools": self.tools,
            "builds": [asdict(build) for build in self.builds],
            "install": self.install,
            "asked": {"qdiscs": list(self.asked.qdiscs), "controls": list(self.asked.controls)},
        }


def diagnose(
    candidates: Sequence[Kernel] | None = None, report: Callable[[float, str], None] = lambda _part, _note: None
) -> Diagnosis:
    """Try every kernel and look for every tool."""
    options = read_options()
    tried = list(kernels().values()) if candidates is None else list(candidates)
    findings = []
    given_up = threading.Event()
    with ThreadPoolExecutor(len(tried)) as pool:
        try:
            for finding in pool.map(lambda kernel: survey(kernel, options, given_up.is_set), tried):
                findings.append(finding)
                report(len(findings) / len(tried), finding.name)
        finally:
            # Who does not want to know any more does not wait for kernels to boot.
            given_up.set()
    builds = [
        Build(UmlVirtual.name, BUILD_COMMAND, built_kernel() is not None, missing_for_build(find_source(None))),
        Build("libutp", utp.BUILD_COMMAND, not utp.missing(), missing_tools(UTP_TOOLS)),
    ]
    by_kernels = [item for finding in findings for item in finding.missing]
    return Diagnosis(
        kernels=findings,
        tools=[{"name": t.name, "path": t.path(), "package": t.package, "purpose": t.purpose} for t in TOOLS],
        builds=builds,
        missing=[*by_kernels, *(item for build in builds for item in build.missing), *missing_tools(TOOLS)],
        asked=options,
    )


def survey(kernel: Kernel, options: Options, stopped: Callable[[], bool] = never) -> Finding:
    """Ask one kernel what it can do."""
    finding = Finding(kernel.name, kernel.summary, kernel.version(), kernel.missing())
    if finding.missing:
        return finding
    try:
        told, finding.seconds = _ask(kernel, options, stopped)
    except TestbedError as error:
        finding.error = str(error)
        return finding
    finding.works = True
    finding.qdiscs, finding.controls = told["qdiscs"], told["controls"]
    return finding


def _ask(kernel: Kernel, options: Options, stopped: Callable[[], bool]) -> tuple[Mapping[str, Any], float]:
    """Return what the kernel answers, and the seconds that took."""
    with work_folder() as folder:
        plan = {"qdiscs": list(options.qdiscs), "controls": list(options.controls)}
        (folder / PLAN).write_text(json.dumps(plan), encoding="utf-8")
        begun = time.monotonic()
        kernel.run(folder, timeout_s=_SURVEY_S, stopped=stopped, module=SURVEY)
        seconds = round(time.monotonic() - begun, 2)
        told: Mapping[str, Any] = json.loads((folder / REPORT).read_text(encoding="utf-8"))
        return told, seconds
