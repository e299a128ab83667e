"""The command line: each command parses its arguments, calls the library and shows the result."""

from dpquantiles.cli.app import main

__all__ = ["main"]
