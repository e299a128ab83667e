"""Generated calls for so many minutes, or one again: `python -m experiments.fuzz --help`."""

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from experiments.fuzz.check import RELEASED, UNHELD, Report, check
from experiments.fuzz.workers import Check, Worker
from experiments.rows import alone_in

FOLDER = Path("build/fuzz")
SECONDS_BETWEEN_LINES = 10.0
CASES_PER_PROCESS = 2000


class Progress:
    """Counts of a run that may be cut off at any moment and goes on where it stopped."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "progress.json"
        kept = json.loads(self.path.read_text("utf-8")) if self.path.exists() else {}
        self.next: int = kept.get("next", 0)
        self.minutes: float = kept.get("minutes", 0.0)
        self.outcomes = Counter(kept.get("outcomes", {}))
        self.failures: list[int] = kept.get("failures", [])

    def add(self, report: Report, seconds: float) -> None:
        """Count a case, and keep what is wrong with it at once."""
        self.next = report.number + 1
        self.minutes += seconds / 60
        self.outcomes[reason(report.outcome)] += 1
        if report.findings:
            self.failures.append(report.number)
            plain = json.dumps(asdict(report), indent=2)
            (self.folder / f"case-{report.number}.json").write_text(plain, "utf-8")

    def save(self) -> None:
        """Write the counts; a reader finds the old ones or the new."""
        names = ("next", "minutes", "outcomes", "failures")
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps({name: getattr(self, name) for name in names}), "utf-8")
        fresh.replace(self.path)

    @property
    def line(self) -> str:
        """How far it is."""
        cases, released = sum(self.outcomes.values()), self.outcomes[RELEASED]
        refused = cases - released - self.outcomes[UNHELD]
        return (
            f"fuzz: {cases:,} cases ({2 * cases:,} calls) in {self.minutes:.1f} minutes: "
            f"{released:,} released, {refused:,} refused, {len(self.failures):,} failures"
        )

    @property
    def summary(self) -> str:
        """All refusals by reason, and what failed."""
        reasons = [f"{count:8,}  {words}" for words, count in self.outcomes.most_common()]
        failed = [f"failed: make fuzz CASE={number}" for number in self.failures]
        return "\n".join([self.line, *reasons, *failed])


def reason(outcome: str) -> str:
    """The part of a refusal that does not depend on what was passed."""
    return outcome.partition(", got ")[0].partition(": ")[2][:90] or outcome


def run(folder: Path, minutes: float, check: Check = check, most: int | None = None) -> Progress:
    """Cases from the next number on, until the time is over or so many were checked."""
    folder.mkdir(parents=True, exist_ok=True)
    with alone_in(folder):
        progress, worker = Progress(folder), Worker(check)
        begun = last = told = time.monotonic()
        done = 0
        try:
            while last - begun < 60 * minutes and (most is None or done < most):
                report, done = worker.report(progress.next), done + 1
                now = time.monotonic()
                progress.add(report, now - last)
                last = now
                if report.findings or now - told > SECONDS_BETWEEN_LINES:
                    told = now
                    progress.save()
                    shown = (
                        f"\ncase {report.number}: {report.findings[0]}" if report.findings else ""
                    )
                    print(progress.line + shown, file=sys.stderr, flush=True)
                if done % CASES_PER_PROCESS == 0:
                    worker.end()
        except KeyboardInterrupt:
            pass
        finally:
            worker.end()
            progress.save()
    return progress


def replay(number: int) -> Report:
    """One case again, here."""
    report = check(number)
    print(report.case, report.outcome, *report.findings, sep="\n")
    return report


def main() -> int:
    """The exit code is 1 where something failed."""
    parser = argparse.ArgumentParser(prog="python -m experiments.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--case", type=int, help="run one case again and say what is wrong")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    if options.case is not None:
        return bool(replay(options.case).findings)
    progress = run(options.folder, options.minutes)
    print(progress.summary)
    return bool(progress.failures)


if __name__ == "__main__":
    sys.exit(main())
