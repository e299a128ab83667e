"""Audits: what a skeptic can check about this package, or about any function, on any machine."""

from dpquantiles.auditing.checks import Audit, Finding
from dpquantiles.auditing.package import audit

__all__ = ["Audit", "Finding", "audit"]
