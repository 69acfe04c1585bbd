"""The quantile of Student's t, for intervals: scipy, which has it too, takes half a second to be imported.

    up to 200 degrees of freedom   Newton's method on a finite sum (Abramowitz and Stegun 26.7.3, 26.7.4)
    above                          the expansion by the normal quantile (Abramowitz and Stegun 26.7.5)

`tests/test_results.py` holds it to scipy's.
"""

import math
from functools import lru_cache

#: Up to here the sum is short; above, the expansion is as exact as a float.
SUMMED = 200


@lru_cache(maxsize=1024)
def quantile(freedom: int, confidence: float) -> float:
    """The t that a variable with `freedom` degrees of freedom stays between -t and t of with this probability."""
    if not freedom >= 1 or not 0 < confidence < 1:
        raise ValueError(f"no quantile for {freedom} degrees of freedom and a confidence of {confidence}")
    normal = _newton(
        lambda z: math.erf(z / math.sqrt(2)), lambda z: math.exp(-z * z / 2), 0.0, confidence, _TWICE_NORMAL
    )
    if freedom > SUMMED:
        return _expanded(normal, freedom)
    scale = 2 * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    density = lambda t: (1 + t * t / freedom) ** (-(freedom + 1) / 2)  # noqa: E731
    return _newton(lambda t: _between(t, freedom), density, normal, confidence, scale)


#: Twice the density of the normal distribution at zero.
_TWICE_NORMAL = math.sqrt(2 / math.pi)


def _newton(between, density, start: float, wanted: float, scale: float) -> float:
    """Where `between` is `wanted`. It rises ever more slowly, so from below every step stays below."""
    at = start
    while True:
        step = (wanted - between(at)) / (scale * density(at))
        if not step > at * 1e-15:
            return at + step
        at += step


def _between(t: float, freedom: int) -> float:
    """How probable a value between -t and t is."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0
    for factor in range(2 if odd else 1, freedom, 2):
        total += term
        term *= factor / (factor + 1) * cosine * cosine
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def _expanded(z: float, freedom: int) -> float:
    """The expansion of 26.7.5."""
    square = z * z
    terms = (
        (square + 1) * z / 4,
        ((5 * square + 16) * square + 3) * z / 96,
        (((3 * square + 19) * square + 17) * square - 15) * z / 384,
        ((((79 * square + 776) * square + 1482) * square - 1920) * square - 945) * z / 92160,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, 1))
