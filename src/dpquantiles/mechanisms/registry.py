"""The mechanisms by name."""

from dpquantiles.mechanisms.joint_exp import JointExp

MECHANISMS = {JointExp.name: JointExp}
