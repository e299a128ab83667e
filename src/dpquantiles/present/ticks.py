"""Round values along an axis, for values of every type."""

import datetime as dt
import math
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from typing import Any, NamedTuple

from dpquantiles.kinds.numbers import EXACT
from dpquantiles.present.words import exact, labels

EPOCH = dt.datetime(1970, 1, 1)
MINUTE, HOUR, DAY = 60, 3600, 86_400
CLOCK_STEPS = (1, 2, 5, 10, 15, 30)
TIME_STEPS = [
    *CLOCK_STEPS,
    *(MINUTE * n for n in CLOCK_STEPS),
    *(HOUR * n for n in (1, 2, 3, 6, 12)),
    *(DAY * n for n in (1, 2, 7, 14)),
]
MONTH_STEPS = [1, 2, 3, 6, *(12 * n * 10**k for k in range(4) for n in (1, 2, 5))]
DAYS_OF_MONTH = 30.4
LARGEST = sys.float_info.max


class Tick(NamedTuple):
    """A round value: its position and its label."""

    position: float
    label: str


def position(value: Any) -> float:
    """A number that grows with the value: seconds for dates and times, else the number itself."""
    if isinstance(value, dt.datetime):
        return (value.replace(tzinfo=None) - EPOCH).total_seconds()
    if isinstance(value, dt.date):
        return float((value.toordinal() - EPOCH.toordinal()) * DAY)
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    return float(value)


def share(place: float, low: float, high: float) -> float:
    """The place of a position between low and high, from 0 to 1; 0.5 if they are equal.

    It computes with halves, because the distance of two doubles may overflow.
    """
    span = high / 2 - low / 2
    return (place / 2 - low / 2) / span if span else 0.5


def ticks(values: Sequence[Any], most: int) -> list[Tick]:
    """At most about `most` round values between the smallest and the largest."""
    low, high = min(values, key=position), max(values, key=position)
    first, last = position(low), position(high)
    if first == last or isinstance(low, bool):
        return _labeled(list(dict.fromkeys((low, high))))
    if isinstance(low, dt.date):
        marks = list(_calendar_ticks(first, last, most, days_only=type(low) is dt.date))
    elif isinstance(low, dt.timedelta):
        marks = list(_duration_ticks(first, last, most))
    else:
        with localcontext(EXACT):
            marks = list(_number_ticks(first, last, most))
    # A narrow range may hold no round value at all; then its ends are the labels.
    return marks if len(marks) > 1 else _labeled([low, high])


def _labeled(values: Sequence[Any]) -> list[Tick]:
    """Values that are no round ones, with as few digits as tell them apart."""
    written = labels(values)
    few = len(set(written)) == len(written)
    pairs = zip(values, written if few else map(exact, values), strict=True)
    return [Tick(position(value), label) for value, label in pairs]


def _number_step(span: float, most: int) -> Decimal:
    """The smallest of 1, 2, 5, 10, ... that divides the span into at most `most` parts."""
    power = math.floor(math.log10(span / most))
    steps = [Decimal(n).scaleb(power) for n in (1, 2, 5, 10)]
    return next((step for step in steps if span <= most * float(step)), steps[-1])


def _number_ticks(first: float, last: float, most: int) -> Iterator[Tick]:
    step = _number_step(min(last - first, LARGEST), most)
    for k in _multiples(first, last, float(step)):
        yield Tick(float(k * step), _number_label(k * step))


def _number_label(number: Decimal) -> str:
    if number == 0:
        return "0"
    small = -5 <= number.adjusted() <= 7
    return f"{number.normalize():,f}" if small else f"{number.normalize():e}".replace("e+", "e")


def _multiples(first: float, last: float, step: float) -> range:
    slack = 1e-9
    return range(math.ceil(first / step - slack), math.floor(last / step + slack) + 1)


def _duration_ticks(first: float, last: float, most: int) -> Iterator[Tick]:
    step = _duration_step(last - first, most)
    for k in _multiples(first, last, step):
        label = exact(dt.timedelta(seconds=k * step))
        yield Tick(k * step, label.removesuffix(", 0:00:00") if step >= DAY else label)


def _duration_step(span: float, most: int) -> float:
    """Round parts of a second, round readings of a clock, or round numbers of days."""
    if span <= most:
        return float(_number_step(span, most))
    clock = (step for step in TIME_STEPS if step < DAY and span <= most * step)
    return next(clock, DAY * float(_number_step(span / DAY, most)))


def _calendar_ticks(first: float, last: float, most: int, *, days_only: bool) -> Iterator[Tick]:
    steps = [step for step in TIME_STEPS if step >= (DAY if days_only else 1)]
    step = next((step for step in steps if last - first <= most * step), None)
    if step is None:
        yield from _month_ticks(first, last, most)
        return
    written = 10 if step >= DAY else 16 if step >= MINUTE else 19
    for k in _multiples(first, last, step):
        yield Tick(k * step, _instant(k * step).isoformat(sep=" ")[:written])


def _month_ticks(first: float, last: float, most: int) -> Iterator[Tick]:
    months = (last - first) / (DAY * DAYS_OF_MONTH)
    step = next((step for step in MONTH_STEPS if months <= most * step), MONTH_STEPS[-1])
    start, stop = _instant(first), _instant(last)
    for month in range(start.year * 12 // step * step, stop.year * 12 + 12, step):
        if month >= 12 and start <= (day := dt.datetime(month // 12, month % 12 + 1, 1)) <= stop:
            yield Tick(position(day), day.isoformat()[: 4 if step >= 12 else 7])


def _instant(seconds: float) -> dt.datetime:
    return EPOCH + dt.timedelta(seconds=seconds)
