"""The planner: predicted errors and the choice of a mechanism, from public numbers only.

Plans (`plans.py`) and their inverse (`needs.py`) are imported from where they are: a release needs
the choice alone.
"""

from dpquantiles.planner.choice import AUTO, AskedMechanism, Choice, answers, choose

__all__ = ["AUTO", "AskedMechanism", "Choice", "answers", "choose"]
