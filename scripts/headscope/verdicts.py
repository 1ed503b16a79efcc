"""What a number says of a claim: whether all of its interval is as was expected."""

import math

SIDES = {"above": 1, "below": -1}


def verdict(low: float, high: float, expected: str | None) -> str | None:
    """
    Return whether an interval supports what was expected: yes, no or undecided; None where nothing can be said.

    Parameters
    ----------
    expected
        `above` or `below` and a number, which itself is neither: "above 0.5". None: nothing is expected.
    """
    if expected is None or math.isnan(low):
        return None
    side, bound = expected.split()
    low, high = sorted(((low - float(bound)) * SIDES[side], (high - float(bound)) * SIDES[side]))
    return "yes" if low > 0 else "no" if high < 0 else "undecided"
