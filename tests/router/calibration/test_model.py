"""Logistic regression, the adjustment of probabilities, and the reliability table."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolpath.router.calibration import (
    Adjustment,
    FitModel,
    expected_calibration_error,
    fit_adjustment,
    fit_model,
    reliability,
)

probabilities = st.floats(0.001, 0.999)


def test_known_weights_are_recovered() -> None:
    random = np.random.default_rng(0)
    rows = random.normal(5, [1, 10, 1], (4000, 3))
    truth = FitModel(-4.0, (1.0, -0.1, 0.0))
    fits = [bool(random.random() < truth.probability(row)) for row in rows]
    found = fit_model(rows, fits)
    assert np.allclose(found.weights, truth.weights, atol=0.1) and abs(found.intercept + 4) < 0.7


def test_rows_can_count_more_than_others() -> None:
    rows = np.zeros((4, 1))
    found = fit_model(rows, [True, False, False, False], [9, 1, 1, 1])
    assert found.probability([0.0]) == pytest.approx(0.75)


def test_a_value_that_never_varies_gets_no_weight() -> None:
    rows = np.array([[1.0, 7.0], [2.0, 7.0], [3.0, 7.0], [4.0, 7.0]])
    assert fit_model(rows, [False, True, False, True]).weights[1] == 0


def test_rows_that_a_line_divides_do_not_run_away() -> None:
    found = fit_model(np.array([[0.0], [1.0], [10.0], [11.0]]), [False, False, True, True])
    assert math.isfinite(found.intercept) and 0.5 < found.probability([11.0]) < 1


def test_fitting_needs_both_kinds_of_requests() -> None:
    with pytest.raises(ValueError, match="that none does"):
        fit_model(np.zeros((2, 1)), [True, True])
    with pytest.raises(ValueError, match="3 rows came with 1 labels"):
        fit_model(np.zeros((3, 1)), [True])


@given(probabilities, probabilities, st.floats(-3, 3), st.floats(0.1, 3))
def test_an_adjustment_keeps_the_order(low: float, high: float, shift: float, slope: float) -> None:
    adjust = Adjustment(shift, slope)
    assert (low <= high) == (adjust(low) <= adjust(high)) or math.isclose(low, high, rel_tol=1e-9)


@given(probabilities, st.floats(-2, 2), st.floats(0.5, 2))
def test_adjustments_join_to_one(probability: float, shift: float, slope: float) -> None:
    first, second = Adjustment(shift, slope), Adjustment(0.5, 0.8)
    assert second.after(first)(probability) == pytest.approx(second(first(probability)), abs=1e-6)


def test_no_adjustment_changes_nothing() -> None:
    assert Adjustment()(0.3) == pytest.approx(0.3)


@pytest.mark.parametrize("slope", [0.0, -1.0, math.nan])
def test_an_adjustment_that_would_turn_the_order_round_is_refused(slope: float) -> None:
    with pytest.raises(ValueError, match="slope above 0"):
        Adjustment(0.0, slope)


def test_overconfident_probabilities_are_mended() -> None:
    stated = [0.9] * 100 + [0.1] * 100
    fits = [place % 10 < 6 for place in range(100)] + [place % 10 < 4 for place in range(100)]
    adjust = fit_adjustment(stated, fits)
    assert adjust(0.9) == pytest.approx(0.6, abs=0.03) and adjust(0.1) == pytest.approx(0.4, abs=0.03)


def test_probabilities_that_say_nothing_become_the_mean() -> None:
    adjust = fit_adjustment([0.1, 0.9] * 50, [True, False] * 25 + [True, False, True, True] * 12 + [True, True])
    assert 0.5 <= adjust(0.1) <= adjust(0.9) <= 0.75


def test_honest_probabilities_have_no_calibration_error() -> None:
    table = reliability([0.25] * 4 + [0.75] * 4, [True, False, False, False, True, True, True, False])
    assert [(row.low, row.count, row.stated, row.observed) for row in table] == [
        (0.2, 4, 0.25, 0.25),
        (0.7, 4, 0.75, 0.75),
    ]
    assert expected_calibration_error(table) == 0


def test_the_calibration_error_weighs_bins_by_their_requests() -> None:
    table = reliability([0.05, 0.95, 0.95, 0.95], [True, True, True, True])
    assert expected_calibration_error(table) == pytest.approx((0.95 + 3 * 0.05) / 4)
    assert expected_calibration_error(()) is None


def test_zero_and_one_have_bins() -> None:
    assert [(row.low, row.high) for row in reliability([0.0, 1.0], [False, True])] == [(0.0, 0.1), (0.9, 1.0)]


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        reliability([1.2], [True])
