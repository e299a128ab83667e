"""Audits: checks of the privacy claims of this package, or of any function, on any machine."""

from dpquantiles.auditing.checks import Audit, Finding
from dpquantiles.auditing.package import audit

__all__ = ["Audit", "Finding", "audit"]
