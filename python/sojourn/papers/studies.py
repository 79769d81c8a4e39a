"""All studies."""

from sojourn.papers.braud import BRAUD
from sojourn.papers.fluid import FLUID
from sojourn.papers.gong import GONG
from sojourn.papers.rite import RITE
from sojourn.papers.testbed import GONG_TESTBED
from sojourn.study.model import Study

STUDIES: tuple[Study, ...] = (GONG, GONG_TESTBED, BRAUD, FLUID, RITE)
