"""Mechanisms from published comparisons; they can be called by name, but others are better."""
