"""What was spent: a ledger of charges and releases that only grows and proves its own history."""

from dpquantiles.ledger.ledger import Ledger

__all__ = ["Ledger"]
