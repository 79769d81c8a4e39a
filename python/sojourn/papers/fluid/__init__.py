"""Gong, Rossi, Leonardi: the fluid model of TCP and LEDBAT under RED, beside packets."""

from sojourn.papers.fluid import scale, stability, targets, thresholds
from sojourn.study.model import Study

FLUID = Study(
    name="fluid",
    title="Modeling the interdependency of low-priority congestion control and active queue management",
    source="Gong, Rossi, Leonardi, ITC 2013 (arXiv 1303.6817)",
    items=(*targets.ITEMS, *thresholds.ITEMS, *scale.ITEMS, *stability.ITEMS),
    pictures=(("targets", "targets"), ("thresholds", "thresholds"), ("scale", "scale"), ("stability", "stability")),
)
