"""All kinds of results: their dictionaries tell of which kind they are, and restore them."""

import json
from typing import Any

import pytest

import dpquantiles as dpq
from dpquantiles import results
from dpquantiles.results import Result

RELEASE = dpq.Release(
    values=(5,), q=(0.5,), guarantee=dpq.PureDP(epsilon=1), mechanism="joint_exp", type="int"
)
GROUPS = dpq.GroupedRelease(
    by=("region",),
    keys=(("north",), ("south",)),
    key_types=("str",),
    values=((5,), (7,)),
    q=(0.5,),
    guarantee=None,
    note="why",
    mechanism="joint_exp",
    type="int",
)
DESCRIPTION = dpq.Description(releases={"pay": RELEASE}, guarantee=dpq.PureDP(epsilon=1))
RESULTS = [RELEASE, GROUPS, DESCRIPTION]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_a_dictionary_tells_of_which_kind_it_is(result: Any) -> None:
    plain = json.loads(result.to_json())
    assert isinstance(result, Result)
    assert results.from_dict(plain) == type(result).from_dict(plain) == result
    assert type(result).from_json(result.to_json()) == result
    for format_number in (0, 2, None):
        with pytest.raises(ValueError, match=f"^format must be 1, got {format_number}$"):
            results.from_dict({**plain, "format": format_number})


def test_words_end_with_the_promise_or_with_why_there_is_none() -> None:
    for result in RESULTS:
        assert str(result) == f"{result.summary()} [{result.guarantee or 'why'}]"
    assert [result.summary() for result in RESULTS] == [
        "q=0.5: 5",
        "1 quantiles of 2 groups by region",
        "1 quantiles of pay",
    ]
