"""
Which tokens of an example are hidden from the model, and what it reads in their place.

Each example has a draw of its own, seeded by its number: neither shards nor batches change what is masked.
Source: Devlin et al. 2019, section 3.1; 15 % of the tokens, of which 80 % read as the mask token, 10 % as a random one.
"""

from typing import NamedTuple

import numpy as np

from headscope.encoding import Kind

SHARE = 0.15
MASKED, RANDOM = 0.8, 0.1


class Vocabulary(NamedTuple):
    """What may stand in the place of a chosen token: the id of the mask token, and the ids that are not special."""

    mask: int
    ordinary: np.ndarray


class Masked(NamedTuple):
    """
    An example as the model reads it.

    `ids`, int64 (token,), with the chosen tokens replaced; `kinds`, uint8 (token,), in which a replaced token is
    text whatever stood there; `positions` and `targets`, int64 (chosen,): where the chosen tokens stand, in order, and
    their true ids.
    """

    ids: np.ndarray
    kinds: np.ndarray
    positions: np.ndarray
    targets: np.ndarray


def mask_tokens(ids: np.ndarray, kinds: np.ndarray, vocabulary: Vocabulary, seed: tuple[int, ...]) -> Masked:
    """
    Choose 15 % of the tokens that are not special (rounded, at least one) and replace most of them.

    Parameters
    ----------
    ids
        Token ids, int (token,).
    kinds
        The `Kind` of each token, uint8 (token,).
    vocabulary
        What they are replaced by.
    seed
        Of the draw; the example's number is to be one of its parts.

    Returns
    -------
    The example with each chosen token read as the mask token (80 %), as a random ordinary one (10 %) or as itself.

    Raises
    ------
    ValueError
        If every token is special.
    """
    generator = np.random.default_rng(seed)
    ordinary = np.flatnonzero((kinds == Kind.TEXT) | (kinds == Kind.PUNCTUATION))
    if not len(ordinary):
        raise ValueError(f"there is no token to mask among kinds {kinds.tolist()}")
    count = max(1, round(SHARE * len(ordinary)))
    positions = np.sort(generator.choice(ordinary, count, replace=False))
    fate = generator.random(count)
    read = np.asarray(ids, np.int64).copy()
    targets = read[positions]
    random_ids = vocabulary.ordinary[generator.integers(0, len(vocabulary.ordinary), count)]
    read[positions] = np.where(
        fate < MASKED, vocabulary.mask, np.where(fate < MASKED + RANDOM, random_ids, read[positions])
    )
    seen = kinds.copy()
    seen[positions[fate < MASKED + RANDOM]] = Kind.TEXT
    return Masked(read, seen, positions, targets)
