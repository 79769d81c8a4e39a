"""The demo does its two parts and writes its figures."""

from pathlib import Path

import pytest

from sojourn import demo


def test_the_demo_compares_and_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOJOURN_TRACES", str(tmp_path / "none"))
    demo.main()
    out = capsys.readouterr().out
    assert "98.7" in out
    assert "bundled synthetic link" in out
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
        "cellular.pdf",
        "cellular.png",
        "motivating-example.pdf",
        "motivating-example.png",
    ]


def test_a_recorded_trace_is_taken_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / demo.TRACE).write_text("1\n", encoding="utf-8")
    monkeypatch.setenv("SOJOURN_TRACES", str(tmp_path))
    assert demo.recorded_trace() == tmp_path / demo.TRACE
