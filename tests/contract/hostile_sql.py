"""The same for engines with types of their own: harmless and hostile values in their SQL."""

from collections.abc import Sequence
from typing import NamedTuple

from tests.contract.hostile_records import N


class Case(NamedTuple):
    """A harmless value by the number i of its row, and values that were made to break a reader."""

    harmless: str
    hostile: Sequence[str]


def _whole(bits: int, *, signed: bool = True) -> Case:
    most = 2 ** (bits - signed) - 1
    return Case("i % 100", (f"'{most}'", f"'{-most - 1 if signed else 0}'", "NULL"))


FLOATS = ("'NaN'", "'Infinity'", "'-Infinity'", "-0.0", "NULL")
SINGLES = Case("i / 7.0", (*FLOATS, "1e-44", "3e38"))
DOUBLES = Case("i / 7.0", (*FLOATS, "5e-324", "1.7e308", "-1.7e308"))
TRUTHS = Case("i % 3 = 0", ("true", "NULL"))
TEXT = Case("i", ("'NaN'", "NULL"))

ENDS = ("'infinity'", "'-infinity'", "'0001-01-01'", "'9999-12-31'", "NULL")
NUMERIC = ("'NaN'", "'Infinity'", "'-Infinity'", "1e35", "-1e35", "NULL")
DIGITS = ("0.12345678901234567", "1e400", "-1e400", "1e-400", "10::numeric ^ 5000")
MOMENTS = (*ENDS, "'20000-01-01'", "'4000-01-01 BC'", "'1969-12-31 23:59:59.999999'")

POSTGRES: dict[str, Case] = {
    **{"smallint": _whole(16), "integer": _whole(32), "bigint": _whole(64)},
    **{"real": SINGLES, "double precision": DOUBLES, "boolean": TRUTHS, "text": TEXT},
    "numeric": Case("round(i / 7.0, 6)", NUMERIC[:4]),
    "numeric ": Case("round(i / 7.0, 6)", (*NUMERIC[4:], *DIGITS)),
    "numeric(10, 2)": Case("i / 7.0", ("'NaN'", "99999999.99", "-99999999.99", "NULL")),
    "numeric(38, 9)": Case("i / 7.0", ("'NaN'", "1e28", "-1e28", "0.123456789012", "NULL")),
    "numeric(38, 30)": Case("i / 7.0", ("'NaN'", "1e7", "-1e7", "1e-30", "NULL")),
    "numeric(50, 2)": Case("i / 7.0", ("'NaN'", "1e47", "-1e47", "NULL")),
    "numeric(3, -4)": Case("i * 10000", ("'NaN'", "9990000", "NULL")),
    "date": Case("date '2020-01-01' + i", MOMENTS[:-1]),
    "timestamp": Case("timestamp '2020-01-01' + i * interval '1 day'", MOMENTS),
    "timestamp(0)": Case("timestamp '2020-01-01' + i * interval '1 day'", MOMENTS),
    "timestamptz": Case("timestamptz '2020-01-01' + i * interval '1 day'", MOMENTS),
    "interval": Case("i * interval '1 day'", ("'100000000 years'", "'-1 month 3 days'", "NULL")),
    "time": Case("time '12:00' + i * interval '1 minute'", ("'24:00'", "NULL")),
}

SIGNED = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
UNSIGNED = {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64, "UHUGEINT": 128}
WIDE = {"DECIMAL(38, 0)": f"{'9' * 38}", "DECIMAL(38, 38)": f"0.{'9' * 38}"}
WIDE |= {"DECIMAL(4, 1)": "999.9", "DECIMAL(18, 3)": "999999999999999.999"}
SMALL_DECIMALS = {
    stated: Case("i / 100.0", (f"'{most}'", f"'-{most}'", "NULL")) for stated, most in WIDE.items()
}
YEARS = ("'290000-01-01'", "'5000-01-01 (BC)'", "'1969-12-31 23:59:59.999'")

DUCKDB: dict[str, Case] = {
    **{stated: _whole(bits) for stated, bits in SIGNED.items()},
    **{stated: _whole(bits, signed=False) for stated, bits in UNSIGNED.items()},
    **{"FLOAT": SINGLES, "DOUBLE": DOUBLES, "BOOLEAN": TRUTHS, "VARCHAR": TEXT},
    **SMALL_DECIMALS,
    "DECIMAL(38, 20)": Case("i / 7", (f"'{'9' * 18}.{'9' * 20}'", f"'-{'9' * 18}'", "NULL")),
    "DATE": Case("DATE '2020-01-01' + i::INTEGER", (*ENDS, *YEARS[:2])),
    **{
        stated: Case("DATE '2020-01-01' + i::INTEGER", (*ENDS, *YEARS))
        for stated in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMPTZ")
    },
    "TIMESTAMP_NS": Case(
        "DATE '2020-01-01' + i::INTEGER",
        ("'infinity'", "'-infinity'", "'1969-12-31 23:59:59.999999999'", "NULL"),
    ),
    "INTERVAL": Case(
        "INTERVAL 1 day * i",
        ("'2147483647 months'", "'-2147483647 months'", "'1 month -3 days 5 seconds'", "NULL"),
    ),
    "TIME": Case("TIME '12:00' + INTERVAL 1 minute * i", ("'24:00:00'", "NULL")),
}

TICKS = ("9223372036854775807", "-9223372036854775807", "0", "-1")
FAR_MOMENTS = (*(f"timestamp_micros({ticks})" for ticks in TICKS), "NULL")
FAR_DAYS = ("2147483647", "-2147483648", "2932897", "-719163")

SPARK: dict[str, Case] = {
    **{stated: _whole(SIGNED[stated]) for stated in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")},
    **{"FLOAT": SINGLES, "DOUBLE": DOUBLES, "BOOLEAN": TRUTHS, "STRING": TEXT},
    **SMALL_DECIMALS,
    "DATE": Case(
        "date_add(DATE '2020-01-01', i)",
        (*(f"date_from_unix_date({day})" for day in FAR_DAYS), "NULL"),
    ),
    "TIMESTAMP": Case("timestamp_seconds(1600000000 + 86400 * i)", FAR_MOMENTS),
    "TIMESTAMP_NTZ": Case("timestamp_seconds(1600000000 + 86400 * i)", FAR_MOMENTS),
    "INTERVAL DAY TO SECOND": Case(
        "make_dt_interval(i)",
        ("make_dt_interval(106751990)", "make_dt_interval(-106751990)", "NULL"),
    ),
    "INTERVAL YEAR TO MONTH": Case("make_ym_interval(i)", ("make_ym_interval(178956970)", "NULL")),
}

ROWS = f"generate_series(0, {N - 1}) AS r(i)"
SPARK_ROWS = f"(SELECT explode(sequence(0, {N - 1})) AS i) AS r"


def value(stated: str, case: Case, *, hostile: bool) -> str:
    """The values of a type, with or without the hostile ones, as an expression."""
    odd = [f"WHEN {5 * k + 1} THEN CAST({bad} AS {stated})" for k, bad in enumerate(case.hostile)]
    harmless = f"CAST({case.harmless} AS {stated})"
    return f"CASE i {' '.join(odd)} ELSE {harmless} END" if hostile else harmless


def select(stated: str, case: Case, *, hostile: bool, rows: str = ROWS) -> str:
    """A query for the values of a type."""
    chosen = value(stated, case, hostile=hostile)
    others = "CASE WHEN i % 2 = 1 THEN 'a' ELSE 'b' END AS g, CAST(floor(i / 4) AS BIGINT) AS u"
    return f"SELECT {chosen} AS v, {others} FROM {rows}"
