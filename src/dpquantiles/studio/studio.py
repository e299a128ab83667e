"""What all pages of one studio share: the shelf, the ledger, estimates, releases, and keys."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from dpquantiles.job import Job
from dpquantiles.ledger import Ledger
from dpquantiles.studio.asked import Asked
from dpquantiles.studio.estimates import Estimates
from dpquantiles.studio.guard import Keys
from dpquantiles.studio.releases import Releases
from dpquantiles.studio.shelf import Item, Shelf


@dataclass(frozen=True)
class Studio:
    """One studio: its data and its books."""

    shelf: Shelf
    books: Path | None = None
    """The file of the ledger; every request opens it for itself."""
    estimates: Estimates = field(default_factory=Estimates)
    releases: Releases = field(default_factory=Releases)
    keys: Keys = field(default_factory=Keys)

    def ledger(self) -> Ledger | None:
        """The ledger, as it stands now."""
        return None if self.books is None else Ledger(self.books)

    def item(self, asked: Asked) -> Item | None:
        """The data that are asked for; None where the plan is about nothing in particular."""
        return self.shelf.item(asked.data) if asked.data else None

    def job(self, asked: Asked, request: str | None = None) -> Job:
        """The job that is asked for, on the account of the ledger."""
        return asked.job(self.item(asked), self.ledger(), request)

    def links(self, asked: Asked) -> dict[str, str]:
        """Where the steps lead, with what is asked so far."""
        query = f"?{asked.query}" if asked.query else ""
        known = query if asked.data and asked.column else f"?{replace(asked, data='').query}"
        return {
            "choose": f"/{query}",
            "plan": f"/plan{query}",
            "release": f"/release{known}",
            "books": "/books",
        }
