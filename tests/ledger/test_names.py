"""Names that look the same are one budget."""

import pytest

from dpquantiles import BudgetExceeded, PureDP
from dpquantiles.ledger import Ledger

ONE = PureDP(epsilon=1.0)


@pytest.mark.parametrize("name", ["caf\u00e9 2026", " caf\u00e9 2026", "cafe\u0301 2026 "])
def test_names_that_look_the_same_are_the_same(ledger: Ledger, name: str) -> None:
    ledger.charge(ONE, dataset="caf\u00e9 2026", request_id="march")
    assert ledger.spent(name) == 1.0
    ledger.charge(ONE, dataset=name)
    assert ledger.remaining("caf\u00e9 2026") == 1.0
    assert list(ledger.accounts()) == [("caf\u00e9 2026", "record")]


@pytest.mark.parametrize("part", ["region=north", " region = north", "region=north "])
def test_parts_that_look_the_same_add_up(ledger: Ledger, part: str) -> None:
    ledger.charge(ONE, dataset="payroll", part="region=north")
    ledger.charge(ONE, dataset="payroll", part=part)
    assert ledger.spent("payroll") == 2.0
    assert ledger.remaining("payroll", part=part) == 1.0


def test_a_refusal_names_all_digits_of_what_remains(ledger: Ledger) -> None:
    """Rounded to twelve digits it would be more than there is."""
    ledger.charge(PureDP(epsilon=2.1234567890123456), dataset="payroll")
    with pytest.raises(BudgetExceeded) as refused:
        ledger.charge(ONE, dataset="payroll")
    left = str(refused.value).split("remaining epsilon = ")[1].split()[0]
    assert float(left) == refused.value.remaining
    ledger.charge(PureDP(epsilon=float(left)), dataset="payroll")
    assert ledger.remaining("payroll") == 0.0
