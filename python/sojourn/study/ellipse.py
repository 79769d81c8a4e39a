"""The ellipse of a trade-off plot: where runs lie, if both of their numbers are normally distributed.

The recipe of Winstein and Balakrishnan (2013), which RFC 7928 names in section 2.7.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_FEWEST = 3
_FLAT = 1e-9
"""Part of both variances that is no width: what is left of rounding where runs lie on a line."""


@dataclass(frozen=True)
class Ellipse:
    """The 1-sigma contour of the normal distribution that is most likely to have made some points.

    It holds 39.3 % of that distribution. Its slope is the covariance of the two numbers.
    """

    centre: tuple[float, float]
    half_axes: tuple[float, float]
    """The longer one first, in the units of the points."""
    angle_rad: float
    """From the first number's axis to the longer half axis, above -pi/2 and up to pi/2."""

    @classmethod
    def of(cls, points: Sequence[tuple[float, float]]) -> "Ellipse | None":
        """Return the ellipse of some points; None where there are fewer than three, or all lie on a line.

        >>> Ellipse.of([(-1, 0), (1, 0), (0, 2), (0, -2)])
        Ellipse(centre=(0.0, 0.0), half_axes=(1.4142135623730951, 0.7071067811865476), angle_rad=1.5707963267948966)
        >>> Ellipse.of([(0, 0), (1, 1), (2, 2)])
        """
        if len(points) < _FEWEST:
            return None
        across, up = ([float(value) for value in values] for values in zip(*points, strict=True))
        x, y = statistics.fmean(across), statistics.fmean(up)
        # Of the population: the most likely distribution divides by the number of points, not by one less.
        xx = statistics.fmean((value - x) ** 2 for value in across)
        yy = statistics.fmean((value - y) ** 2 for value in up)
        xy = statistics.fmean((one - x) * (other - y) for one, other in zip(across, up, strict=True))
        determinant = xx * yy - xy**2
        if not determinant > _FLAT * xx * yy:
            return None
        middle, spread = (xx + yy) / 2, math.hypot((xx - yy) / 2, xy)
        longer = middle + spread
        return cls((x, y), (math.sqrt(longer), math.sqrt(determinant / longer)), math.atan2(2 * xy, xx - yy) / 2)

    def contour(self, count: int = 90) -> list[tuple[float, float]]:
        """Return points along it, of which the last is the first."""
        (x, y), (longer, shorter) = self.centre, self.half_axes
        cosine, sine = math.cos(self.angle_rad), math.sin(self.angle_rad)
        turns = [2 * math.pi * number / count for number in range(count + 1)]
        along = [(longer * math.cos(turn), shorter * math.sin(turn)) for turn in turns]
        return [(x + one * cosine - other * sine, y + one * sine + other * cosine) for one, other in along]
