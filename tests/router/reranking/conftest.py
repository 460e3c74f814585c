"""A cross-encoder small enough to be made on the fly: random weights, a vocabulary of a few words, no network."""

from collections.abc import Callable
from pathlib import Path

import pytest
from toolpath.catalog import Tool
from toolpath.router import Candidate

WORDS = ["send", "email", "weather", "forecast", "city", "disk", "server", "refund", "order", "find", "the", "for"]


def make_cross_encoder(folder: Path, labels: int = 1) -> Path:
    """Saves a BERT of one layer and 16 numbers per word that reads 64 word pieces."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    letters = [letter for char in "abcdefghijklmnopqrstuvwxyz0123456789:.,_" for letter in (char, f"##{char}")]
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *letters]), "utf-8")
    tokenizer = BertTokenizerFast(vocab=str(vocabulary), model_max_length=64)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        num_labels=labels,
    )
    torch.manual_seed(5)
    model = BertForSequenceClassification(config)
    torch.nn.init.normal_(model.classifier.weight, std=1.0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


@pytest.fixture
def found() -> Callable[..., list[Candidate]]:
    """Candidates with the given names and falling scores; those in `named` are named by the request."""

    def make(*names: str, named: tuple[str, ...] = ()) -> list[Candidate]:
        return [
            Candidate(
                Tool(name=name, description=f"The tool for {name.replace('_', ' ')}."),
                10.0 - place,
                {"exact": 1.0} if name in named else {"lexical": 10.0 - place},
            )
            for place, name in enumerate(names)
        ]

    return make
