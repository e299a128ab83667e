"""Comparisons of mechanisms on known data: spec to rows to pages, with public names only."""
