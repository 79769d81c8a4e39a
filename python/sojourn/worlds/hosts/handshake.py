"""How two sides show each other that they know the secret, so that neither learns anything of it.

This is SPAKE2, a password-authenticated key exchange, as the package `spake2` has it. Each side sends one share; both
get the same key only if they used the same secret. Whoever listens learns nothing. Whoever plays a side without the
secret can test one guess a connection, and has nothing to test further guesses with afterwards. A proof by HMAC would
hand that to the other side, whichever proves first.
"""

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Any

from sojourn.worlds.hosts.protocol import PROTOCOL, ProtocolError

AGENT, PEER = "agent", "peer"
_NAMES = {side: f"sojourn {PROTOCOL} {side}".encode() for side in (AGENT, PEER)}
_MAX_LETTERS = 200


@dataclass(frozen=True)
class Key:
    """What both sides have in common if they used the same secret."""

    _bytes: bytes = field(repr=False)

    def proof(self, side: str) -> str:
        """Return what shows that `side` has the key: for each side another, so that none can be sent back."""
        return hmac.new(self._bytes, _NAMES[side], hashlib.sha256).hexdigest()

    def is_proven(self, given: str, side: str) -> bool:
        """Tell whether a proof is right, in a time that says nothing about it."""
        return hmac.compare_digest(given.encode(errors="replace"), self.proof(side).encode())


class Exchange:
    """One side of an exchange."""

    def __init__(self, secret: bytes, side: str) -> None:
        # It takes a tenth of a second, and only who has a secret needs it.
        from spake2 import SPAKE2_A, SPAKE2_B

        kind = SPAKE2_A if side == PEER else SPAKE2_B
        self._exchange: Any = kind(secret, idA=_NAMES[PEER], idB=_NAMES[AGENT])
        self.share: str = self._exchange.start().hex()
        """What the other side is sent."""

    def finish(self, share: str) -> Key:
        """Return the key, given the other side's share; raises ProtocolError where that is none."""
        try:
            if len(share) > _MAX_LETTERS:
                raise ValueError("too long")  # noqa: TRY301 (one sentence for all that is wrong with it)
            return Key(self._exchange.finish(bytes.fromhex(share)))
        except Exception:
            # The package has no common class for what is no element of its group.
            raise ProtocolError("share is no element of the exchange") from None
