"""The public functions: parameters checked loudly, answers in the order and the type asked."""

import datetime as dt
import inspect
import json
import math
import random
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import dpquantiles as dpq
from dpquantiles import entropy
from dpquantiles.grid import FloatGrid, UniformGrid

DATA = np.random.default_rng(5).normal(50, 10, 999)
BERLIN = ZoneInfo("Europe/Berlin")


def seeded(*arguments: Any, seed: int = 7, **options: Any) -> dpq.Release:
    stated = {"epsilon": 1.0, "rng": random.Random(seed)}
    release: dpq.Release = dpq.quantiles(*arguments, **{**stated, **options})
    return release


# Parameters


BAD_VALUES: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": 0}, r"^epsilon must be positive and finite, got 0\.0$"),
    ({"epsilon": -1}, r"^epsilon must be positive and finite, got -1\.0$"),
    ({"epsilon": math.nan}, r"^epsilon must be positive and finite, got nan$"),
    ({"epsilon": math.inf}, r"^epsilon must be positive and finite, got inf$"),
    ({"q": 1.5}, r"^q must lie between 0 and 1, got 1\.5; for percentages use"),
    ({"q": [0.5, -0.1]}, r"^q must lie between 0 and 1, got -0\.1$"),
    ({"q": math.nan}, r"^q must lie between 0 and 1, got nan$"),
    ({"q": []}, r"^q must name at least one quantile, got none$"),
    ({"q": "medain"}, r"^q must be one of .*; did you mean 'median'\?$"),
    ({"bounds": (9, 0)}, r"^bounds must have lower < upper, got lower=9, upper=0$"),
    ({"bounds": (9, 9)}, r"^bounds must have lower < upper, got lower=9, upper=9$"),
    ({"bounds": (math.nan, 9)}, r"^bounds must be finite, got nan$"),
    ({"bounds": (0, math.inf)}, r"^bounds must be finite, got inf$"),
    ({"resolution": 0, "bounds": (0, 9)}, r"^resolution must be positive, got 0$"),
    (
        {"resolution": 9.5, "bounds": (0, 9)},
        r"^bounds must leave at least two possible answers, got 0 and 9 with",
    ),
    ({"resolution": 0}, r"^resolution must be positive and, without bounds, at most .* got 0"),
    ({"grid": FloatGrid(), "bounds": (0, 9)}, r"^grid must be given alone, got bounds"),
    ({"grid": FloatGrid(), "resolution": 1}, r"^grid must be given alone, got bounds"),
    ({"neighbors": "add_remove"}, r"^neighbors must be .*; did you mean 'add-remove'\?$"),
    ({"size": 10}, r"^size must be left out under swap neighbors"),
    ({"size": -1, "neighbors": "add-remove"}, r"^size must be at least 0, got -1$"),
    ({"size": 10**30, "neighbors": "add-remove"}, r"^size must be at most 2\*\*53, got"),
    ({"missing": "uper"}, r"^missing must be one of .*; did you mean 'upper'\?$"),
    ({"missing": math.nan}, r"^missing must be finite, got nan$"),
    ({"mechanism": "jointexp"}, r"^mechanism must be .*; did you mean 'joint_exp'\?$"),
]

BAD_TYPES: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": "1"}, r"^epsilon must be a positive, finite number, got '1' of type str$"),
    ({"epsilon": True}, r"^epsilon must be a positive, .*, got True of type bool$"),
    ({"epsilon": None}, r"^epsilon must be given"),
    ({"q": ["0.5"]}, r"^q must be numbers between 0 and 1, got '0\.5' of type str$"),
    ({"q": None}, r"^q must be numbers between 0 and 1, got None of type NoneType$"),
    ({"bounds": ("a", "b")}, r"^bounds must be of type number like .*, got 'a' of"),
    ({"bounds": (True, 9)}, r"^bounds must be of type number like .*, got True of"),
    ({"bounds": (None, 9)}, r"^bounds must be of type number like .*, got None of"),
    ({"bounds": (0, dt.date(2024, 1, 1))}, r"^bounds must be of type number like"),
    ({"bounds": ([0], [9])}, r"^bounds must be of type number like .*, got an object of"),
    ({"resolution": [1]}, r"^resolution must be of type number like .*, got an object of"),
    ({"bounds": 9}, r"^bounds must be a pair \(lower, upper\), got 9 of type int$"),
    ({"bounds": (1, 2, 3)}, r"^bounds must be a pair .*, got \(1, 2, 3\) of type tuple$"),
    ({"bounds": ()}, r"^bounds must be a pair \(lower, upper\), got \(\) of type tuple$"),
    ({"bounds": DATA}, r"^bounds must be a pair .*, got an object of type ndarray$"),
    ({"resolution": "1", "bounds": (0, 9)}, r"^resolution must be of type number"),
    ({"grid": "uniform"}, r"^grid must be a grid, such as .*, got 'uniform' of type str$"),
    ({"grid": UniformGrid}, r"^grid must be a grid, such as UniformGrid\(0, 100\)"),
    ({"neighbors": 1}, r"^neighbors must be one of 'swap', 'add-remove', got 1 of"),
    ({"size": 2.5, "neighbors": "add-remove"}, r"^size must be a whole number, got 2\.5"),
    ({"missing": dt.date(2024, 1, 1)}, r"^missing must be of type number like the"),
    ({"mechanism": None}, r"^mechanism must be one of 'auto', 'joint_exp', .*, got None"),
    ({"rng": 7}, r"^rng must have a getrandbits method, such as random\.Random\(7\)"),
    ({"rng": np.random.default_rng(7)}, r"^rng must have a getrandbits method, such as"),
]


def refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    """Whatever the data is."""
    for data in (DATA, [], [math.nan]):
        with pytest.raises(error, match=message):
            dpq.quantiles(data, **{"q": 0.5, "epsilon": 1.0, **options})


@pytest.mark.parametrize(("options", "message"), BAD_VALUES)
def test_bad_values_are_refused_loudly(options: dict[str, Any], message: str) -> None:
    refused(options, ValueError, message)


@pytest.mark.parametrize(("options", "message"), BAD_TYPES)
def test_bad_types_are_refused_loudly(options: dict[str, Any], message: str) -> None:
    refused(options, TypeError, message)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (["a", "b"], TypeError, r"^data must be numbers, .*, got text or other objects$"),
        (np.array(["a"]), TypeError, r"^data must be numbers, .*, got a column of text$"),
        ([[1, 2], [3, 4]], TypeError, r"^data must be numbers, .*, got text or other objects$"),
        (np.zeros((2, 2)), ValueError, r"^data must be one column, got 2 dimensions$"),
        ({"a": [1]}, TypeError, r"^data must be a column of values, got dict$"),
        ("text", TypeError, r"^data must be a column of values, got str$"),
        (None, TypeError, r"^data must be a column of values, got NoneType$"),
        (5, TypeError, r"^data must be a column of values, got int$"),
    ],
)
def test_what_is_no_column_is_refused(data: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        dpq.median(data, epsilon=1)


def test_types_of_bounds_must_be_those_of_the_data() -> None:
    days = [dt.date(2024, 1, 1)] * 9
    with pytest.raises(TypeError, match=r"^bounds must be of type date like the values, got 0 of"):
        dpq.median(days, epsilon=1, bounds=(0, 9))
    aware = [dt.datetime(2024, 1, 1, tzinfo=BERLIN)] * 9
    naive = (dt.datetime(2024, 1, 1), dt.datetime(2025, 1, 1))
    with pytest.raises(TypeError, match=r"^bounds must be of type aware datetime like the values"):
        dpq.median(aware, epsilon=1, bounds=naive)


# Answers


def test_answers_come_in_the_order_asked() -> None:
    q = [0.9, 0.1, 0.5, 0.1, 0.9]
    release = seeded(DATA, q, epsilon=50)
    assert release.q == tuple(q)
    exact = np.quantile(DATA, q)
    assert np.abs(np.asarray(release) - exact).max() < 2
    assert release.values[0] == release.values[4]
    assert release.values[1] == release.values[3]
    assert len(set(release.values)) == 3


def test_order_and_repeats_change_nothing_else() -> None:
    ascending = dict(zip(*(lambda r: (r.q, r.values))(seeded(DATA, [0.1, 0.5, 0.9])), strict=True))
    shuffled = seeded(DATA, [0.5, 0.9, 0.1, 0.5])
    assert shuffled.values == tuple(ascending[q] for q in (0.5, 0.9, 0.1, 0.5))


@pytest.mark.parametrize(
    ("named", "q"),
    [
        ("median", (0.5,)),
        ("quartiles", (0.25, 0.5, 0.75)),
        ("deciles", tuple(k / 10 for k in range(1, 10))),
        ("percentiles", tuple(k / 100 for k in range(1, 100))),
    ],
)
def test_names_stand_for_quantiles(named: str, q: tuple[float, ...]) -> None:
    release = seeded(DATA, named, bounds=(0, 100))
    assert release.q == q
    assert list(release.values) == sorted(release.values)
    assert release == seeded(DATA, q, bounds=(0, 100))


def test_short_forms_are_quantiles() -> None:
    options: dict[str, Any] = {"epsilon": 1.0, "bounds": (0, 100)}
    for short, named in [
        (dpq.median, "median"),
        (dpq.quartiles, "quartiles"),
        (dpq.deciles, "deciles"),
    ]:
        assert short(DATA, rng=random.Random(7), **options) == seeded(DATA, named, **options)
    percentiles = dpq.percentiles(DATA, [90, 10, 12.5], rng=random.Random(7), **options)
    assert percentiles == seeded(DATA, [0.9, 0.1, 0.125], **options)
    with pytest.raises(ValueError, match=r"^p must lie between 0 and 100, got 101\.0$"):
        dpq.percentiles(DATA, 101, epsilon=1)


def test_one_quantile_has_a_value() -> None:
    release = seeded(DATA, 0.5)
    assert release.value == release.values[0]
    assert seeded(DATA, [0.5]) == release
    assert dpq.percentiles(DATA, 50, epsilon=1.0, rng=random.Random(7)) == release
    with pytest.raises(ValueError, match=r"^value is for one quantile, got 2; use values$"):
        _ = seeded(DATA, [0.2, 0.5]).value


def test_releases_are_arrays() -> None:
    release = seeded(DATA, "quartiles")
    assert np.asarray(release).tolist() == list(release.values)


VALUES: list[Any] = [
    7,
    -(2**53),
    2.5,
    True,
    False,
    Decimal("2.25"),
    dt.date(2024, 5, 31),
    dt.datetime(2024, 5, 31, 12, 30, 0, 5),
    dt.datetime(2024, 5, 31, tzinfo=BERLIN),
    dt.datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN, fold=1),
    dt.datetime(2024, 5, 31, tzinfo=dt.timezone(dt.timedelta(hours=-3))),
    dt.timedelta(hours=1, microseconds=1),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_answers_are_of_the_type_that_went_in(value: Any, neighbors: str) -> None:
    release = seeded([value] * 501, [0.25, 0.5], epsilon=40, neighbors=neighbors)
    assert release.values == (value, value)
    assert {type(answer) for answer in release.values} == {type(value)}
    if isinstance(value, dt.datetime):
        assert {(answer.tzinfo, answer.fold) for answer in release} == {(value.tzinfo, value.fold)}
    read = dpq.Release.from_json(release.to_json())
    assert read == release
    assert [type(answer) for answer in read] == [type(answer) for answer in release]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "i1", "u8", ">i4", ">f8", "?"])
