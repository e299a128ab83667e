"""What the library states: constants, parameters that may be left out, and how much is remembered.

Also how a call is written down, with its answer or its refusal.
"""

import ast
import dataclasses
import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable, Iterator
from enum import Enum
from fractions import Fraction
from itertools import product
from types import FunctionType
from typing import Any

import numpy as np

import dpquantiles as dpq

Case = tuple[str, Callable[[], Any]]

PACKAGES = ("privacy", "mechanisms", "kernels", "intervals", "results", "ledger")
PLAIN = (int, float, str, bytes, Fraction, tuple, dict, slice, type(None))
OF_THE_MACHINE = "SOFTWARE"


def plain(value: Any) -> Any:
    """A value as JSON can hold it: of a dataclass, what is not as it would be if left out."""
    if isinstance(value, Enum | str):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float | Fraction):
        return float(f"{float(value):.12g}")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
        stated = {one.name: one.default for one in dataclasses.fields(value)}
        kept = {name: held for name, held in named.items() if held != stated[name] and name != "q"}
        return {type(value).__name__: plain(kept)}
    if isinstance(value, dict):
        return {str(key): plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(one) for one in value]
    return value if isinstance(value, bool | int | None) else repr(value)


def case(name: str, function: Callable[..., Any], *given: Any, **named: Any) -> Case:
    """One call; what it refuses counts as its answer."""

    def call() -> Any:
        try:
            return json.loads(json.dumps(plain(function(*given, **named))))
        except (ValueError, TypeError, dpq.DemandTooLarge) as refusal:
            return f"{type(refusal).__name__}: {refusal}"

    return name, call


def table(function: Callable[..., Any], *columns: Any, name: str = "") -> Iterator[Case]:
    """One function, for all combinations of what each parameter may be."""
    for given in product(*columns):
        yield case(f"{name or function.__name__}{given!r}", function, *given)


def of_constants() -> Iterator[Case]:
    """What every module states in capitals, and what parameters are when they are left out."""
    for package in PACKAGES:
        folder = importlib.import_module(f"dpquantiles.{package}").__path__
        for found in pkgutil.walk_packages(folder, f"dpquantiles.{package}."):
            module = importlib.import_module(found.name)
            text = ast.parse(inspect.getsource(module))
            assigned = {
                name.id
                for statement in text.body
                if isinstance(statement, ast.Assign)
                for target in statement.targets
                for name in ast.walk(target)
                if isinstance(name, ast.Name)
            }
            defined = {one.name for one in text.body if isinstance(one, ast.ClassDef)}
            defined |= {one.name for one in text.body if isinstance(one, ast.FunctionDef)}
            where = found.name.removeprefix("dpquantiles.")
            for name in sorted(assigned):
                value = getattr(module, name)
                if name.isupper() and name != OF_THE_MACHINE and isinstance(value, PLAIN):
                    yield case(f"{where}.{name}", repr, value)
            for name in sorted(defined):
                yield from _defaults(f"{where}.{name}", getattr(module, name))


def _defaults(where: str, thing: Any) -> Iterator[Case]:
    """Of a function, or of a class and its values and methods."""
    stated = vars(thing) if inspect.isclass(thing) else {}
    functions = {where: thing, **{f"{where}.{name}": found for name, found in stated.items()}}
    for name, found in functions.items():
        if hasattr(found, "cache_parameters"):
            yield case(f"{name} remembers", found.cache_parameters)
        if isinstance(found, FunctionType):
            for parameter in inspect.signature(found).parameters.values():
                if isinstance(parameter.default, PLAIN):
                    yield case(f"{name}({parameter.name})", repr, parameter.default)
    if dataclasses.is_dataclass(thing):
        by_name = [one.name for one in dataclasses.fields(thing) if one.kw_only]
        yield case(f"{where} by name", list, by_name)
    for name, value in sorted(stated.items()):
        if name == "profile" or (isinstance(value, PLAIN) and not name.startswith("_")):
            yield case(f"{where}.{name}", repr, value)
