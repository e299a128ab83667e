"""The command line: each command parses its arguments, calls the engine and presents the result."""

from dpquantiles.cli.app import main

__all__ = ["main"]