def test_numpy_scalars_never_leave(dtype: str) -> None:
    release = seeded(np.ones(501, dtype=dtype), 0.5, epsilon=40)
    assert release.value == 1
    assert type(release.value) in (int, float, bool)


def test_bounds_clamp_and_resolution_rounds() -> None:
    release = seeded(DATA, [0.0, 0.25, 0.5, 1.0], bounds=(45, 55), resolution=0.5, epsilon=50)
    assert all(45 <= value <= 55 for value in release)
    assert all(value * 2 == int(value * 2) for value in release)
    wide = seeded(
        np.array([-100, 0, 100] * 200, dtype=np.int8), 0.5, bounds=(1000, 2000), epsilon=50
    )
    assert wide.value == 1000


def test_a_grid_states_the_type() -> None:
    grid = UniformGrid(0, 100)
    for data in (DATA, DATA.tolist(), [], [None], ["text"] * 3, [1.5, 2]):
        release = dpq.quantiles(data, [0.2, 0.8], epsilon=1, grid=grid)
        assert release.type == "int"
        assert all(type(value) is int and 0 <= value <= 100 for value in release)
    assert seeded(DATA, 0.5, grid=UniformGrid(0.0, 100.0, 0.25), epsilon=50).value % 0.25 == 0


# Randomness and guarantees


def test_system_bits_carry_a_guarantee() -> None:
    for rng in (None, random.SystemRandom()):
        release = dpq.median(DATA, epsilon=0.7, rng=rng)
        assert release.guarantee == dpq.PureDP(epsilon=0.7)
        assert release.note == ""
        assert dpq.Release.from_json(release.to_json()) == release
    both = dpq.median(DATA, epsilon=0.7, neighbors="add-remove")
    assert both.guarantee == dpq.PureDP(epsilon=0.7, neighbors=dpq.Neighbors.ADD_REMOVE)


def test_system_bits_do_not_repeat() -> None:
    medians = {
        dpq.median(DATA, epsilon=0.1, bounds=(0.0, 100.0), resolution=2.0**-30).value
        for _ in range(5)
    }
    assert len(medians) == 5


class Loaded(random.SystemRandom):
    """Not the system's own."""


def test_other_bits_carry_none_and_say_why() -> None:
    for rng in (random.Random(7), Loaded()):
        release = dpq.median(DATA, epsilon=1, rng=rng)
        assert release.guarantee is None
        assert release.note == entropy.SEEDED_NOTE
        assert json.loads(release.to_json())["guarantee"] is None
        assert "No privacy guarantee" in str(release)


