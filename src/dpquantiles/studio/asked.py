"""What is asked on the page: fields as text, which become a job, a command and Python."""

import csv
import io
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any
from urllib.parse import urlencode

from dpquantiles import require, written
from dpquantiles.errors import InvalidValue
from dpquantiles.forecast import Forecast
from dpquantiles.forking import cached_property
from dpquantiles.job import Account, Job
from dpquantiles.kinds import Kind
from dpquantiles.ledger import Ledger
from dpquantiles.planner import AUTO
from dpquantiles.privacy import Units
from dpquantiles.require import NAMED_QUANTILES
from dpquantiles.sources.keys import PRIVATE
from dpquantiles.sources.named import Named
from dpquantiles.studio.shelf import Item

LONGEST = 4000
"""The most characters of a field."""

MOST_QUANTILES = 1000
OTHER = "other"
"""Stands for quantiles without a name, which are then in a field of their own."""

KEYS_FILE = "keys.csv"
"""Where the copied command writes keys of several columns."""

NOTHING = "value"
"""The name of the column where there are no data."""


@dataclass(frozen=True)
class Asked:
    """The fields of the form, as they were typed."""

    data: str = ""
    column: str = ""
    type: str = ""
    q: str = "deciles"
    epsilon: str = "1"
    delta: str = ""
    neighbors: str = "swap"
    records: str = ""
    """About how many records there are; for the plan alone."""
    size: str = ""
    """Under add-remove, the public number of records."""
    lower: str = ""
    upper: str = ""
    resolution: str = ""
    missing: str = "drop"
    intervals: str = ""
    by: str = ""
    also: str = ""
    """A second column to group by."""
    keys: str = ""
    unit: str = ""
    rows: str = ""
    mechanism: str = AUTO
    dataset: str = ""

    @classmethod
    def of(cls, form: Mapping[str, str]) -> "Asked":
        """The fields that a form or an address has; others keep their defaults."""
        if form.get("q") == OTHER:
            form = {**form, "q": form.get("others", "")}
        names = [one.name for one in fields(cls)]
        given = {name: form[name].strip()[:LONGEST] for name in names if name in form}
        defaults = {name: text for name, text in given.items() if text or name not in _NEEDED}
        return cls(**defaults)

    @property
    def query(self) -> str:
        """The fields that differ from their defaults, as part of an address."""
        usual = asdict(Asked())
        return urlencode({k: v for k, v in asdict(self).items() if v != usual[k]})

    @cached_property
    def quantiles(self) -> tuple[float, ...]:
        """The quantiles, each once."""
        q = written.quantiles(self.q)
        if len(q) > MOST_QUANTILES:
            raise InvalidValue(f"q must be at most {MOST_QUANTILES} quantiles here, got {len(q)}")
        return q

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns that divide the table."""
        return tuple(filter(None, (self.by, self.also)))

    @property
    def key_rows(self) -> list[list[str]]:
        """The keys of groups: one on each line, with a comma between the parts of two columns.

        Keys of a single column may stand beside each other, with commas between them.
        """
        width = len(self.group_columns)
        lines = [line.strip() for line in self.keys.splitlines() if line.strip()]
        if width == 1:
            lines = [key.strip() for line in lines for key in line.split(",") if key.strip()]
            return [[key] for key in lines]
        rows = [[part.strip() for part in row] for row in csv.reader(lines, skipinitialspace=True)]
        for row in rows:
            if len(row) != width:
                raise InvalidValue(
                    f"keys must have {width} parts on each line, one for each column that divides "
                    f"the table; got {', '.join(row)!r}; for example Kent, f"
                )
        return rows

    @property
    def is_private_keys(self) -> bool:
        """Whether groups are found in the data, by a selection that is paid for."""
        return self.keys == PRIVATE

    def job(
        self, item: Item | None, ledger: Ledger | None = None, request_id: str | None = None
    ) -> Job:
        """The one job that these fields ask for, charged to the ledger if there is one."""
        column = self.column or NOTHING
        if item is not None and not self.column:
            raise InvalidValue("column must be chosen: the one whose quantiles are wanted")
        keys: Any = None
        if self.group_columns:
            keys = PRIVATE if self.is_private_keys else self.key_rows
        account = None
        if ledger is not None and item is not None:
            dataset = self.dataset or item.dataset
            account = Account.of(ledger, dataset=dataset, request_id=request_id)
        return Job(
            data=None if item is None else item.data(self.type or None),
            columns=(column,),
            q=self.quantiles,
            budget=written.budget(self.epsilon, self.delta or None, None, self.neighbors),
            by=self.group_columns,
            keys=keys,
            units=Units.of(
                self.unit or None,
                written.whole("max_rows_per_unit", self.rows) if self.rows else None,
            ),
            bounds=self._bounds(column),
            resolution=self.resolution or None,
            size=written.whole("size", self.size) if self.size else None,
            missing=self.missing,
            mechanism=self.mechanism,
            intervals=written.intervals(self.intervals or None, "data"),
            account=account,
            as_text=True,
        )

    def _bounds(self, column: str) -> dict[str | None, Any]:
        if not self.lower and not self.upper:
            return {}
        if not self.lower or not self.upper:
            raise InvalidValue("bounds must be two values, a lowest and a highest; got one")
        return {column: (self.lower, self.upper)}

    @property
    def guess(self) -> int | None:
        """About how many records there are."""
        if not self.records:
            return None
        return require.count(minimum=1, records=written.whole("records", self.records))

    def forecast(self, item: Item | None, ledger: Ledger | None = None) -> Forecast:
        """What the job would read and cost, by schemas alone."""
        if item is not None:
            return Forecast.declared(self.job(item, ledger), self.guess)
        job = self.job(None)
        pair = job.bounds.get(job.columns[0])
        grid = written.stated_grid(self.type or None, pair, job.resolution)
        return Forecast(job, grid, guess=self.guess, place="memory")

    def command(self, item: Item, ledger: str | None, request_id: str | None = None) -> str:
        """The same release as a command line."""
        data = item.data(self.type or None)
        words = ["dpquantiles", "release"]
        words += ["--sql", data.name] if data.is_query else [data.name]
        words += ["--database", data.database] if data.database else []
        options = {
            "-c": self.column,
            "--type": "" if data.is_query else self.type,
            "-q": self.q,
            "--epsilon": self.epsilon,
            "--delta": self.delta,
            "--neighbors": _unusual(self, "neighbors"),
            "--size": self.size,
            "--resolution": self.resolution,
            "--missing": _unusual(self, "missing"),
            "--intervals": self.intervals,
            "--unit": self.unit,
            "--max-rows-per-unit": self.rows,
            "--mechanism": _unusual(self, "mechanism"),
        }
        if ledger is not None:
            options |= {"--ledger": ledger, "--dataset": self.dataset or item.dataset}
            options |= {"--request-id": request_id or ""}
        words += [word for name, text in options.items() if text for word in (name, text)]
        words += ["--bounds", self.lower, self.upper] if self.lower else []
        words += [word for column in self.group_columns for word in ("--by", column)]
        if not self.group_columns:
            return shlex.join(words)
        if self.is_private_keys or len(self.group_columns) == 1:
            listed = PRIVATE if self.is_private_keys else ",".join(key for (key,) in self.key_rows)
            return shlex.join([*words, "--keys", listed])
        lines = [_csv_line(row) for row in (self.group_columns, *self.key_rows)]
        saves = shlex.join(["printf", r"%s\n", *lines])
        return f"{saves} > {KEYS_FILE} && {shlex.join([*words, '--keys', KEYS_FILE])}"

    def python(self, item: Item, kind: Kind, ledger: str | None) -> str:
        """A release of the same kind in Python; `kind` is the type of the column."""
        data = item.data(self.type or None)
        budget = f", epsilon={written.number('epsilon', self.epsilon, '1'):g}"
        if self.delta:
            budget += f", delta={self.delta}"
        named = self.q if self.q in NAMED_QUANTILES else None
        lines = [
            _source(data),
            repr(named) if named else repr(list(self.quantiles)),
            f"column={self.column!r}{budget}",
            *(f"{name}={text}" for name, text in self._typed(item, kind).items()),
        ]
        before = ["import dpquantiles as dpq"]
        if data.database:
            before += ["import duckdb"]
        if any("dt." in line for line in lines):
            before.insert(0, "import datetime as dt")
        if any("Decimal(" in line for line in lines):
            before.insert(0, "from decimal import Decimal")
        if ledger is not None:
            lines.append(f"ledger=dpq.Ledger({ledger!r}), dataset={self.dataset or item.dataset!r}")
        body = "".join(f"    {line},\n" for line in lines)
        return "\n".join([*before, "", f"release = dpq.quantiles(\n{body})", "print(release)"])

    def _typed(self, item: Item, kind: Kind) -> dict[str, str]:
        """The other options as Python writes them, in the type of the column."""
        grid = {}
        if self.lower:
            ends = (written.value(end, kind, "bounds") for end in (self.lower, self.upper))
            grid["bounds"] = f"({', '.join(map(_literal, ends))})"
        if self.resolution:
            grid["resolution"] = _literal(written.distance(self.resolution, kind, "resolution"))
        plain = {name: repr(getattr(self, name)) for name in ("neighbors", "mechanism")}
        usual = {name: text for name, text in plain.items() if _unusual(self, name)}
        if _unusual(self, "missing"):
            usual["missing"] = _literal(written.missing_policy(self.missing, kind))
        groups = self._typed_groups(item) if self.group_columns else {}
        counts = {"size": self.size, "max_rows_per_unit": self.rows, "intervals": self.intervals}
        unit = {"unit": repr(self.unit)} if self.unit else {}
        return {**grid, **usual, **groups, **unit, **{k: v for k, v in counts.items() if v}}

    def _typed_groups(self, item: Item) -> dict[str, str]:
        by = self.group_columns
        types = [item.columns().get(column) for column in by]
        named = {"by": repr(by[0]) if len(by) == 1 else repr(list(by))}
        if self.is_private_keys:
            return {**named, "keys": repr(PRIVATE)}
        rows = [
            [part if type_ == "int" else repr(part) for part, type_ in zip(row, types, strict=True)]
            for row in self.key_rows
        ]
        listed = [row[0] if len(by) == 1 else f"({', '.join(row)})" for row in rows]
        return {**named, "keys": f"[{', '.join(listed)}]"}


_NEEDED = ("q", "epsilon", "neighbors", "missing", "mechanism")
"""Fields that are never empty: an empty one means the default."""


def _csv_line(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def _unusual(asked: Asked, name: str) -> str:
    text: str = getattr(asked, name)
    return "" if text == getattr(Asked(), name) else text


def _source(data: Named) -> str:
    if data.database:
        return f"duckdb.connect({data.database!r}, read_only=True).sql({data.name!r})"
    return f"dpq.csv({data.name!r}, type={data.type!r})" if data.type else repr(data.name)


def _literal(value: Any) -> str:
    """A value as Python writes it."""
    return repr(value).replace("datetime.", "dt.", 1)
