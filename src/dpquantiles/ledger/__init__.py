"""Ledgers: files that record charges and releases, only grow, and prove their own history."""

from dpquantiles.ledger.ledger import Ledger

__all__ = ["Ledger"]
