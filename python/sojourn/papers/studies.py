"""All studies."""

from sojourn.papers.braud import BRAUD
from sojourn.papers.rite import RITE
from sojourn.study.model import Study

STUDIES: tuple[Study, ...] = (BRAUD, RITE)