@pytest.mark.parametrize("neighbors", ["swap", "add-remove"])
def test_seeded_runs_are_reproducible(neighbors: str) -> None:
    options: dict[str, Any] = {"bounds": (0, 100), "neighbors": neighbors}
    once, again = (seeded(DATA, "deciles", seed=3, **options) for _ in range(2))
    assert once == again
    assert once.values != seeded(DATA, "deciles", seed=4, **options).values


def test_seeded_runs_do_not_depend_on_the_order_of_records() -> None:
    shuffled = np.random.default_rng(9).permutation(DATA)
    array, listed = seeded(DATA, "deciles"), seeded(list(DATA), "deciles")
    assert array == seeded(shuffled, "deciles")
    assert array == listed


def test_smaller_epsilon_is_less_accurate() -> None:
    exact = float(np.median(DATA))

    def error(epsilon: float) -> float:
        runs = [seeded(DATA, 0.5, epsilon=epsilon, bounds=(0, 100), seed=k) for k in range(30)]
        return float(np.mean([abs(run.value - exact) for run in runs]))

    assert error(10) < error(1) / 2 < error(0.1) / 4


# Neighbors, size and missing values


def test_under_swap_the_number_of_records_is_public() -> None:
    release = seeded(DATA, 0.5)
    assert release.provenance["size"] == len(DATA)
    assert release.provenance["budget"]["neighbors"] == "swap"  # type: ignore[index]


@pytest.mark.parametrize("missing", [None, "upper", "drop"])
def test_under_add_remove_a_given_size_hides_the_number_of_records(missing: Any) -> None:
    data = [None if k % 10 == 0 else 5 for k in range(8761)]
    release = seeded(
        data, [0.1, 0.9], neighbors="add-remove", size=8000, bounds=(0, 9), missing=missing
    )
    assert release.provenance["size"] == 8000
    assert "size_share" not in release.provenance
    for text in (release.to_json(), repr(release), str(release)):
        for number in (8761, 8761 - 877, 877, 761, 116):
            assert str(number) not in text


def test_under_add_remove_a_size_is_bought_where_none_is_given() -> None:
    asked: dict[str, Any] = {"neighbors": "add-remove", "epsilon": 0.5}
    runs = [seeded(DATA, [0.1, 0.9], seed=k, **asked) for k in range(20)]
    sizes = [run.provenance["size"] for run in runs]
    assert len(set(sizes)) > 5
    assert all(abs(size - len(DATA)) < 200 for size in sizes)  # type: ignore[operator]
    assert runs[0].provenance["size_share"] == 0.2
    assert not {"size", "size_share"} & seeded(DATA, 0.5, seed=1, **asked).provenance.keys()


@pytest.mark.parametrize("size", [0, 1, 100, 10**6, 2**53])
@pytest.mark.parametrize("n", [0, 1, 999])
def test_a_size_far_from_the_truth_changes_no_shape(size: int, n: int) -> None:
    release = seeded(DATA[:n], [0.1, 0.9], neighbors="add-remove", size=size, bounds=(0, 100))
    assert len(release) == 2
    assert all(0 <= value <= 100 for value in release)


def test_add_remove_with_a_good_size_is_accurate() -> None:
    release = seeded(DATA, "quartiles", neighbors="add-remove", size=1000, epsilon=10)
    assert np.abs(np.asarray(release) - np.quantile(DATA, release.q)).max() < 2


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({"missing": "upper"}, 100),
        ({}, 50),
        ({"missing": "drop"}, 50),
        ({"missing": "lower"}, 0),
        ({"missing": 33}, 33),
        ({"missing": 1000}, 100),
        ({"neighbors": "add-remove"}, 50),
        ({"neighbors": "add-remove", "missing": "drop"}, 50),
        ({"neighbors": "add-remove", "missing": "lower"}, 0),
        ({"neighbors": "add-remove", "missing": 33}, 33),
    ],
)
@pytest.mark.parametrize("missing", [None, math.nan, "not a number"])
def test_missing_policies(options: dict[str, Any], answer: int, missing: Any) -> None:
    data = [50] * 300 + [missing] * 700
    assert seeded(data, 0.5, bounds=(0, 100), epsilon=40, **options).value == answer


def test_documentation_names_every_parameter() -> None:
    text = inspect.getdoc(dpq.quantiles) or ""
    for name in inspect.signature(dpq.quantiles).parameters:
        assert f"{name}:" in text


def test_the_public_names() -> None:
    assert {name for name in dpq.__all__ if not hasattr(dpq, name)} == set()
    assert {"quantiles", "median", "quartiles", "deciles", "percentiles"} <= set(dpq.__all__)
