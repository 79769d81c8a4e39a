"""What the doctor says, with kernels that are none."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Command, wait_for
from tests.testbed_fakes import FakeKernel

from sojourn.cli.testbed import doctor_text
from sojourn.worlds.linux import doctor, utp
from sojourn.worlds.linux.errors import KernelError, Missing, StoppedError
from sojourn.worlds.linux.kernels import Kernel
from sojourn.worlds.linux.options import read_options

pytestmark = pytest.mark.usefixtures("no_root")

OPTIONS = read_options()


def answering(qdiscs: tuple[str, ...], controls: tuple[str, ...]) -> Callable[..., None]:
    def job(folder: Path, module: str, **_rest: object) -> None:
        assert module == doctor.SURVEY
        plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        told = {
            "qdiscs": [name for name in plan["qdiscs"] if name in qdiscs],
            "controls": [name for name in plan["controls"] if name in controls],
        }
        (folder / "report.json").write_text(json.dumps(told), encoding="utf-8")

    return job


def panicking(**_rest: object) -> None:
    raise KernelError("the kernel uml panicked: no init\n  its last line")


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a machine where all tools are there but bison and ethtool."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(
        "shutil.which", lambda name, **_rest: None if name in {"bison", "ethtool"} else f"/usr/bin/{name}"
    )
    monkeypatch.setattr(doctor, "find_source", lambda _given: None)


FEW: list[Kernel] = [
    FakeKernel("uml-virtual", [Missing("a kernel built with virtual time", advice="To build it: so and so")]),
    FakeKernel("uml", job=panicking),
    FakeKernel("host", job=answering(("htb", "pfifo"), OPTIONS.controls[1:])),
]


def test_a_person_reads_what_works_what_is_missing_and_the_one_command() -> None:
    text = re.sub(r"\d+\.\d s", "0.0 s", doctor_text(doctor.diagnose(FEW)))
    assert text.splitlines()[:12] == [
        "Kernels, best first",
        "  uml-virtual  for tests",
        "               not there: needs a kernel built with virtual time",
        "               To build it: so and so",
        "  uml          for tests",
        "               does not work",
        "               the kernel uml panicked: no init",
        "                 its last line",
        "  host         for tests",
        "               works: Linux 6.1.0, 0.0 s to boot and answer",
        f"               2 of {len(OPTIONS.qdiscs)} disciplines; has only htb, pfifo",
        f"               {len(OPTIONS.controls) - 1} of {len(OPTIONS.controls)} controls; lacks {OPTIONS.controls[0]}",
    ]
    assert "  ethtool      missing (package ethtool)  to switch offloads off" in text
    assert (
        "  uml-virtual  cannot be built: needs bison (to build a kernel with virtual time), "
        "a kernel's source (package linux-source, or --source)\n"
        "  libutp       sojourn testbed build-libutp\n"
    ) in text
    assert text.endswith("To install what is missing\n  sudo apt-get install bison ethtool linux-source")


def test_a_machine_that_has_all_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name, **_rest: f"/usr/bin/{name}")
    monkeypatch.setattr(doctor, "find_source", lambda _given: object())
    utp.program().parent.mkdir(parents=True)
    utp.program().touch()
    text = doctor_text(doctor.diagnose([FakeKernel("uml", job=answering(OPTIONS.qdiscs, OPTIONS.controls))]))
    assert f"all {len(OPTIONS.qdiscs)} disciplines" in text
    assert f"all {len(OPTIONS.controls)} controls" in text
    assert "missing" not in text
    assert text.endswith("  uml-virtual  sojourn testbed build-kernel\n  libutp       built")


@pytest.mark.parametrize(("fakes", "code"), [(FEW, 0), (FEW[:2], 1)])
def test_the_exit_code_says_whether_any_kernel_works(
    command: Command, monkeypatch: pytest.MonkeyPatch, fakes: list[Kernel], code: int
) -> None:
    monkeypatch.setattr(doctor, "kernels", lambda: {kernel.name: kernel for kernel in fakes})
    outcome = command("testbed", "doctor", "--json")
    assert outcome.code == code
    told = json.loads(outcome.out)
    assert told["works"] is (code == 0)
    assert [kernel["name"] for kernel in told["kernels"]] == [kernel.name for kernel in fakes]
    assert told["kernels"][0]["missing"][0]["advice"] == "To build it: so and so"
    assert told["kernels"][1]["error"].startswith("the kernel uml panicked")
    assert [(build["name"], build["built"]) for build in told["builds"]] == [("uml-virtual", False), ("libutp", False)]
    assert told["install"] == "sudo apt-get install bison ethtool linux-source"
    assert {"name": "tc", "path": "/usr/bin/tc", "package": "iproute2", "purpose": "to set queue disciplines"} in told[
        "tools"
    ]


def test_what_it_asks_lies_where_a_keeper_looks_after_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A killed doctor leaves nothing, as any killed job."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen: list[Path] = []

    def job(folder: Path, **rest: object) -> None:
        seen.append(folder)
        assert (folder / "lock").exists()
        answering((), ())(folder, doctor.SURVEY)

    assert doctor.diagnose([FakeKernel("host", job=job)]).works
    assert [folder.parent for folder in seen] == [tmp_path]
    assert list(tmp_path.iterdir()) == []


def test_who_gives_up_does_not_wait_for_kernels_to_boot() -> None:
    def boot(stopped: Callable[[], bool], **_rest: object) -> None:
        assert wait_for(stopped)
        raise StoppedError("stopped")

    def interrupt(_part: float, _note: str) -> None:
        raise KeyboardInterrupt

    quick = FakeKernel("host", job=answering((), ()))
    with pytest.raises(KeyboardInterrupt):
        doctor.diagnose([quick, FakeKernel("uml", job=boot)], interrupt)
