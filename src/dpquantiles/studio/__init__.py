"""The studio: a local page to plan, release and keep books."""
