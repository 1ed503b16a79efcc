"""
Transformed values: what a token hands to every head, before the attention weighs it.

A head adds to a query's output `Σ_j α_ij f(x_j)` with `f(x) = (x W_V + b_V) W_O`, where W_O is the head's rows of the
output projection. The values `x W_V + b_V` are read off the forward pass that gives the attention maps. Since weights
are not negative, `‖α f‖ = α ‖f‖`; and with `W_O = R^T Q^T` (Q of orthonormal columns) `‖v W_O‖ = ‖v R^T‖`, a vector no
longer than the head is wide. So neither the vectors f nor anything of the size tokens × tokens × width is ever made.
Source: Kobayashi et al. 2020, "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms", section 2.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import nn

from headscope.errors import InputError
from headscope.models.loaded import LoadedModel
from headscope.norms.architectures import ARCHITECTURES, Projections, why_not

LAW_TOLERANCE = 1e-4  # of the largest value of the layer's output
LAW_ROUNDINGS = 16  # steps of a coarser dtype that the output may be off by


class HeadOutput:
    """The output projection of a layer, head by head: `weights` (head, head width, width), and `bias` or None."""

    def __init__(self, linear: nn.Linear, heads: int):
        self.weights = linear.weight.detach().T.reshape(heads, -1, linear.weight.shape[0]).float()
        self.bias = linear.bias.detach().float() if linear.bias is not None else None
        triangles = torch.linalg.qr(self.weights.cpu().double().mT, mode="r").R
        self._roots = triangles.mT.float().to(self.weights.device)

    def norms(self, values: torch.Tensor) -> torch.Tensor:
        """Return `‖f(x)‖` of values (example, head, token, head width): float32 (example, head, token)."""
        return torch.linalg.vector_norm(values.float() @ self._roots, dim=-1)

    def attended(self, weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """Return the sum over heads and keys of `α f(x)`, plus the bias: float32 (example, query, width)."""
        heads = (weights.float() @ values.float()) @ self.weights  # (example, head, query, width)
        return heads.sum(1) if self.bias is None else heads.sum(1) + self.bias


class Seen(NamedTuple):
    """What one layer did: its maps, its values (example, head, token, head width), its output before the residual."""

    maps: torch.Tensor
    values: torch.Tensor
    output: torch.Tensor
    projection: HeadOutput


class Watch:
    """The values and outputs of the last forward pass, a layer at a time in the order of execution; see `watching`."""

    def __init__(self, heads: int, parts: int):
        self._heads = heads
        self._parts = parts
        self._values: list[tuple[torch.Tensor, HeadOutput]] = []
        self._outputs: list[torch.Tensor] = []

    def see_values(self, projected: torch.Tensor, projection: HeadOutput):
        """Keep what a value projection returned, (example, token, parts × heads × head width)."""
        self._values.append((projected, projection))

    def see_output(self, output: torch.Tensor):
        """Keep what an output projection returned."""
        self._outputs.append(output)

    def forget(self):
        """Forget a forward pass that did not come to its end."""
        self._values, self._outputs = [], []

    def take(self, maps: tuple[torch.Tensor, ...]) -> list[Seen]:
        """
        Return what was seen since the last call, with the maps of the same forward pass.

        Raises
        ------
        InputError
            If not every map has its values and its output.
        """
        (values, outputs), self._values, self._outputs = (self._values, self._outputs), [], []
        if not len(maps) == len(values) == len(outputs):
            raise InputError(
                f"norms: expected values and an output for each of {len(maps)} layers of attention, found "
                f"{len(values)} and {len(outputs)}; its modules are not those that headscope.norms.architectures names"
            )
        return [
            Seen(layer, self._by_head(projected, projection), output, projection)
            for layer, (projected, projection), output in zip(maps, values, outputs, strict=True)
        ]

    def _by_head(self, projected, projection) -> torch.Tensor:
        values = projected.chunk(self._parts, dim=-1)[-1]
        values = values.unflatten(-1, (-1, projection.weights.shape[1])).transpose(1, 2)
        return values.repeat_interleave(self._heads // values.shape[1], dim=1)  # where heads share their values


@contextmanager
def watching(model: LoadedModel, heads: int) -> Iterator[Watch]:
    """
    Yield a `Watch` of the forward passes that are run inside.

    Parameters
    ----------
    heads
        Of each layer.

    Raises
    ------
    InputError
        If the architecture is not one of `ARCHITECTURES`.
    """
    reason = why_not(type(model.network).__name__)
    if reason:
        raise InputError(reason)
    paths = ARCHITECTURES[type(model.network).__name__]
    watch = Watch(heads, paths.parts)
    hooks = []
    for values, output in projections(model.network, paths):
        projection = HeadOutput(output, heads)
        hooks += [
            values.register_forward_hook(lambda _, __, found, of=projection: watch.see_values(found, of)),
            output.register_forward_hook(lambda _, __, found: watch.see_output(found)),
        ]
    try:
        yield watch
    finally:
        for hook in hooks:
            hook.remove()


def projections(network: nn.Module, paths: Projections) -> Iterator[tuple[nn.Module, nn.Linear]]:
    """Yield the value and output projection of each layer; once where layers share them."""
    modules = dict(network.named_modules())
    pattern = re.compile(re.escape(paths.values).replace(r"\*", r"(\d+)"))
    for name, module in modules.items():
        found = pattern.fullmatch(name)
        if found:
            yield module, modules[paths.output.replace("*", "{}").format(*found.groups())]


def check_law(layers: list[Seen]):
    """
    Refuse a network in which the transformed values do not add up to what its attention returns.

    On the first example, the sum over heads and keys of `α f(x)` plus the output's bias must be the layer's real output
    before residual and layer norm, within `LAW_TOLERANCE` or, in a lower precision, within its rounding.

    Raises
    ------
    InputError
        If it is not, with the layer.
    """
    for number, (maps, values, output, projection) in enumerate(layers, start=1):
        real = output[:1].float()
        error = (projection.attended(maps[:1], values[:1]) - real).abs().amax() / real.abs().amax()
        if error > max(LAW_TOLERANCE, LAW_ROUNDINGS * torch.finfo(output.dtype).eps):
            raise InputError(
                f"norms, layer {number}: expected the transformed values of all heads to add up to the layer's "
                f"attention output, found them off by {float(error):.2g} of its largest value; this checkpoint changes "
                "its values on the way (rotates or gates them), so its norms cannot be computed: ask for other targets"
            )
