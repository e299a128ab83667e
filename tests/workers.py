"""Which tests run on the same worker: those that share what starts slowly, and is started once."""

GROUPS = {
    "engines": ("spark", "postgres", "tests/sources/test_engines.py"),
    "studio": ("tests/studio/test_browser.py", "tests/studio/test_server.py"),
}
"""By words in the name of a test with its file and its parameters."""


def group_of(nodeid: str) -> str:
    """The group of a test; most are alone."""
    found = (name for name, words in GROUPS.items() if any(word in nodeid for word in words))
    return next(found, nodeid)
