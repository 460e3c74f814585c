"""Low-rank factors beside the linear layers of a torch model while it learns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..embedding.update import Factors, layer_name

if TYPE_CHECKING:
    import torch
    from torch import nn


class LowRankLayers:
    """Puts trainable factors beside every linear layer of the encoder in `model`, whose own weights stay as they are.

    ``down`` begins with small random numbers and ``up`` with zeros, so that training begins with the model as it was
    (Hu et al. 2021, section 4.1).

    Args:
        model: changed in place until `detach` is called.
        rank: columns of ``up`` and rows of ``down``.
        scale: factor on their product.
        seed: of the random numbers.
    """

    def __init__(self, model: nn.Module, rank: int, scale: float, seed: int) -> None:
        import torch
        from torch import nn

        generator = torch.Generator().manual_seed(seed)
        self._scale = scale
        self._factors: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        self._hooks = []
        for parameter in model.parameters():
            parameter.requires_grad_(False)
        for name, layer in model.named_modules():
            if isinstance(layer, nn.Linear) and "encoder." in name:
                outputs, inputs = layer.weight.shape
                down = torch.randn(rank, inputs, generator=generator) / math.sqrt(inputs)
                up = torch.zeros(outputs, rank)
                self._factors[name] = (down.requires_grad_(), up.requires_grad_())
                self._hooks.append(layer.register_forward_hook(self._added(name)))

    def parameters(self) -> Iterator[torch.Tensor]:
        """The numbers that learn."""
        for factors in self._factors.values():
            yield from factors

    def export(self) -> dict[str, Factors]:
        """The factors in half precision, the scale divided among both."""
        root = math.sqrt(self._scale)
        return {
            layer_name(name): (
                (down.detach() * root).numpy().astype(np.float16),
                (up.detach() * root).numpy().astype(np.float16),
            )
            for name, (down, up) in self._factors.items()
        }

    def detach(self) -> None:
        """Takes the factors away: the model is as it was."""
        for hook in self._hooks:
            hook.remove()

    def _added(self, name: str):  # type: ignore[no-untyped-def] # torch's hooks are untyped
        from torch.nn.functional import linear

        def add(_layer: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> torch.Tensor:
            down, up = self._factors[name]
            return output + self._scale * linear(linear(inputs[0], down), up)

        return add
