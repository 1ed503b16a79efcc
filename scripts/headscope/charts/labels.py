"""Where names go: beside their point of a scatter plot, off the others; beside the ends of lines, off each other."""

from typing import NamedTuple

import numpy as np

LETTER, LINE = 6.4, 14.0  # pixels of a label of 11 px: a letter's width, a line's height
DISTANCES = (11, 20, 32, 46, 64)  # pixels between a point and its label
TURNS = 16  # directions tried at each distance
POINT, RING = 5.0, 7.0  # radius of a point, and of the ring around one with a label, pixels
OVERLAP, COVERED, OUTSIDE = 100.0, 25.0, 1000.0  # what is bad about a place, beside its distance in pixels


class Places(NamedTuple):
    """Where labels go, pixels (label, 2): their middles, and the line to each from the ring of its point."""

    middles: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def place_labels(points: np.ndarray, labelled: np.ndarray, texts: list[str], size: tuple[float, float]) -> Places:
    """
    Choose the middle of each label so that it overlaps no other label and covers few points.

    One after the other, each at the best of some places around its point, the same each time.

    Parameters
    ----------
    points
        Every point of the plot, pixels from the upper left corner (point, 2).
    labelled
        The points that get a label, (label, 2).
    texts
        The labels, in one line each.
    size
        Width and height of the plot, pixels.
    """
    placed: list[tuple[np.ndarray, np.ndarray]] = []
    angles = 2 * np.pi * np.arange(TURNS) / TURNS
    directions = np.stack([np.cos(angles), np.sin(angles)], -1)
    for at, text in zip(labelled, texts, strict=True):
        half = np.array([LETTER * len(text), LINE]) / 2
        reach = np.minimum(*(half / np.maximum(np.abs(directions), 1e-9)).T)  # from a label's middle to its edge
        places = [
            at + direction * (distance + edge)
            for distance in DISTANCES
            for direction, edge in zip(directions, reach, strict=True)
        ]
        costs = [
            float(np.linalg.norm(np.maximum(np.abs(place - at) - half, 0)))
            + OVERLAP * sum(_overlap(place, half, *other) for other in placed)
            + COVERED * (np.abs(points - place) < half + POINT).all(-1).sum()
            + OUTSIDE * bool((place - half < 0).any() or (place + half > size).any())
            for place in places
        ]
        placed.append((places[int(np.argmin(costs))], half))
    middles, halves = (np.array(part).reshape(-1, 2) for part in zip(*placed, strict=True))
    ends = np.clip(labelled, middles - halves, middles + halves)
    way = ends - labelled
    length = np.linalg.norm(way, axis=1, keepdims=True)
    starts = labelled + way * np.minimum(RING / np.maximum(length, 1e-9), 1)
    return Places(middles, starts, ends)


def _overlap(place, half, other_place, other_half) -> bool:
    return bool((np.abs(place - other_place) < half + other_half).all())


def spread(heights: list[float], gap: float = LINE) -> list[float]:
    """
    Move labels beside the ends of lines apart, up and down alike, so that none overlaps another.

    Parameters
    ----------
    heights
        Where each would stand, pixels in any order; the order is kept, also of equal ones.
    gap
        The least distance of two labels, pixels.
    """
    groups: list[list[float]] = []  # of labels that touch: their heights, less the room of those before in the group
    for height in sorted(heights):
        groups.append([height])
        while (
            len(groups) > 1
            and _middle(groups[-1]) - _middle(groups[-2]) < gap * (len(groups[-2]) + len(groups[-1])) / 2
        ):
            groups[-2:] = [groups[-2] + groups[-1]]
    placed = [_middle(group) + gap * (place - (len(group) - 1) / 2) for group in groups for place in range(len(group))]
    order = sorted(range(len(heights)), key=heights.__getitem__)
    return [height for _, height in sorted(zip(order, placed, strict=True))]


def _touch(lower: list[float], upper: list[float], gap: float) -> bool:
    return _middle(upper) - _middle(lower) < gap * (len(lower) + len(upper)) / 2


def _middle(group: list[float]) -> float:
    return sum(group) / len(group)
