"""A low-rank update of an embedding model's weights: a few MB that turn a general model into one for tools.

Every linear layer ``W`` becomes ``W + up @ down`` (Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language
Models"); the sum is made once, when the model is loaded, so an updated model costs no more than the plain one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...catalog.errors import EmbedderError

if TYPE_CHECKING:
    from torch import nn

KIND = "toolpath low-rank update"
FORMAT = "1"

Factors = tuple[npt.NDArray[np.float16], npt.NDArray[np.float16]]
"""``down`` of shape ``(rank, inputs)`` and ``up`` of shape ``(outputs, rank)``."""


@dataclass(frozen=True)
class LowRankUpdate:
    """Factors for the linear layers of one model.

    Attributes:
        base: hex SHA-256 of the weights that the update belongs to; it fits no others.
        factors: name of a linear layer to its factors.
        about: what a reader should know (data, seed, figures), as text by name.
    """

    base: str
    factors: Mapping[str, Factors]
    about: Mapping[str, str] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Hex digest (128 bits) of base and factors: of all that decides the vectors."""
        digest = hashlib.sha256(self.base.encode())
        for name in sorted(self.factors):
            digest.update(name.encode())
            for factor in self.factors[name]:
                digest.update(np.ascontiguousarray(factor, np.float16).tobytes())
        return digest.hexdigest()[:32]

    def merge_into(self, model: nn.Module, base: str) -> None:
        """Adds the update to the weights of `model`, in place.

        Args:
            model: a torch module that has all the layers of the update, by their names.
            base: hex SHA-256 of the weights that `model` was loaded from.

        Raises:
            EmbedderError: the update was made for other weights, or names layers that the model has not got.
        """
        if base != self.base:
            raise EmbedderError(
                f"the low-rank update was made for weights with SHA-256 {self.base[:12]}…, the model's are {base[:12]}…"
            )
        import torch

        layers = {layer_name(name): layer for name, layer in model.named_modules()}
        with torch.no_grad():
            for name, (down, up) in self.factors.items():
                weight = getattr(layers.get(layer_name(name)), "weight", None)
                if weight is None or tuple(weight.shape) != (up.shape[0], down.shape[1]):
                    raise EmbedderError(f"the low-rank update does not fit the model: no layer {name!r} of its shape")
                weight += torch.from_numpy(up.astype(np.float32) @ down.astype(np.float32)).to(weight)

    @classmethod
    def mean(cls, updates: Sequence[LowRankUpdate], about: Mapping[str, str] | None = None) -> LowRankUpdate:
        """The average of several updates of the same weights, of the sum of their ranks.

        Models that were tuned apart from the same weights average into one that is at least as good as the typical
        one of them and steadier on data of other kinds (Wortsman et al. 2022, "Model soups").

        Raises:
            ValueError: there are none, or they belong to different weights or layers.
        """
        if not updates or any(
            each.base != updates[0].base or each.factors.keys() != updates[0].factors.keys() for each in updates
        ):
            raise ValueError("a mean needs updates of the same layers of the same weights")
        share = np.float16(1 / len(updates))
        return cls(
            updates[0].base,
            {
                name: (
                    np.concatenate([each.factors[name][0] for each in updates], axis=0),
                    np.concatenate([each.factors[name][1] * share for each in updates], axis=1),
                )
                for name in updates[0].factors
            },
            about or {},
        )

    def then(self, other: LowRankUpdate, about: Mapping[str, str] | None = None) -> LowRankUpdate:
        """This update and `other`, which was learned on top of it, as one for the same plain weights.

        Raises:
            ValueError: they belong to different weights.
        """
        if self.base != other.base:
            raise ValueError("both updates must belong to the same weights")
        factors = dict(self.factors)
        for name, (down, up) in other.factors.items():
            mine = factors.get(name)
            factors[name] = (
                (down, up)
                if mine is None
                else (np.concatenate([mine[0], down], axis=0), np.concatenate([mine[1], up], axis=1))
            )
        return LowRankUpdate(self.base, factors, about or {})

    def save(self, path: str | Path) -> None:
        """Writes a safetensors file in half precision.

        Raises:
            OSError: the file cannot be written.
        """
        from safetensors.numpy import save

        tensors: dict[str, npt.NDArray[Any]] = {}
        for name, (down, up) in sorted(self.factors.items()):
            tensors[f"{name}.down"], tensors[f"{name}.up"] = down.astype(np.float16), up.astype(np.float16)
        about = json.dumps(dict(self.about), ensure_ascii=True, sort_keys=True)
        data = save(tensors, {"kind": KIND, "format": FORMAT, "base": self.base, "about": about})
        aside = Path(path).with_name(Path(path).name + ".tmp")
        aside.write_bytes(data)
        aside.replace(path)

    @classmethod
    def load(cls, path: str | Path) -> LowRankUpdate:
        """Reads what `save` wrote.

        Raises:
            EmbedderError: the file is missing, damaged, or something else.
        """
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                notes = file.metadata() or {}
                if notes.get("kind") != KIND or notes.get("format") != FORMAT:
                    raise EmbedderError(f"{path} holds no low-rank update that this version reads")
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
            names = sorted({name.rpartition(".")[0] for name in tensors})
            factors = {name: (tensors[f"{name}.down"], tensors[f"{name}.up"]) for name in names}
            return cls(notes["base"], factors, json.loads(notes["about"]))
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise EmbedderError(f"{path} cannot be read as a low-rank update: {error}") from error


def layer_name(name: str) -> str:
    """A layer's name inside the transformer, without what wraps it: that differs between library versions."""
    _, found, inner = name.partition("encoder.")
    return found + inner if found else name
