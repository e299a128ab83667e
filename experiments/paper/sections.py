"""What the page says beside each figure: a heading, what is shown, and how to read it."""

from typing import NamedTuple


class Section(NamedTuple):
    """One figure with its words; `paper` tells which figure or table of the paper it repeats."""

    figure: str
    heading: str
    paper: str
    words: str


SECTIONS = (
    Section(
        "histograms",
        "The four data sets",
        "Figure “Histograms for the four datasets”",
        "10,000 records each, 100 bins of equal width.",
    ),
    Section(
        "missed",
        "Missed points against the number of quantiles",
        "Figure “Average # misclassified points per quantile vs. # quantiles”",
        "ε = 1, 1,000 records, bounds [-100, 100], logarithmic axis, bands of one standard error. "
        "JointExp, AppIndExp (δ = 1e-6), CSmooth (rho = ε²/2, tuned t) and AggTree (tuned shape) "
        "as the paper ran them, but AggTree is this library's, whose counts are made consistent "
        "and nonnegative. The blue line is this library's joint_exp; it is also told that "
        "values of the last two data sets have two decimals. The default call takes another "
        "mechanism for more than about a dozen quantiles.",
    ),
    Section(
        "distance",
        "Distance error against the number of quantiles",
        "Figure “Distance error vs # quantiles”",
        "The same releases, measured as the mean distance between private and true quantiles.",
    ),
    Section(
        "time",
        "Time",
        "Figure “Time vs # quantiles” and the times for m = 30",
        "Left: 1,000 Gaussian records. Right: m = 30, over the time of numpy.sort on the same "
        "array, measured in turn in the same process. The paper's own seconds are divided by the "
        "time of sorting here, so that its machine is taken to be like this one. “Line by line” is "
        "the paper's pseudocode with Fourier transforms.",
    ),
    Section(
        "smoothness",
        "The tuned t of CSmooth",
        "Figure “Tuned t used for CSmooth across different quantile ranges”",
        "50 logarithmically spaced t between 0.01 and 1; the one of least variance on 1,000 "
        "records of N(0, 1), for every quantile of m = 1 .. 29, averaged over sets of records.",
    ),
    Section(
        "shapes",
        "The tuned height and branching of AggTree",
        "Both tables “Tuned height and branching parameters”",
        "Heights 2 to 15 and branchings 2 to 15 with at most 15⁴ leaves (a quick run: 15³), on "
        "N(0, 1). The figure compares the paper's choice with ours on fresh records that took no "
        "part in choosing: a bar (two standard errors) that meets zero is a difference within "
        "noise. As described, the paper's tree has Laplace noise of scale h/ε; under swap "
        "neighbors 2h/ε is due, which ours pays, and ours makes the counts nonnegative: either "
        "may move the best shape.",
    ),
    Section(
        "bounds",
        "Sensitivity to the bounds",
        "Footnote “choosing loose bounds does not greatly affect utility”",
        "m = 9. Bounds as in the paper, 10 and 1,000 times looser, and none at all, which the "
        "paper's mechanisms cannot do.",
    ),
    Section(
        "many",
        "Beyond the paper: very many quantiles",
        "",
        "All mechanisms of the library, ε = 1. A mechanism that says that these public numbers do "
        "not suit it has no point.",
    ),
    Section(
        "tied",
        "Beyond the paper: tied data",
        "Footnote on duplicate points",
        "ε = 1, 1,000 records, sensible bounds. The paper's mechanism gives no mass to tied "
        "values; the paper suggests small noise on the data, whose best case is shown: as "
        "wide as the resolution, with answers rounded to it. An error of zero is drawn at the "
        "bottom.",
    ),
    Section(
        "epsilon",
        "Beyond the paper: from little to much budget",
        "",
        "csmooth gets rho = ε²/2 and app_ind_exp δ = 1e-6, both weaker promises than ε.",
    ),
    Section(
        "neighbors",
        "Beyond the paper: swap and add-remove neighbors",
        "",
        "Under add-remove the number of records is protected too. It is either stated as public "
        "knowledge, or bought with a fifth of ε; a tree and the paper's mechanism need neither.",
    ),
    Section(
        "sizes",
        "Beyond the paper: groups from 100 to a million records",
        "",
        "ε = 1, m = 9. Missed points, not shares: the error hardly grows with the data.",
    ),
)
