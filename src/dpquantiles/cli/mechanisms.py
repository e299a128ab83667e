"""`dpquantiles mechanisms`: what each algorithm can do, and when to use it."""

import json
import textwrap
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from dpquantiles.cli import options, screen
from dpquantiles.mechanisms import MECHANISMS


def mechanisms(as_json: options.AsJson = False) -> None:
    """List the mechanisms: budgets, neighbors, cost, and when to use each."""
    profiles = {name: asdict(mechanism.profile) for name, mechanism in MECHANISMS.items()}
    if as_json:
        listing = [{"name": name, **profile} for name, profile in profiles.items()]
        screen.result(json.dumps(listing, indent=2))
    else:
        parts = [_profile(name, profile, screen.width()) for name, profile in profiles.items()]
        screen.result("\n\n".join(parts))


def _profile(name: str, profile: Mapping[str, Any], width: int) -> str:
    """A mechanism for a terminal: when to use it, and what it can do."""
    facts = {
        "budgets": ", ".join(profile["kinds"]),
        "neighbors": ", ".join(profile["neighbors"]),
        "bounds": "needed" if profile["needs_bounds"] else "not needed",
        "cost": profile["cost"],
    }
    title = f"{name} (research only)" if profile["research_only"] else name
    when = textwrap.wrap(profile["when"], width - 2)
    lines = [f"{label:10}{fact}" for label, fact in facts.items()]
    return "\n".join([title, *(f"  {line}" for line in [*when, *lines])])
