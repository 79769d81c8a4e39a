"""All studies."""

from sojourn.papers.braud import BRAUD
from sojourn.study.model import Study

STUDIES: tuple[Study, ...] = (BRAUD,)
