"""Fuzz one target of what Python reads, guided by coverage: `python -m scripts.fuzz_python TARGET SECONDS`.

Needs atheris, which is libFuzzer for Python: `pip install atheris`. What is found is kept in fuzz/found, a crash in
fuzz/artifacts.
"""

import sys
from pathlib import Path

import atheris

ROOT = Path(__file__).parent.parent
_MAX_BYTES = 20_000
_TIMEOUT_S = 60
_MEMORY_MB = 6144


def main(target: str, seconds: str) -> None:
    """Fuzz for so long; ends this process."""
    with atheris.instrument_imports(include=["sojourn"]):
        from tests import fuzz_targets
    found, artifacts = (ROOT / "fuzz" / kind / target for kind in ("found", "artifacts"))
    for folder in (found, artifacts):
        folder.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={_MAX_BYTES}",
        f"-timeout={_TIMEOUT_S}",
        f"-rss_limit_mb={_MEMORY_MB}",
        f"-artifact_prefix={artifacts}/",
        "-print_final_stats=1",
        "-verbosity=0",
    ]
    fuzz_targets.place()
    folders = [str(found), *map(str, fuzz_targets.corpora(target))]
    atheris.Setup([sys.argv[0], *options, *folders], fuzz_targets.TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
