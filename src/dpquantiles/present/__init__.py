"""Presentation: results, plans, ledgers and audits as text, tables and pictures."""
