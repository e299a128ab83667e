"""`dpquantiles release --dry-run`: what a release would read and cost, and its accuracy."""

from dpquantiles.cli import screen
from dpquantiles.cli.plan import show
from dpquantiles.forecast import Forecast
from dpquantiles.grid import precision_notes
from dpquantiles.job import Job
from dpquantiles.present import words
from dpquantiles.present.spending import fits, left
from dpquantiles.run import GriddedColumn

UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
WIDEST = len("Missing:")
UNKNOWN_TYPE = "not declared, found when the file is read; state it with --type"


def show_dry_run(job: Job) -> None:
    """Show a job of one column and its plan; no record is read and nothing is charged."""
    forecast = Forecast.of(job)
    screen.result(_report(job, forecast))
    screen.result("")
    for k, note in enumerate(forecast.draw.notes):
        screen.note(note if k else f"{note}; see plan --size for others")
    show(forecast.plan(), mechanism=job.mechanism)


def _report(job: Job, forecast: Forecast) -> str:
    """The lines that say what would be read and what it would cost."""
    size, column = job.data.size(), forecast.column
    amounts = [
        _counted(size.files, "file"),
        None if size.bytes is None else _bytes(size.bytes),
        _counted(forecast.rows, "row"),
    ]
    amount = ", ".join(filter(None, amounts))
    count = len(set(job.q))
    lines = {
        "Reads": f"{job.data}{f' ({amount})' if amount else ''}",
        "Column": f"{job.columns[0]}: {column.source.kind.name if column else UNKNOWN_TYPE}",
        "Scans": "one in memory, or two by an engine; more only where values crowd together",
        "Answers": f"{_counted(count, 'quantile')}; mechanism: {job.mechanism}",
        "Costs": words.guarantee(job.promise()),
        "Missing": _missing(job, column),
    }
    if column is not None:
        notes = precision_notes(column.grid, column.source.domain)
        lines |= {"Rounds": " ".join(notes)} if notes else {}
        warnings = forecast.warnings()
        lines |= {"Warns": " ".join(warnings)} if warnings else {}
    if job.account is not None:
        lines["Budget"] = left(job).words + (
            "" if fits(job) else "; a new request of this cost would be refused"
        )
    written = [f"{name + ':':<{WIDEST}} {line}" for name, line in lines.items()]
    return "\n".join([*written, "", "Dry run: no record was read, nothing was released."])


def _missing(job: Job, column: GriddedColumn | None) -> str:
    """What becomes of missing values and, in CSV files, of cells that are of no or another type."""
    policy = job.missing if column is None else column.stated_missing
    if not job.data.is_text:
        return words.missing(policy)
    sentence = words.cells("" if column is None else column.grid.kind.name, policy)
    return f"{sentence[0].upper()}{sentence[1:]}"


def _counted(number: int | None, noun: str) -> str | None:
    if number is None:
        return None
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _bytes(size: int) -> str:
    power = min(max(0, len(str(size)) - 1) // 3, len(UNITS) - 1)
    return f"{size / 1000**power:,.{min(power, 1)}f} {UNITS[power]}"
