"""The fluid world: TCP and LEDBAT under RED as delay-differential equations, and their equilibrium and stability.

Gong, Rossi, Leonardi, "Modeling the interdependency of low-priority congestion control and active queue
management", ITC 2013 (arXiv 1303.6817).
"""

from sojourn.fluid.equilibrium import Equilibrium, equilibrium
from sojourn.fluid.model import Class, Model, Red
from sojourn.fluid.stability import rightmost_root
from sojourn.fluid.trajectory import Trajectory, trajectory

__all__ = [
    "Class",
    "Equilibrium",
    "Model",
    "Red",
    "Trajectory",
    "equilibrium",
    "rightmost_root",
    "trajectory",
]
