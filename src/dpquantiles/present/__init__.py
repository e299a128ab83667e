"""Presentation: a release as text, table or picture. Pure: value in, string out."""
