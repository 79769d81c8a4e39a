"""Statistics: worked numbers, laws, printed tables, and scipy where it is as good."""

import math
import statistics
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.data.metrics import values as metrics
from sojourn.data.statistics import (
    bootstrap,
    jain,
    line,
    paired,
    quantiles,
    states,
    statistic,
    student_quantile,
    summarize,
)

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


@pytest.mark.parametrize("degrees", [1, 1.5, 2, 3, 4, 7.3, 9, 29, 99, 599, 999.9, 1000, 1e5, 1e7])
def test_student_quantiles_are_those_of_scipy(degrees: float) -> None:
    from scipy.special import stdtrit

    for probability in (1e-6, 0.025, 0.3, 0.6, 0.74, 0.76, 0.9, 0.95, 0.975, 0.995, 0.9995):
        assert student_quantile(probability, degrees) == pytest.approx(stdtrit(degrees, probability), rel=1e-10, abs=0)


def test_the_quantile_of_one_and_two_degrees_of_freedom_has_a_closed_form() -> None:
    for probability in (0.5001, 0.6, 0.75, 0.975, 0.9999999):
        assert student_quantile(probability, 1) == pytest.approx(math.tan(math.pi * (probability - 0.5)), rel=1e-8)
        p = probability
        assert student_quantile(p, 2) == pytest.approx((2 * p - 1) / math.sqrt(2 * p * (1 - p)), rel=1e-8)
    assert student_quantile(0.5, 7) == 0
    assert student_quantile(0.25, 7) == -student_quantile(0.75, 7)


def test_the_median_has_no_sign_and_a_probability_of_one_no_quantile() -> None:
    for probability, degrees in ((0.0, 3), (1.0, 3), (0.5, 0), (math.nan, 3)):
        with pytest.raises(ValueError, match="no quantile"):
            student_quantile(probability, degrees)


def test_an_interval_costs_no_import_of_scipy() -> None:
    program = (
        "import sys; from sojourn.data.statistics import statistic; assert statistic([1.0, 2.0])['ci95']; "
        "sys.exit('scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_differences_are_taken_between_runs_of_the_same_seed() -> None:
    # Common to both is what the seed draws; the difference hardly varies while both values do.
    one = {1: 10.1, 2: 20.0, 3: 30.2, 9: 5.0}
    other = {1: 9.0, 2: 19.0, 3: 29.0, 8: 7.0}
    found = paired(one, other)
    assert (found["n"], found["mean"]) == (3, pytest.approx(1.1))
    assert found["sd"] == pytest.approx(0.1)
    assert paired(one, {1: None, 2: 1.0}) == {"mean": None, "sd": None, "ci95": None, "n": 1}
    assert paired(one, {}) == {"mean": None, "sd": None, "ci95": None, "n": 0}


def test_a_quantile_is_given_where_a_run_lies_beyond_it() -> None:
    known = {count: list(quantiles([float(one) for one in range(count)])) for count in (1, 2, 9, 10, 20, 100, 1000)}
    assert known[1] == []
    assert known[2] == known[9] == ["p50"]
    assert known[10] == ["p10", "p50", "p90"]
    assert known[20] == ["p10", "p50", "p90", "p95"]
    assert known[100][-1] == "p99"
    assert known[1000][-1] == "p999"


@given(st.lists(finite, min_size=10, max_size=60))
def test_quantiles_are_those_of_numpy(values: list[float]) -> None:
    import numpy as np

    for name, value in quantiles(values).items():
        part = {"p10": 0.1, "p50": 0.5, "p90": 0.9, "p95": 0.95}[name]
        assert value == pytest.approx(np.quantile(values, part), rel=1e-9, abs=1e-6)


def test_one_rule_for_what_is_missing() -> None:
    assert line("rtt_ms_mean", [None, None]) == {"metric": "rtt_ms_mean", "unit": "ms", "n": 0, "missing": 2}
    assert line("share", [0.5, None]) == {"metric": "share", "unit": "0 to 1", "n": 1, "missing": 1}
    assert line("share", []) == {"metric": "share", "unit": "0 to 1", "n": 0}
    assert statistic([0.5, None])["mean"] is None


@given(st.lists(st.just(0.0) | st.floats(1e-6, 1e6), min_size=2, max_size=30))
def test_laws(values: list[float]) -> None:
    found = line("x", values)
    assert found["ci95_low"] <= found["mean"] <= found["ci95_high"]
    assert min(values) <= found["p50"] <= max(values)
    fairness = jain(values)
    assert fairness is None or 1 / len(values) <= fairness * (1 + 1e-9) <= 1 + 1e-6
    assert found.get("jain") == fairness


def test_the_bootstrap_repeats_and_holds_the_mean() -> None:
    values = [0.1, 0.4, 0.35, 0.8, 0.15, 0.6]
    found = line("x", values, resamples=500)
    assert found == line("x", values, resamples=500)
    assert found["bootstrap_low"] < found["mean"] < found["bootstrap_high"]
    assert bootstrap([2.0, 2.0], 500) == (2.0, 2.0)


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
        "jain_all": 0.9,
    }
    assert metrics(record) == {
        "bottleneck_utilization": 0.5,
        "bottleneck_queue_ms_mean": 1.0,
        "bottleneck_queue_ms_p99": 2.0,
        "reverse_drop_rate": 0.1,
        "hops_gateway_drop_rate": 0.2,
        "share.tcp": 0.7,
        "rtt_ms_mean.tcp": 9.0,
        "jain_all": 0.9,
    }


