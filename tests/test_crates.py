"""The crates that others can use: what their manifests must say, and a crate outside the tree that uses them."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent
MANIFESTS = {path.parent.name: tomllib.loads(path.read_text()) for path in ROOT.glob("crates/*/Cargo.toml")}
PUBLIC = sorted(name for name, manifest in MANIFESTS.items() if manifest["package"].get("publish") is True)
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]


def test_the_crates_meant_for_others_are_public():
    names = ["capture", "congestion", "core", "endpoint", "media", "padding", "queue", "scenario", "shaper", "sim"]
    names += ["traffic", "transport"]
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


@pytest.mark.parametrize("kind", ["control", "queue"])
def test_a_crate_made_outside_the_tree_runs_with_the_engine_inside(kind, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = command("new", kind, "my-own", "--rust")
    assert made.code == 0, made.err
    # Cargo takes what the lock file of the tree names, and nothing from a network.
    common = ["--quiet", "--offline", "--target-dir", ROOT / "target" / "examples"]
    for words in (["test", *common], ["run", *common, "--", "scenario.toml"]):
        done = subprocess.run(["cargo", *words], cwd=tmp_path / "my-own", capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
    assert "of the goodput" in done.stdout
    source = tmp_path / "my-own" / "src" / f"{kind}.rs"
    if kind == "control":
        source.write_text(source.read_text().replace("low_priority: false", "low_priority: true"))
        called = ["cargo", "test", *common, "low_priority"]
        done = subprocess.run(called, cwd=tmp_path / "my-own", capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert re.search(r"low priority lost: .* under .*droptail.* under .*cake", done.stdout)
    again = command("new", kind, "my-own", "--rust")
    assert (again.code, "it exists" in again.err) == (2, True)


BARE = "thumbv7em-none-eabihf"
FOR_DEVICES = ["core", "congestion", "queue"]


def test_algorithms_need_no_operating_system():
    place = subprocess.run(
        ["rustc", "--print", "target-libdir", "--target", BARE], capture_output=True, text=True, check=False
    )
    if place.returncode or not Path(place.stdout.strip()).is_dir():
        pytest.skip(f"no library for {BARE} here: rustup target add {BARE}")
    packages = [word for name in FOR_DEVICES for word in ("-p", f"sojourn-{name}")]
    called = ["cargo", "check", "--quiet", "--locked", "--target", BARE, "--no-default-features", *packages]
    done = subprocess.run(called, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr


def test_where_the_crates_are_has_to_be_right(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lost = command("new", "control", "my-own", "--rust", "--crates", str(tmp_path))
    assert lost.code == 2
    assert "--crates" in lost.err
    assert not (tmp_path / "my-own").exists()
    address = "https://git.example/sojourn.git"
    assert command("new", "control", "my-own", "--rust", "--crates", address).code == 0
    dependencies = tomllib.loads((tmp_path / "my-own" / "Cargo.toml").read_text())["dependencies"]
    assert dependencies["sojourn-sim"] == {"git": address}
