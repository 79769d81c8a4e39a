"""What an algorithm must do to be taken seriously: laws of its kind, and a comparison with others.

    sojourn try mine.py

`laws` checks what has to hold, `compare` measures what is to be judged. Both take the name of a queue discipline or a
congestion control, built in or a plug-in.
"""

from sojourn.trial.comparison import Row, compare
from sojourn.trial.laws import Law, kind_of, laws

__all__ = ["Law", "Row", "compare", "kind_of", "laws"]
