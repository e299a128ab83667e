"""Comparisons of mechanisms on known data: spec in, rows out, pages from rows; public names only."""
