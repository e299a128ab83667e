"""Mechanisms, one per module, each with its proof beside it."""

from dpquantiles.mechanisms.joint_exp import JointExp
from dpquantiles.mechanisms.registry import MECHANISMS

__all__ = ["MECHANISMS", "JointExp"]
