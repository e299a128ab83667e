"""The planner: predicted errors and the choice of a mechanism, from public numbers only."""

from dpquantiles.planner.choice import AUTO, Choice, answers, choose
from dpquantiles.planner.needs import epsilon_for, size_for
from dpquantiles.planner.plans import Estimate, Plan, plan

__all__ = [
    "AUTO",
    "Choice",
    "Estimate",
    "Plan",
    "answers",
    "choose",
    "epsilon_for",
    "plan",
    "size_for",
]
