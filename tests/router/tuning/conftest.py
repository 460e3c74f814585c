"""A real sentence-transformers model, small enough to learn in a moment."""

from pathlib import Path
from typing import Any

import pytest

WORDS = "refund order money back weather city rain parcel track mail send tool one two please now".split()  # noqa: SIM905


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One layer, 16 numbers, a vocabulary of some words; random weights."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder: Path = tmp_path_factory.mktemp("tiny")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    BertModel(config).save_pretrained(folder)
    transformer = Transformer(str(folder), max_seq_length=16)
    return SentenceTransformer(modules=[transformer, Pooling(16)], device="cpu")
