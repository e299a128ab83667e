"""The paper's figures and tables, reproduced: spec to rows to figures to one page."""
