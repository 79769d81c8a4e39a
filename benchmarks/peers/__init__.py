"""The peers: ns-2 and ns-3 (see README.md)."""
