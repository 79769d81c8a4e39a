"""The crates that others can use: what their manifests must say, and a crate outside the workspace that uses them."""

import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "rust-plugin" / "Cargo.toml"
MANIFESTS = {path.parent.name: tomllib.loads(path.read_text()) for path in ROOT.glob("crates/*/Cargo.toml")}
PUBLIC = sorted(name for name, manifest in MANIFESTS.items() if manifest["package"].get("publish") is True)
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]


def test_the_crates_meant_for_others_are_public():
    names = ["congestion", "core", "padding", "queue", "scenario", "sim", "traffic", "transport"]
    assert [f"sojourn-{name}" for name in names] == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_crate_can_be_packed(name):
    package = MANIFESTS[name]["package"]
    assert 1 <= len(package["keywords"]) <= 5
    assert all(len(keyword) <= 20 for keyword in package["keywords"]), "what crates.io takes"
    assert package["categories"]
    folder = ROOT / "crates" / name
    assert (folder / package["readme"]).read_text().startswith(f"# {name}\n")
    for text in ("LICENSE-APACHE", "LICENSE-MIT"):
        assert (folder / text).read_text() == (ROOT / text).read_text()
    inside = [other for other in MANIFESTS[name]["dependencies"] if other.startswith("sojourn-")]
    assert set(inside) <= set(PUBLIC), "a public crate needs no private one"
    for other in inside:
        stated = WORKSPACE["dependencies"][other]
        assert stated["version"] == WORKSPACE["package"]["version"], f"{other}: one version for all"


def test_a_crate_outside_the_workspace_adds_a_control_and_a_discipline():
    cargo = ["cargo", "test", "--quiet", "--locked", "--manifest-path", EXAMPLE]
    done = subprocess.run(
        [*cargo, "--target-dir", ROOT / "target" / "examples"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
