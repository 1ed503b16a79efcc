"""
Which heads are alike: a map of the heads, what each of them does, and whether those of one layer are closer.

All of it starts from the divergence of every two heads (`headscope.divergence`) as a matrix, heads in the order of
layer and head. Source: Clark et al. 2019, section 6.
"""

import math
from operator import itemgetter

import numpy as np
import polars as pl
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from sklearn.manifold import smacof

from headscope.behaviours import behaviour_of

DIMENSIONS = 2
MOST_STEPS = 2000
MOST_TO_TURN = 400  # heads; turning the branches of a larger tree takes minutes and is not seen


def square(divergence: pl.DataFrame) -> np.ndarray:
    """Return the table `clusters/divergence` as a matrix, float64 (head, other head)."""
    values = divergence.sort("layer", "head", "other_layer", "other_head")["divergence"].to_numpy()
    return values.reshape(math.isqrt(len(values)), -1)


def head_positions(divergence: np.ndarray, layers: int, starts: int, seed: int) -> tuple[np.ndarray, float]:
    """
    Place heads in the plane so that their distances come close to their divergences: metric MDS.

    Parameters
    ----------
    divergence
        float64 (head, other head).
    layers
        How many layers they come from, of as many heads each.
    starts
        Random beginnings, drawn from `seed`, beside that of classical MDS; the lowest stress is kept.

    Returns
    -------
    positions
        float64 (head, 2), in the units of the divergence: centred, the wider direction first, and later layers to the
        right and up, for the method itself fixes neither turn nor mirror.
    stress
        Kruskal's stress-1, √(Σ(distance − divergence)² / Σ distance²): 0.05 is good, 0.2 poor.
    """
    if not divergence.any():
        return np.zeros((len(divergence), DIMENSIONS)), 0.0
    options = {"n_components": DIMENSIONS, "max_iter": MOST_STEPS, "normalized_stress": True}
    found = [
        smacof(divergence, init=classical_positions(divergence), n_init=1, **options),
        smacof(divergence, n_init=starts, random_state=seed, **options),
    ]
    positions, stress = min(found, key=itemgetter(1))
    positions -= positions.mean(0)
    positions = positions @ np.linalg.svd(positions, full_matrices=False)[2].T
    layer = np.repeat(np.arange(layers), len(positions) // layers)
    towards_later = (layer - layer.mean()) @ positions
    return positions * np.where(towards_later < 0, -1, 1), float(stress)


def classical_positions(divergence: np.ndarray) -> np.ndarray:
    """
    Place heads in the plane by classical MDS, float64 (head, 2): exact where the divergences are distances in a plane.

    Source: Torgerson 1952.
    """
    centring = np.eye(len(divergence)) - 1 / len(divergence)
    values, vectors = np.linalg.eigh(centring @ (-(divergence**2) / 2) @ centring)
    return vectors[:, -DIMENSIONS:] * np.sqrt(np.maximum(values[-DIMENSIONS:], 0))


def similar_beside_similar(divergence: np.ndarray) -> np.ndarray:
    """
    Order heads so that similar ones stand together: the leaves of average-linkage clustering, its branches turned.

    Returns
    -------
    The place of each head, from 1, int64 (head,).
    """
    if len(divergence) < 2:
        return np.ones(len(divergence), np.int64)
    turned = len(divergence) <= MOST_TO_TURN
    tree = linkage(squareform(divergence, checks=False), "average", optimal_ordering=turned)
    return np.argsort(leaves_list(tree)) + 1


def layer_test(divergence: np.ndarray, layers: int, permutations: int, seed: int) -> tuple[float, float, float]:
    """
    Compare heads of one layer with heads of different layers.

    Parameters
    ----------
    divergence
        float64 (head, other head).
    permutations
        How often the heads are dealt to the layers at random.

    Returns
    -------
    within, between
        Mean divergence of two heads of one layer and of two heads of different layers; NaN where there are no such two.
    p_value
        How often dealt layers are at least as close within, by the mean, as the real ones, these counted in: one-sided.
        NaN where one of the means is.
    """
    total, per_layer = len(divergence), len(divergence) // layers
    pairs_within, pairs = layers * per_layer * (per_layer - 1) / 2, total * (total - 1) / 2

    def sum_within(heads: np.ndarray) -> float:
        dealt = heads.reshape(layers, per_layer)
        return divergence[dealt[:, :, None], dealt[:, None, :]].sum() / 2

    observed = sum_within(np.arange(total))
    with np.errstate(invalid="ignore"):
        within = np.float64(observed) / pairs_within
        between = np.float64(divergence.sum() / 2 - observed) / (pairs - pairs_within)
    if np.isnan(within) or np.isnan(between):
        return float(within), float(between), np.nan
    generator = np.random.default_rng(seed)
    highest = observed * (1 + 1e-12)  # the same heads added in another order are no closer
    as_close = sum(sum_within(generator.permutation(total)) <= highest for _ in range(permutations))
    return float(within), float(between), (1 + as_close) / (1 + permutations)


def map_heads(
    divergence: pl.DataFrame,
    heads: pl.DataFrame,
    thresholds: dict[str, float],
    starts: int,
    permutations: int,
    seed: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """
    Make the tables `clusters/map` and `clusters/tests`.

    Parameters
    ----------
    divergence, heads
        The tables `clusters/divergence` and `surface/heads`.
    thresholds
        As for `behaviour_of`.
    starts, permutations, seed
        As for `head_positions` and `layer_test`.

    Returns
    -------
    map
        layer, head, x, y (nats), behaviour, place (from 1, similar heads beside each other).
    tests
        One row: within, between (nats), p_value, stress, permutations, starts. Null where there are no two such heads.
    """
    matrix, layers = square(divergence), heads["layer"].n_unique()
    positions, stress = head_positions(matrix, layers, starts, seed)
    within, between, p_value = layer_test(matrix, layers, permutations, seed)
    mapped = heads.sort("layer", "head").select(
        "layer",
        "head",
        x=pl.Series(positions[:, 0]),
        y=pl.Series(positions[:, 1]),
        behaviour=behaviour_of(thresholds),
        place=pl.Series(similar_beside_similar(matrix), dtype=pl.UInt32),
    )
    tests = {"within": within, "between": between, "p_value": p_value, "stress": stress}
    return mapped, pl.DataFrame(tests | {"permutations": permutations, "starts": starts}).fill_nan(None)
