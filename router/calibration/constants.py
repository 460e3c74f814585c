"""The fitted numbers of abstention, written by ``python benchmarks/fit_abstention.py --write``.

Training catalogs: acebench_en, bfcl_multiple, bfcl_parallel, bfcl_simple, seal_tools, toolalpaca.
Embedder: SentenceTransformerEmbedder('all-MiniLM-L6-v2', tuned).
"""

from __future__ import annotations

from .model import FitModel

GENERAL = FitModel(
    intercept=-5.5908,
    weights=(
        5.5462,  # meaning
        0.1582,  # standing
        0.4509,  # lead
        1.3945,  # words
        1.1320,  # covered
        0.2341,  # unknown
        0.0020,  # name
        0.2639,  # length
        -0.1192,  # missing
    ),
)
"""On all of `evidence.FEATURES`, in their order."""

ACROSS_LANGUAGES = FitModel(intercept=-2.7238, weights=(0.6309, 0.5968))
"""On `standing` and `lead` alone: for a request in another language than the descriptions, where words say nothing."""

THRESHOLD = 0.105
"""Probability below which none fits; it refuses 5% of the answerable requests of two catalogs that the default
embedder has not learned from."""
