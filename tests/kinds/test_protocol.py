"""What every value type owes: exact both ways, in order, through JSON, one record at a time."""

import json
import operator
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpquantiles.kinds import REAL, Kind, column
from tests.kinds.strategies import HOSTILE_RECORDS, KINDS, ODD_RECORDS, Hostile, numbers, values

every_kind = pytest.mark.parametrize("kind", KINDS, ids=repr)


@every_kind
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_numbers_and_values_are_inverse(kind: Kind, data: st.DataObject) -> None:
    number = data.draw(numbers(kind))
    assert kind.number(kind.value(number), "bounds") == number


@every_kind
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_columns_hold_the_numbers_of_their_values(kind: Kind, data: st.DataObject) -> None:
    wanted = data.draw(st.lists(numbers(kind)))
    found, missing = column(kind, [kind.value(number) for number in wanted])
    assert missing is None
    assert found.tolist() == wanted


@every_kind
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_numbers_are_in_the_order_of_values(kind: Kind, data: st.DataObject) -> None:
    one, two = data.draw(values(kind)), data.draw(values(kind))
    (first, second), _ = column(kind, [one, two])
    for compare in (operator.lt, operator.eq, operator.gt):
        assert compare(first, second) == compare(one, two)


@every_kind
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_json_keeps_values_and_types(kind: Kind, data: st.DataObject) -> None:
    value = data.draw(values(kind))
    found = kind.from_json(json.loads(json.dumps(kind.to_json(value))))
    assert found == value
    assert type(found) is type(value)


@every_kind
@settings(max_examples=50, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_one_record_never_touches_another(kind: Kind, data: st.DataObject, seed: int) -> None:
    records = [*data.draw(st.lists(values(kind), max_size=5)), *HOSTILE_RECORDS]
    random.Random(seed).shuffle(records)
    together, missing = column(kind, records)
    absent = np.zeros(len(records), dtype=bool) if missing is None else missing
    for index, record in enumerate(records):
        (alone,), gone = column(kind, [record])
        assert absent[index] == (gone is not None)
        assert absent[index] or together[index] == alone


@every_kind
def test_odd_records_are_missing(kind: Kind) -> None:
    found, missing = column(kind, [*ODD_RECORDS, Hostile()])
    assert missing is not None
    assert missing.tolist() == [True] * (len(ODD_RECORDS) + 1)
    assert len(found) == len(missing)


@every_kind
def test_no_records(kind: Kind) -> None:
    found, missing = column(kind, [])
    assert (len(found), missing) == (0, None)


@every_kind
@pytest.mark.parametrize("value", ["text", None, object(), [1], 1j, b"1"])
def test_parameters_of_other_types_are_refused(kind: Kind, value: object) -> None:
    with pytest.raises(TypeError, match=r"^bounds must be of type .* like the values, got "):
        kind.number(value, "bounds")
    with pytest.raises(TypeError, match=r"^resolution must be of type .* like the values, got "):
        kind.step(value, "resolution")


@every_kind
def test_columns_of_other_dtypes_are_refused(kind: Kind) -> None:
    for dtype in ("U3", "S3", "complex128", "i4,f4"):
        with pytest.raises(TypeError, match=r"^data must be of type .* like the grid, got a"):
            column(kind, np.zeros(3, dtype=dtype))


@every_kind
def test_the_unit_is_one_step(kind: Kind) -> None:
    if kind != REAL:
        assert kind.step(kind.unit, "resolution") == 1


@every_kind
def test_limits_can_be_written(kind: Kind) -> None:
    for limit in kind.limits or ():
        assert kind.value(kind.number(limit, "bounds")) == limit
