"""The fitted numbers of abstention. Written by ``python benchmarks/fit_abstention.py --write``; not edited by hand.

Training catalogs: acebench_en, bfcl_multiple, bfcl_parallel, bfcl_simple, seal_tools, toolalpaca.
Embedder: SentenceTransformerEmbedder (all-MiniLM-L6-v2), 150 requests per catalog.
"""

from __future__ import annotations

from .model import FitModel

GENERAL = FitModel(
    intercept=-3.5208,
    weights=(
        1.3923,  # meaning
        0.1337,  # standing
        0.3243,  # lead
        1.7097,  # words
        1.7934,  # covered
        0.0682,  # unknown
        0.9867,  # name
        0.2102,  # length
        -0.1621,  # missing
    ),
)
"""On all of `evidence.FEATURES`, in their order."""

ACROSS_LANGUAGES = FitModel(intercept=-1.8403, weights=(0.5455, 0.4621))
"""On `standing` and `lead` alone: for a request in another language than the descriptions, where words say nothing."""

THRESHOLD = 0.23
"""Probability below which none fits: refuses 5% of the answerable requests of catalogs that it was not fitted on."""
