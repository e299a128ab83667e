"""The books of a ledger: the sums of its entries by account, and the state of every request."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from dpquantiles import privacy
from dpquantiles.errors import BudgetExceeded, InvalidValue, LedgerError
from dpquantiles.ledger import entries
from dpquantiles.ledger.entries import RECORD, Broken, Entry, digits, part_of, words
from dpquantiles.privacy import ApproxDP, Guarantee
from dpquantiles.privacy.spending import Part, Spending

RULE = "one order"
"""The name of the rule by which charges add up: one Renyi order per account (`filters.py`)."""

MOST_POINTS = 400
"""About how many points a history has at most, because each point takes a search."""


class Owner(NamedTuple):
    """The owner of a budget: a data set, and the unit that is protected in it."""

    dataset: str
    unit: str


class Charge(NamedTuple):
    """One charge: its time, the budget that it is on, its cost, and its part of the data set."""

    time: str
    owner: Owner
    cost: Guarantee
    part: Part | None


class Point(NamedTuple):
    """The amount that an account had spent after a charge."""

    time: str
    owner: Owner
    spent: float


class Standing(NamedTuple):
    """The state of an account: its number of charges, what remains, and its promise."""

    charges: int
    remaining: float
    guarantee: Guarantee | None


@dataclass
class ChargedRequest:
    """A request that was charged: its entry, its content, and the entry of its release, if any."""

    charge: int
    content: Mapping[str, Any]
    release: int | None = None

    def differences(self, repeated: Mapping[str, Any]) -> list[str]:
        """The names of the fields in which a repeated request differs from this one."""
        return [name for name in entries.IDENTITY if self.content[name] != repeated[name]]


def _require_this_rule(rule: object) -> None:
    """Refuse a rule that only newer versions know."""
    if rule != RULE:
        raise LedgerError(
            f"the ledger counts its charges by the rule {rule!r}, and this version of dpquantiles "
            f"knows {RULE!r}; upgrade dpquantiles"
        )


def promised(account: Spending, unit: str) -> Guarantee | None:
    """The promise of all charges of an account together, and to whom; None without charges."""
    promise = account.guarantee()
    return promise if promise is None or unit == RECORD else replace(promise, unit=unit)


@dataclass
class Books:
    """The sums of all entries so far."""

    budget: Guarantee | None = None
    last: Entry | None = None
    accounts: dict[Owner, Spending] = field(default_factory=dict)
    requests: dict[str, ChargedRequest] = field(default_factory=dict)
    charges: list[Charge] = field(default_factory=list)

    @classmethod
    def of(cls, chain: Iterable[Entry], count: int) -> "Books":
        """The books of a ledger, from all of its entries; the file's header must count as many."""
        books = cls()
        for entry in chain:
            books.add(entry)
        books.require_complete(count)
        return books

    @property
    def count(self) -> int:
        """How many entries there are."""
        return 0 if self.last is None else self.last.number

    @property
    def head(self) -> str:
        """The hash of the last entry."""
        return entries.START if self.last is None else self.last.hash

    @property
    def stated(self) -> Guarantee:
        """The budget."""
        if self.budget is None:
            raise Broken("it has no entries")
        return self.budget

    def add(self, entry: Entry) -> None:
        """Check the next entry and add it to the books."""
        content = entries.checked_content(entry, self.count + 1, self.head)
        _require_this_rule(content.get("rule", RULE))
        try:
            self._enter(entry.number, content)
        except (KeyError, TypeError, ValueError):
            raise Broken(f"entry {entry.number} lacks something that it must state") from None
        self.last = entry

    def _enter(self, number: int, content: Mapping[str, Any]) -> None:
        action = content["action"]
        if (action == "budget") != (number == 1):
            raise InvalidValue(action)
        if action == "budget":
            self.budget = privacy.from_dict(content["budget"])
        elif action == "charge":
            self._charge(number, content)
        elif self.requests[content["request"]].release is not None:
            raise InvalidValue(action)
        elif action == "release":
            self.requests[content["request"]].release = number
        elif action != "retry":
            raise InvalidValue(action)

    def _charge(self, number: int, content: Mapping[str, Any]) -> None:
        if content["request"] in self.requests:
            raise InvalidValue(content["request"])
        owner = Owner(content["dataset"], content["unit"])
        cost, part = privacy.from_dict(content["cost"]), part_of(content["part"])
        account = self.accounts.setdefault(owner, Spending(self.stated))
        account.add(cost, part)
        self.requests[content["request"]] = ChargedRequest(
            number, {name: content[name] for name in entries.IDENTITY}
        )
        self.charges.append(Charge(content["time"], owner, cost, part))

    def account(self, owner: Owner) -> Spending:
        """The spending of an account; a new account has spent nothing."""
        return self.accounts.get(owner) or Spending(self.stated)

    def require_room(self, charge: Mapping[str, Any], path: Path) -> None:
        """Refuse a charge that does not fit its account; errors name the file of the ledger."""
        cost, part = privacy.from_dict(charge["cost"]), part_of(charge["part"])
        account = self.account(Owner(charge["dataset"], charge["unit"]))
        problem = account.objection(cost)
        if problem is not None:
            raise LedgerError(
                f"data set {charge['dataset']!r} of ledger '{path}' cannot be charged: {problem}"
            )
        if not account.fits(cost, part):
            raise BudgetExceeded(
                f"the budget of data set {charge['dataset']!r} does not allow "
                f"{words(cost)}: remaining {_left(account, cost, part)} "
                f"of {words(self.stated)} (ledger '{path}')",
                remaining=account.remaining(cost, part),
            )

    def standings(self, probe: Guarantee) -> dict[Owner, Standing]:
        """The state of all accounts; `probe` is the kind of charge for which the rest is stated."""
        return {
            owner: Standing(
                account.charges, account.remaining(probe), promised(account, owner.unit)
            )
            for owner, account in self.accounts.items()
        }

    def history(self) -> Iterator[Point]:
        """The spending of accounts over time, after every charge or, if many, after some."""
        accounts: dict[Owner, Spending] = {}
        every = 1 + len(self.charges) // MOST_POINTS
        last = {charge.owner: k for k, charge in enumerate(self.charges)}
        for k, charge in enumerate(self.charges):
            account = accounts.setdefault(charge.owner, Spending(self.stated))
            account.add(charge.cost, charge.part)
            if k % every == 0 or account.charges == 1 or k == last[charge.owner]:
                yield Point(charge.time, charge.owner, account.spent())

    def require_complete(self, count: int) -> None:
        """Refuse the file if its header counts another number of entries."""
        if self.count != count or self.budget is None:
            raise Broken(f"{self.count} entries were found where {count} were written")


def _left(account: Spending, cost: Guarantee, part: Part | None) -> str:
    """The amount that remains for charges like this one, in words."""
    if isinstance(cost, ApproxDP):
        most = account.remaining_delta(cost, part)
        if cost.delta > most:
            return f"delta = {digits(most)} for charges of epsilon and delta,"
    return f"{cost.measure} = {digits(account.remaining(cost, part))}"
