"""What an algorithm must do to be taken seriously: laws of its kind, and a comparison with others.

    sojourn try mine.py

`laws` checks what has to hold, `low_priority` judges a control that declares low priority, `compare` measures an
algorithm beside others, and `window` runs a control to look at. All take the name of a queue discipline or a congestion
control, built in or a plug-in; `laws` also that of a shaper's controller or of traffic of one's own. `of_stack` tries
a transport stack, `of_suite` goes through the cases of a suite.
"""

from sojourn.trial.comparison import Row, compare
from sojourn.trial.laws import Law, is_low_priority, kind_of, laws
from sojourn.trial.priority import Priority, Terms, low_priority
from sojourn.trial.report import Report, of_stack, of_suite, report
from sojourn.trial.stack import Stack
from sojourn.trial.suite import Suite
from sojourn.trial.window import window

__all__ = [
    "Law",
    "Priority",
    "Report",
    "Row",
    "Stack",
    "Suite",
    "Terms",
    "compare",
    "is_low_priority",
    "kind_of",
    "laws",
    "low_priority",
    "of_stack",
    "of_suite",
    "report",
    "window",
]
