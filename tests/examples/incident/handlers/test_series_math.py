"""The arithmetic: against NumPy, by properties, and at its edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.incident.handlers.series_math import aggregate, best_lag, outliers, percentile

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50)


@given(NUMBERS, st.floats(0, 100))
def test_percentiles_are_those_of_numpy(values: list[float], percent: float) -> None:
    assert percentile(values, percent) == pytest.approx(float(np.percentile(values, percent)), abs=1e-6)


@given(NUMBERS)
def test_aggregations_keep_their_order(values: list[float]) -> None:
    ordered = [aggregate(values, how) for how in ("min", "p50", "p90", "p95", "p99", "max")]
    assert ordered == sorted(ordered)
    assert aggregate(values, "count") == len(values)
    assert aggregate(values, "sum") == pytest.approx(sum(values), abs=1e-3)


@pytest.mark.parametrize("how", ["median", "p101", "p", "pxx", ""])
def test_an_unknown_aggregation_is_refused(how: str) -> None:
    with pytest.raises(ValueError, match="unknown aggregation"):
        aggregate([1.0], how)


def test_a_step_is_one_outlier_until_the_old_level_is_back() -> None:
    values = [10.0, 11.0] * 10 + [50.0, 60.0, 40.0] + [10.0, 11.0] * 3
    (run,) = outliers(values, history=20, threshold=4)
    assert (run.first, run.last, run.worst) == (20, 22, 21)


def test_a_drop_has_a_negative_score_and_may_last_to_the_end() -> None:
    (run,) = outliers([10.0, 11.0] * 5 + [0.0, 0.0], history=10, threshold=4)
    assert run.z < -4
    assert (run.first, run.last) == (10, 11)


def test_a_flat_history_does_not_make_a_ripple_abnormal() -> None:
    assert list(outliers([100.0] * 30 + [101.0], history=30, threshold=4)) == []
    assert len(list(outliers([100.0] * 30 + [103.0], history=30, threshold=4))) == 1


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 900.0, 1.0]])
def test_points_without_a_full_history_are_not_judged(values: list[float]) -> None:
    assert list(outliers(values, history=5, threshold=1)) == []


@pytest.mark.parametrize("lag", [-4, 0, 3])
def test_the_lag_is_found(lag: int) -> None:
    rng = np.random.default_rng(1)
    long = rng.normal(size=80).tolist()
    first, second = long[10:70], long[10 - lag : 70 - lag]
    found, fit = best_lag(first, second, 6)
    assert found == lag
    assert fit == pytest.approx(1.0)


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0, 2.0], [2.0, 1.0]), ([1.0] * 9, [1.0, 2.0, 3.0] * 3)])
def test_too_little_to_correlate_is_refused(first: list[float], second: list[float]) -> None:
    with pytest.raises(ValueError, match="correlates with nothing"):
        best_lag(first, second, 2)
