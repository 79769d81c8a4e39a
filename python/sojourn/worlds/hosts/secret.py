"""The secret that an agent and its peers share: from a file or the environment, never from the command line."""

import ipaddress
import os
import stat
from pathlib import Path

from sojourn.reading import check_regular, input_error, read_bytes

VARIABLE = "SOJOURN_SECRET"
MIN_BYTES = 16
MAX_BYTES = 4096
_ADVICE = "to make one: (umask 077; head -c 24 /dev/urandom | base64 > secret)"


def shared_secret(file: Path | None) -> bytes | None:
    """Return the secret in a file, else the environment's, else None; raises InputError where it is none."""
    if file is None:
        named = os.environ.get(VARIABLE)
        return None if named is None else _checked(named.strip().encode(), VARIABLE)
    mode = check_regular(file, "a secret").st_mode
    found = read_bytes(file, "a secret", MAX_BYTES).strip()
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise input_error(f"--secret-file: others may read it; to stop that: chmod 600 {file}", file=str(file))
    return _checked(found, str(file))


def is_loopback(address: str, option: str) -> bool:
    """Tell whether an address is one of this machine for itself; raises InputError where it is none at all."""
    try:
        return ipaddress.IPv4Address(address).is_loopback
    except ValueError:
        raise input_error(f"{option} is {address!r}; allowed is an IPv4 address", key=option, found=address) from None


def _checked(secret: bytes, where: str) -> bytes:
    if len(secret) < MIN_BYTES:
        text = f"the secret has {len(secret)} bytes; allowed are {MIN_BYTES} and more; {_ADVICE}"
        raise input_error(text, file=where)
    return secret
