"""`dpquantiles doctor`: what is installed, what works, and what to install for the rest."""

import platform
from collections.abc import Callable
from importlib import metadata

import typer

from dpquantiles import api, entropy
from dpquantiles.cli import screen
from dpquantiles.version import __version__

CORE = ("numpy", "narwhals", "typer", "rich")

OPTIONAL = {
    "pandas": ("pandas", "columns of pandas"),
    "polars": ("polars", "columns of Polars; Parquet files"),
    "pyarrow": ("pyarrow", "columns of PyArrow; Parquet files"),
    "modin": ("modin", "tables of Modin"),
    "duckdb": ("duckdb", "files by pattern or address; SQL"),
    "pyspark": ("spark", "tables of Spark"),
    "ibis-framework": ("ibis", "tables of Ibis, as of PostgreSQL"),
    "dask": ("dask", "tables of Dask"),
    "dp-accounting": ("accounting", "events for its accountants"),
    "matplotlib": ("plot", "the figures of the benchmarks"),
    "scipy": ("paper", "the experiments of the paper"),
}
"""By library: the extra that installs it, and what it is for."""


def doctor() -> None:
    """Show versions and optional libraries, and check that the core works."""
    checks = {name: _failure(check) for name, check in CHECKS.items()}
    versions = {"dpquantiles": __version__, "Python": platform.python_version()}
    versions |= {name: _version(name) or "missing" for name in CORE}
    lines = [
        *(f"{name:<12} {version}" for name, version in versions.items()),
        "",
        "Optional libraries",
        *(f"  {_optional(name, *about)}" for name, about in OPTIONAL.items()),
        "",
        "Self-check",
        *(f"  {_verdict(name, failure)}" for name, failure in checks.items()),
    ]
    screen.result("\n".join(lines))
    if any(checks.values()):
        raise typer.Exit(1)


def _version(library: str) -> str | None:
    """The installed version, read without importing the library."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


def _optional(library: str, extra: str, use: str) -> str:
    version = _version(library)
    hint = "" if version else f" pip install 'dpquantiles[{extra}]'"
    return f"{library:<14} {version or 'missing':<10} {use:<33}{hint}".rstrip()


def _verdict(name: str, failure: str) -> str:
    return f"failed  {name}: {failure}" if failure else f"ok  {name}"


def _failure(check: Callable[[], bool]) -> str:
    """Why a check fails; nothing when it passes."""
    try:
        return "" if check() else "wrong result"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _random_bits_differ() -> bool:
    bits = entropy.system()
    return bits.getrandbits(128) != bits.getrandbits(128)


def _tiny_release_works() -> bool:
    release = api.median(range(101), epsilon=1, bounds=(0, 100))
    return release.guarantee is not None and 0 <= release.value <= 100


CHECKS: dict[str, Callable[[], bool]] = {
    "secure random bits from the operating system": _random_bits_differ,
    "a private median of the numbers 0 to 100": _tiny_release_works,
}
