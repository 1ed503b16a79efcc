"""
Random weights that are the same on every processor.

The numbers that PyTorch draws on a CPU depend on its instruction set: a seed gives other weights with AVX-512 than
without. Here PyTorch decides what is drawn (the architecture's own initialisation), and NumPy's PCG64 and ziggurat
draw it, in float64, which is then rounded to the precision of the weights.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

PIECE = 1 << 20  # numbers drawn at once: the float64 ones are eight bytes each

Draw = Callable[[np.random.Generator, int], np.ndarray]


class RandomWeights(TorchDispatchMode):
    """
    A context in which PyTorch's random operations of this thread take their numbers from a seed.

    PyTorch's own random state is neither read nor changed. What is drawn is the same everywhere; what an architecture
    computes from it may not be: an orthogonal initialisation is LAPACK's, Mamba's steps are exponentials.

    Parameters
    ----------
    seed
        One or more whole numbers; of other numbers, other and independent weights.

    Raises
    ------
    NotImplementedError
        In the context, at a random operation other than those of `FILLED` and `MADE`.
    """

    def __init__(self, *seed: int):
        super().__init__()
        self._generator = np.random.default_rng(seed)

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        """Draw in the place of a random operation; run any other."""
        kwargs = kwargs or {}
        if operation in FILLED:
            return self._fill(args[0], FILLED[operation](*args[1:]))
        if operation in MADE:
            shape, draw = MADE[operation](*args)
            kwargs.pop("generator", None)
            return self._fill(torch.empty(shape, **kwargs), draw)
        if torch.Tag.nondeterministic_seeded in operation.tags:
            raise NotImplementedError(
                f"weights at random: expected an initialisation by normal or uniform numbers, found {operation}"
            )
        return operation(*args, **kwargs)

    def _fill(self, tensor: torch.Tensor, draw: Draw) -> torch.Tensor:
        drawn = torch.empty(tensor.shape, dtype=tensor.dtype)
        for piece in drawn.view(-1).split(PIECE):
            piece.copy_(torch.from_numpy(draw(self._generator, len(piece)).astype(_exact(tensor.dtype))))
        return tensor.copy_(drawn)


def _exact(dtype: torch.dtype) -> type:
    """The NumPy type from which PyTorch rounds to this one in a single way."""
    return np.float64 if dtype == torch.float64 else np.float32


def _normal(mean: float = 0.0, deviation: float = 1.0) -> Draw:
    return lambda generator, count: generator.standard_normal(count) * deviation + mean


def _uniform(low: float = 0.0, high: float = 1.0) -> Draw:
    return lambda generator, count: generator.random(count) * (high - low) + low


FILLED = {
    torch.ops.aten.normal_.default: _normal,
    torch.ops.aten.uniform_.default: _uniform,
}
"""Operations that fill a tensor: the draw of their arguments after the tensor."""

MADE = {
    torch.ops.aten.randn.default: lambda shape: (shape, _normal()),
    torch.ops.aten.rand.default: lambda shape: (shape, _uniform()),
    torch.ops.aten.normal.float_float: lambda mean, deviation, shape: (shape, _normal(mean, deviation)),
}
"""Operations that make a tensor: its shape and the draw."""
