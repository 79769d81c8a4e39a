"""What needs Linux says so when it is run; the simulator, studies and pages run elsewhere as well."""

import sys

from sojourn.faults import input_error


def need_linux(what: str) -> None:
    """Raise InputError on any other system; `what` begins the sentence, such as `padding of a real uplink`."""
    system: str = sys.platform
    if system != "linux":
        message = f"{what} needs Linux; found {system}. The simulator, studies and pages run here too"
        raise input_error(message, found=system, allowed="linux")
