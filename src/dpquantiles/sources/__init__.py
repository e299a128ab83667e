"""Where data comes from; the only modules that import data libraries."""
