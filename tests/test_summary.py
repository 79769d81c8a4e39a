import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.summary import metrics, statistic, student_quantile, summarize

finite = st.floats(min_value=-1e9, max_value=1e9)
samples = st.lists(finite, min_size=2, max_size=30)


@given(samples)
def test_the_interval_holds_the_mean_and_the_mean_lies_within_the_values(values: list[float]) -> None:
    found = statistic(values)
    assert found["mean"] is not None
    assert found["ci95"] is not None
    low, high = found["ci95"]
    assert min(values) <= found["mean"] <= max(values)
    assert low <= found["mean"] <= high
    assert found["n"] == len(values)


@given(samples)
def test_mean_and_deviation_agree_with_exact_arithmetic(values: list[float]) -> None:
    found = statistic(values)
    scale = max(map(abs, values)) + 1
    assert found["mean"] == pytest.approx(statistics.fmean(values), abs=1e-12 * scale)
    assert found["sd"] == pytest.approx(statistics.stdev(values), abs=1e-9 * scale)


@given(samples, st.randoms())
def test_the_order_of_runs_does_not_matter(values: list[float], random: object) -> None:
    shuffled = values.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert statistic(shuffled) == statistic(values)


@given(samples, finite)
def test_a_shift_moves_the_interval_and_keeps_its_width(values: list[float], shift: float) -> None:
    before, after = statistic(values), statistic([value + shift for value in values])
    assert before["sd"] is not None
    assert after["sd"] == pytest.approx(before["sd"], rel=1e-6, abs=1e-5)


@given(finite, st.integers(min_value=2, max_value=20))
def test_equal_runs_have_no_spread(value: float, n: int) -> None:
    assert statistic([value] * n) == {"mean": value, "sd": 0.0, "ci95": (value, value), "n": n}


def test_one_run_has_a_mean_only() -> None:
    assert statistic([4.5]) == {"mean": 4.5, "sd": None, "ci95": None, "n": 1}


def test_a_run_without_a_value_leaves_no_mean() -> None:
    assert statistic([1.0, None, 3.0]) == {"mean": None, "sd": None, "ci95": None, "n": 2}
    assert statistic([None]) == {"mean": None, "sd": None, "ci95": None, "n": 0}


@pytest.mark.parametrize(
    ("degrees", "printed"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (29, 2.045), (120, 1.980)]
)
def test_student_quantiles_are_those_of_the_printed_tables(degrees: int, printed: float) -> None:
    assert student_quantile(0.975, degrees) == pytest.approx(printed, abs=5e-4)


def test_the_interval_of_a_worked_example() -> None:
    # mean 5, sd sqrt(2.5), half width 2.776 * sqrt(2.5) / sqrt(5)
    found = statistic([3.0, 4.0, 5.0, 6.0, 7.0])
    assert found["sd"] == pytest.approx(math.sqrt(2.5))
    assert found["ci95"] == pytest.approx((5 - 1.9634, 5 + 1.9634), abs=1e-3)


def test_metrics_carry_the_names_of_design() -> None:
    record = {
        "bottleneck": {"utilization": 0.5, "queue_ms": {"mean": 1.0, "p99": 2.0}},
        "reverse": {"drop_rate": 0.1},
        "hops": {"gateway": {"drop_rate": 0.2}},
        "groups": {"tcp": {"share": 0.7, "rtt_ms": {"mean": 9.0}}},
        "jain": 0.9,
    }
    assert metrics(record) == {
        "utilization": 0.5,
        "queue_ms.mean": 1.0,
        "queue_ms.p99": 2.0,
        "reverse.drop_rate": 0.1,
        "hops.gateway.drop_rate": 0.2,
        "share.tcp": 0.7,
        "rtt_ms.mean.tcp": 9.0,
        "jain": 0.9,
    }


def test_a_metric_missing_from_one_run_counts_the_others_only() -> None:
    link = {"bottleneck": {"utilization": 0.5}, "jain": 1.0}
    found = summarize([link | {"groups": {"web": {"fct_ms": {"mean": 3.0}}}}, link | {"groups": {"web": {}}}])
    assert found["fct_ms.mean.web"] == {"mean": None, "sd": None, "ci95": None, "n": 1}
