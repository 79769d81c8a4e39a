"""What this machine can do as a testbed, asked from the kernels themselves."""

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sojourn.testbed import utp
from sojourn.testbed.build import BUILD_COMMAND, built_kernel, missing_for_build
from sojourn.testbed.errors import Missing, TestbedError, install_command
from sojourn.testbed.kernels import Kernel, kernels
from sojourn.testbed.kernels.job import PLAN, REPORT
from sojourn.testbed.kernels.uml import UmlVirtual
from sojourn.testbed.options import Options, read_options
from sojourn.testbed.places import cache_folder
from sojourn.testbed.source import find_source
from sojourn.testbed.tools import TOOLS, UTP_TOOLS, missing_tools

SURVEY = "sojourn.testbed.survey"
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
    with ThreadPoolExecutor(len(tried)) as pool:
        for number, finding in enumerate(pool.map(lambda kernel: survey(kernel, options), tried), start=1):
            findings.append(finding)
            report(number / len(tried), finding.name)
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


def survey(kernel: Kernel, options: Options) -> Finding:
    """Ask one kernel what it can do."""
    finding = Finding(kernel.name, kernel.summary, kernel.version(), kernel.missing())
    if finding.missing:
        return finding
    begun = time.monotonic()
    try:
        told = _ask(kernel, options)
    except TestbedError as error:
        finding.error = str(error)
        return finding
    finding.works = True
    finding.seconds = round(time.monotonic() - begun, 2)
    finding.qdiscs, finding.controls = told["qdiscs"], told["controls"]
    return finding


def _ask(kernel: Kernel, options: Options) -> Mapping[str, Any]:
    cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="survey-", dir=cache_folder()) as name:
        folder = Path(name)
        plan = {"qdiscs": list(options.qdiscs), "controls": list(options.controls)}
        (folder / PLAN).write_text(json.dumps(plan), encoding="utf-8")
        kernel.run(folder, timeout_s=_SURVEY_S, module=SURVEY)
        told: Mapping[str, Any] = json.loads((folder / REPORT).read_text(encoding="utf-8"))
        return told
