"""All that is written: figures, claims as JSON, the page and the summary."""

import json
from pathlib import Path

from benchmarks.speed import machine
from experiments.paper import claims, figures, page, summary
from experiments.paper.results import Results
from experiments.paper.scale import FULL, Scale
from experiments.paper.words import Report, count_words


def write(folder: Path, scale: Scale, results: Results) -> None:
    """Everything into the folder, the page last."""
    found = claims.findings(results)
    figures.draw_all(results, folder / "figures")
    report = Report(results, found, folder / "figures", notes(scale, results))
    table = [finding.to_dict() for finding in found]
    text = json.dumps(table, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "claims.json").write_text(text + "\n", encoding="utf-8")
    (folder / "summary.md").write_text(summary.render(report), encoding="utf-8")
    (folder / "index.html").write_text(page.render(report), encoding="utf-8")
    print(f"claims: {count_words(found)}; see {folder / 'index.html'}")
    for caution in cautions(scale):
        print(caution)


def cautions(scale: Scale) -> list[str]:
    """What a quick run says about its verdicts."""
    if scale.trials >= FULL.trials:
        return []
    return [
        f"{scale.trials} trials per point are too few to judge claims: many that hold in the full "
        f"run, with {FULL.trials} trials, do not hold here by chance."
    ]


def notes(scale: Scale, results: Results) -> list[str]:
    """What a reader must know before the figures."""
    here = machine()
    return [
        *cautions(scale),
        f"A {scale.name} run: {scale.trials} trials per point, fewer where a release takes "
        f"seconds, none where m n is above {scale.most_work:,}; the paper's captions say 50 "
        "trials and its text 20.",
        f"Times were measured beside {scale.beside}, on {here['cpu']}, {here['cores']} cores, "
        f"Python {here['python']}, NumPy {here['numpy']}, {here['date']}.",
        *results.tables.messages,
    ]
