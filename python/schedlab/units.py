"""Units of results: the engine reports seconds, bytes and counts; people read scaled ones."""

from math import floor, log10

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def convert(value: float, unit: str, to: str) -> float:
    """Express `value` of `unit` in `to`; both must be of one kind."""
    if unit == to:
        return value
    for scale in (_SECONDS, _BYTES):
        if unit in scale and to in scale:
            return value * scale[unit] / scale[to]
    raise ValueError(f"{unit} cannot be expressed in {to}")


def seconds(text: str) -> float | None:
    """Read a duration such as "36ms"; None if the text is no duration."""
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text.strip()[len(number) :].strip()
    try:
        return float(number) * _SECONDS[unit]
    except (ValueError, KeyError):
        return None


def size(text: str) -> int:
    """Read a size as the engine spells it, such as "24MiB", in bytes."""
    unit = text.lstrip("0123456789.")
    return round(float(text.removesuffix(unit)) * _BYTES[unit])


def readable_unit(unit: str, magnitude: float) -> str:
    """Choose the unit in which a number of about `magnitude` (given in `unit`) is read most easily."""
    for scale, names in ((_SECONDS, ("s", "ms", "us", "ns")), (_BYTES, ("GiB", "MiB", "KiB", "B"))):
        if unit in scale:
            fitting = (name for name in names if abs(magnitude) * scale[unit] >= scale[name])
            return next(fitting, names[-1] if magnitude else next(name for name in names if scale[name] == 1))
    return unit


def quantity(value: float, unit: str) -> str:
    """Spell a number in the unit in which it is read most easily."""
    best = readable_unit(unit, value)
    return f"{convert(value, unit, best):g}{best}"


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 seed", "2 seeds"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def allowed(domain: dict) -> str:
    """Spell the values that a parameter takes, as a user writes them; `domain` as in the catalogue."""
    match domain["kind"]:
        case "choice":
            return ", ".join(domain["names"])
        case "switch":
            return "true, false"
        case kind:
            unit = {"duration": "ns", "size": "B", "rate": "/s", "count": ""}[kind]
            return f"{quantity(domain['low'], unit)} to {quantity(domain['high'], unit)}"


def digits(value: float, significant: int = 4) -> str:
    """Spell a number with `significant` digits and no exponent for everyday sizes."""
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{significant - 1}e}"
    if abs(value) >= 10 ** (significant - 1):
        return f"{value:.0f}"
    text = f"{value:.{significant}g}"
    return text


def spread(mean: float, half: float | None) -> str:
    """Spell "mean ± half", both to the place that the half width makes meaningful."""
    if half is None:
        return digits(mean)
    if half <= abs(mean) * 1e-6:
        return f"{digits(mean, 6)} ± 0"
    places = _places(mean, half)
    return f"{mean:.{places}f} ± {half:.{places}f}"


def alike(mean: float, low: float, high: float) -> tuple[str, str, str]:
    """Spell a mean and its bounds to one place: that which the bounds make meaningful."""
    if not high - low > abs(mean) * 1e-6:
        return digits(mean), digits(low), digits(high)
    places = _places(mean, (high - low) / 2)
    mean, low, high = (f"{round(value, places) + 0.0:.{places}f}" for value in (mean, low, high))
    return mean, low, high


def _places(mean: float, half: float) -> int:
    """Decimal places for two digits of the half width, and no more than six digits of the mean."""
    largest = 5 - floor(log10(abs(mean))) if mean else 6
    return max(0, min(1 - floor(log10(half)), largest))
