"""How likely it is that some tool serves a request: evidence, a yardstick per catalog, a calibrated probability."""

from .evidence import FitEvidence, fit_evidence
from .model import Adjustment, FitModel, fit_adjustment, fit_model
from .records import Yardstick
from .reliability import Bin, expected_calibration_error, reliability, reliability_dict
from .yardstick import CatalogYardsticks, fit_yardsticks, own_words, reach

__all__ = [
    "Adjustment",
    "Bin",
    "CatalogYardsticks",
    "FitEvidence",
    "FitModel",
    "Yardstick",
    "expected_calibration_error",
    "fit_adjustment",
    "fit_evidence",
    "fit_model",
    "fit_yardsticks",
    "own_words",
    "reach",
    "reliability",
    "reliability_dict",
]
