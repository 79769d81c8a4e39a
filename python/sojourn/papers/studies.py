"""All studies."""

from sojourn.papers.braud import BRAUD
from sojourn.papers.rite import RITE
from sojourn.papers.testbed import GONG_TESTBED
from sojourn.study.model import Study

STUDIES: tuple[Study, ...] = (GONG_TESTBED, BRAUD, RITE)
