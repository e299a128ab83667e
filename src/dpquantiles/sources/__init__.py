"""Where data come from; the only modules that import data libraries."""
