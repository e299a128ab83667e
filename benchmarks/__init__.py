"""Ratios against NumPy and against the paper's own algorithm, measured and never asserted."""
