"""From a loaded sentence-transformers model to an ONNX file that onnxruntime runs as it is; needs torch and onnx."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...catalog.errors import EmbedderError, MissingExtraError
from .onnx_cache import MODEL, TOKENIZER, Export, seal
from .onnx_runner import Runner
from .protocol import TextKind
from .sentence_transformer import SentenceTransformerEmbedder

OPSET = 17

SMALLEST_COSINE = {"fp32": 0.999, "int8": 0.9}
"""Below this mean cosine to the source an export is refused. fp32 is the same arithmetic in another order: 0.9999999
was seen with MiniLM. For int8 the bound only tells a broken export from a rounded one."""

PROBES = (
    "",
    "refund",
    "what is the weather in Oslo tomorrow",
    "北京 weather, naïve café №5 🙂",
    "search code: Finds files whose content matches a regular expression. Parameters: path, pattern, max results.",
    "Transfers an amount of money between two accounts of the same customer and returns a receipt. " * 30,
)
"""Texts of several lengths, one longer than any model reads, to compare the export with its source."""


def write_export(source: SentenceTransformerEmbedder, precision: Literal["fp32", "int8"], folder: Path) -> None:
    """Exports the model behind `source` into `folder`, which exists and is empty.

    Raises:
        EmbedderError: the model cannot be loaded or traced, or the export does not give the source's vectors.
        MissingExtraError: onnx is not installed.
    """
    try:
        import onnx  # noqa: F401 - torch writes the file with it
    except ImportError as error:
        raise MissingExtraError("exporting a model to ONNX", "onnx") from error
    model = source.loaded()
    traced, rounded = folder / "traced.onnx", folder / "rounded.onnx"
    try:
        _trace(model, traced)
        if precision == "int8":
            _round(traced, rounded)
        _optimize(rounded if precision == "int8" else traced, folder / MODEL)
        traced.unlink()
        rounded.unlink(missing_ok=True)
        tokenizer = model.tokenizer
        tokenizer.backend_tokenizer.save(str(folder / TOKENIZER))
        described: dict[str, Any] = {
            "dimension": source.dimension,
            "max_tokens": int(model.max_seq_length),
            "padding": int(tokenizer.pad_token_id),
            "prefixes": {kind: source.prefix(kind) for kind in ("query", "tool")},
        }
    except EmbedderError:
        raise
    except Exception as error:
        raise EmbedderError(f"{source!r} cannot be exported to ONNX: {error}") from error
    cosine = _mean_cosine(source, Export(folder, **described))
    if cosine < SMALLEST_COSINE[precision]:
        raise EmbedderError(
            f"the ONNX export of {source!r} in {precision} gives other vectors than its source (mean cosine "
            f"{cosine:.4f}, at least {SMALLEST_COSINE[precision]} is needed): use the source itself"
        )
    seal(folder, {**described, "source": repr(source), "precision": precision, "mean_cosine": round(cosine, 7)})


def _trace(model: Any, path: Path) -> None:
    """Writes the model from word pieces to unit vectors as a graph, with free batch size and length."""
    import torch

    class Traced(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            vectors = self.model({"input_ids": ids, "attention_mask": mask})["sentence_embedding"]
            return torch.nn.functional.normalize(vectors, dim=1)

    transformer = getattr(model[0], "auto_model", None) or model[0].model
    attention = transformer.config._attn_implementation
    device = model.device
    ids = torch.tensor([[101, 2000, 102, 0], [101, 102, 0, 0], [101, 500, 200, 102]], device=device)
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]], device=device)
    free = {0: "texts", 1: "pieces"}
    training, exporter = model.training, logging.getLogger("torch.onnx")
    level = exporter.level
    exporter.setLevel(logging.ERROR)
    try:
        transformer.set_attn_implementation("eager")  # written out, so that onnxruntime finds and fuses it
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the exporter's deprecation, and branches that tracing fixes: both checked
            torch.onnx.export(
                Traced().eval(),
                (ids, mask),
                str(path),
                input_names=["ids", "mask"],
                output_names=["vectors"],
                dynamic_axes={"ids": free, "mask": free, "vectors": {0: "texts"}},
                opset_version=OPSET,
                dynamo=False,
            )
    finally:
        transformer.set_attn_implementation(attention)
        model.train(training)
        exporter.setLevel(level)


def _optimize(traced: Path, path: Path) -> None:
    """Writes the graph as onnxruntime would run it, fused, so that loading it later costs no thought."""
    import onnxruntime

    options: Any = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(str(traced), options, providers=["CPUExecutionProvider"])


def _round(exact: Path, path: Path) -> None:
    """Rounds the weights of the matrix products to 8 bits; activations are rounded at run time.

    A scale per channel, and before the graph is fused: on 100 tool descriptions of bfcl_simple (training data) MiniLM's
    mean cosine to the exact vectors was 0.994 so, 0.984 with one scale per matrix, 0.993 with 7 bits (`reduce_range`).
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)  # it advises to preprocess the graph, which changed nothing here
    try:
        quantize_dynamic(exact, path, weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=["MatMul"])
    finally:
        root.setLevel(level)


def _mean_cosine(source: SentenceTransformerEmbedder, export: Export) -> float:
    runner = Runner(export, None)
    kinds: tuple[TextKind, ...] = ("query", "tool")
    cosines = [
        (runner.embed(texts, kind) * source.embed(texts, kind)).sum(axis=1).mean()
        for kind in kinds
        for texts in (PROBES, PROBES[:1], PROBES[2:3])  # padded, and alone
    ]
    return float(np.mean(cosines))
