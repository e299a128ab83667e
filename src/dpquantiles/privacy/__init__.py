"""The vocabulary of privacy: neighbors and guarantees, as plain frozen values."""

from dpquantiles.privacy.guarantees import PureDP, from_dict
from dpquantiles.privacy.neighbors import Neighbors

__all__ = ["Neighbors", "PureDP", "from_dict"]
