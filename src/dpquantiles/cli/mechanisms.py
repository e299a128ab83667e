"""`dpquantiles mechanisms`: what each algorithm can do, and when to use it."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from dpquantiles.cli import screen
from dpquantiles.mechanisms import MECHANISMS
from dpquantiles.present import text

AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


def mechanisms(as_json: AsJson = False) -> None:
    """List the mechanisms: budgets, neighbors, cost, and when to use each."""
    profiles = {name: asdict(mechanism.profile) for name, mechanism in MECHANISMS.items()}
    if as_json:
        listing = [{"name": name, **profile} for name, profile in profiles.items()]
        screen.result(json.dumps(listing, indent=2))
    else:
        screen.result(text.profiles(profiles, screen.width()))