def test_a_metric_missing_from_one_run_counts_the_others_only() -> None:
    link = {"bottleneck": {"utilization": 0.5}, "jain_all": 1.0}
    found = summarize([link | {"groups": {"web": {"fct_ms": {"mean": 3.0}}}}, link | {"groups": {"web": {}}}])
    assert found["fct_ms_mean.web"] == {"mean": None, "sd": None, "ci95": None, "n": 1}


LAWS = {
    "normal": lambda random, shape: random.normal(size=shape),
    "uniform": lambda random, shape: random.uniform(size=shape),
    "exponential": lambda random, shape: random.exponential(size=shape),
    "log-normal": lambda random, shape: random.lognormal(0, 1, size=shape),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n", "most"), [(6, 0.005), (8, 0.005), (10, 0.005), (30, 0.001)])
def test_values_of_one_law_are_hardly_ever_called_two_states(law: str, n: int, most: float) -> None:
    samples = LAWS[law](np.random.default_rng(1), (20_000, n))
    assert np.mean([states(sample) is not None for sample in samples.tolist()]) < most


@pytest.mark.parametrize("n", [6, 8, 10, 20])
def test_two_states_apart_are_seen(n: int) -> None:
    # 25 standard deviations apart, and more with few values.
    random = np.random.default_rng(2)
    apart = {6: 50, 8: 40}.get(n, 25)
    seen = 0
    for _ in range(500):
        values = np.concatenate([random.normal(100, 1, n // 2), random.normal(100 + apart, 1, n - n // 2)])
        found = states(values.tolist())
        seen += found is not None and found.low == n // 2
    assert seen > 450


def test_counts_and_single_outliers_are_no_states() -> None:
    assert states([0, 0, 0, 1, 1, 1, 0, 0, 1, 1]) is None
    assert states([0.0, 0.0, 0.0, 1e-4, 1e-4, 1e-4]) is None
    assert states([1.0, 1.1, 1.2, 1.3, 1.4, 9.0, 9.1]) is None, "two of seven"
    assert states([1.0, 1.1, 1.2, 9.0, 9.1]) is None, "five"
    assert states([0.9990, 0.9991, 0.9990, 0.9999, 0.9998, 0.9999]) is None, "the difference does not matter"


def test_a_line_says_where_its_runs_lie() -> None:
    found = line("goodput_mbps", [0.4, 3.4, 0.41, 3.5, 0.39, 3.45])
    assert (found["low_n"], found["high_n"]) == (3, 3)
    assert found["low_mean"] == pytest.approx(0.4)
    assert "low_n" not in line("goodput_mbps", [0.4, 0.42, 0.41, 0.45, 0.39, 0.43])
