"""Where numbers were measured."""

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT
from benchmarks.peers.packages import versions as peer_versions


def describe() -> dict[str, Any]:
    """Return processor, system, versions, and how busy the machine was."""
    versions = peer_versions()
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "kernel": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "commit": _commit(),
        "ns2": versions["ns2"],
        "ns3": versions["libns3-dev"],
        "load_before": os.getloadavg()[0],
    }


def sentence(machine: dict[str, Any]) -> str:
    """Return what `describe` found as one paragraph of Markdown."""
    peers_text = ", ".join(f"{name} {machine[key]}" for name, key in (("ns-2", "ns2"), ("ns-3", "ns3")) if machine[key])
    return (
        f"Machine: {machine['cpu']}, {machine['cores']} cores, {machine['kernel']} ({machine['architecture']}); "
        f"load average before the start {machine['load_before']:.1f}. Python {machine['python']}; "
        f"{peers_text or 'no peer installed'} (Debian packages). Sojourn at commit {machine['commit']}."
    )


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()
