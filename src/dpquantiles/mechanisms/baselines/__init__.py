"""Mechanisms of published comparisons: callable by name, but others answer better."""
