"""`dpquantiles release --dry-run`: what a release would read and cost, and its accuracy."""

from dataclasses import replace

from dpquantiles import cautions
from dpquantiles.cli import screen
from dpquantiles.cli.plan import show, stated_grid
from dpquantiles.grid import Grid, precision_notes
from dpquantiles.job import USUAL_GROUP, Job
from dpquantiles.ledger import Ledger, entries
from dpquantiles.ledger.entries import RECORD
from dpquantiles.mechanisms.count import COUNT_SHARE
from dpquantiles.planner.choice import AUTO, UNKNOWN_SIZE
from dpquantiles.planner.costs import SourceKind
from dpquantiles.planner.plans import Plan, planned
from dpquantiles.planner.reference import reference
from dpquantiles.present import words
from dpquantiles.present.report import Remains
from dpquantiles.privacy import Neighbors
from dpquantiles.run import GriddedColumn, check_drawable, declared_columns, open_job

UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
WIDEST = len("Missing:")
UNKNOWN_TYPE = "not declared, found when the file is read; state it with --type"


def show_dry_run(job: Job) -> None:
    """Show a job of one column and its plan; no record is read and nothing is charged."""
    opened, grouping = open_job(job)
    check_drawable(job, opened, grouping)
    ((name, column),) = declared_columns(job, opened).items()
    rows = opened.rows() if column and _rows_are_public(job) else None
    stated = (job.data.type, job.bounds.get(name), job.resolution)
    grid = stated_grid(*stated) if column is None else column.grid
    place = None if job.by else opened.place
    screen.result(_report(job, column, rows, place))
    screen.result("")
    show(_plan(job, grid, None if job.by else rows, place), mechanism=job.mechanism)


def _rows_are_public(job: Job) -> bool:
    """Whether the number of rows is public; with units, only the number of units is."""
    return job.budget.neighbors is Neighbors.SWAP and job.units.column is None


def _plan(job: Job, grid: Grid, rows: int | None, place: SourceKind | None) -> Plan:
    """The plan of one draw; an unknown number of records is assumed, and a note says so."""
    budget, n = job.price.draw, rows if job.typical_size is None else job.typical_size
    swap, sized = budget.neighbors is Neighbors.SWAP, True
    if n is None:
        n = USUAL_GROUP if job.by and swap else UNKNOWN_SIZE
        whose = "of a group" if job.by else "of records"
        screen.note(f"the number {whose} is not known: {n:,} assumed; see plan --size for others")
        sized = swap or not job.does_without_size(grid)
        if not sized:
            screen.note("joint_exp needs no number of records for these quantiles; others buy one")
        elif not swap:
            _, budget = budget.split(COUNT_SHARE)
            screen.note("a fifth of the budget buys their number; errors are those of the rest")
    n, auto = max(1, n), replace(job, mechanism=AUTO)
    view = reference("even", n, grid)
    chosen = auto.choose(n, grid, place)
    return planned(budget, job.q, view, n, job.intervals, chosen=chosen, sized=sized)


def _report(
    job: Job, column: GriddedColumn | None, rows: int | None, place: SourceKind | None
) -> str:
    """The lines that say what would be read and what it would cost."""
    size = job.data.size()
    amounts = [
        _counted(size.files, "file"),
        None if size.bytes is None else _bytes(size.bytes),
        _counted(rows, "row"),
    ]
    amount = ", ".join(filter(None, amounts))
    count = len(set(job.q))
    lines = {
        "Reads": f"{job.data}{f' ({amount})' if amount else ''}",
        "Column": f"{job.columns[0]}: {column.source.kind.name if column else UNKNOWN_TYPE}",
        "Scans": "one in memory, or two by an engine; more only where values crowd together",
        "Draws": f"{count} quantile{'s' if count > 1 else ''} by {job.mechanism}",
        "Costs": words.guarantee(job.promise()),
        "Missing": _missing(job, column),
    }
    if column is not None:
        notes = precision_notes(column.grid, column.source.domain)
        lines |= {"Rounds": " ".join(notes)} if notes else {}
        n = UNKNOWN_SIZE if rows is None else rows
        mechanism = job.choose(n, column.grid, place).mechanism
        told = cautions.for_column(job, mechanism, None if job.by else rows, column.grid)
        if "warnings" in told:
            lines["Warns"] = " ".join(told["warnings"])
    if job.account is not None:
        fits = _fits(job)
        lines["Budget"] = left(job).words + (
            "" if fits else "; a new request of this cost would be refused"
        )
    written = [f"{name + ':':<{WIDEST}} {line}" for name, line in lines.items()]
    return "\n".join([*written, "", "Dry run: no record was read, nothing was released."])


def _missing(job: Job, column: GriddedColumn | None) -> str:
    """What becomes of missing values and, in CSV files, of cells that are of no or another type."""
    policy = job.missing if column is None else column.stated_missing
    if not job.data.is_text:
        return words.missing(policy)
    sentence = words.cells("value of its type" if column is None else column.grid.kind.name, policy)
    return f"{sentence[0].upper()}{sentence[1:]}"


def left(job: Job) -> Remains:
    """The remaining budget of a job with an account."""
    assert job.account is not None
    account, unit = job.account, job.units.column or RECORD
    return remains(account.ledger, account.dataset, account.part, unit)


def remains(ledger: Ledger, dataset: str, part: str | None, unit: str) -> Remains:
    """The remaining budget of a data set."""
    rest = ledger.remaining(dataset, part=part, unit=unit)
    measure, budget = ledger.budget.measure, entries.words(ledger.budget)
    words = f"{measure} = {entries.digits(rest)} remains of {budget}"
    return Remains(dataset, words, rest / ledger.budget.amount)


def _fits(job: Job) -> bool:
    """Whether the ledger would grant a new request of this cost."""
    assert job.account is not None
    dataset, part = job.account.dataset, job.account.part
    unit = job.units.column or RECORD
    return job.account.ledger.fits(job.budget, dataset=dataset, part=part, unit=unit)


def _counted(number: int | None, noun: str) -> str | None:
    if number is None:
        return None
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _bytes(size: int) -> str:
    power = min(max(0, len(str(size)) - 1) // 3, len(UNITS) - 1)
    return f"{size / 1000**power:,.{min(power, 1)}f} {UNITS[power]}"
