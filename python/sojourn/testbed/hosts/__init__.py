"""Two hosts and the path between them: an agent on the one, `sojourn run --backend hosts` on the other.

`protocol` is what they say to each other, `admission` what an agent lets a peer ask of it, `agent` and `world` are the
two sides. docs/guide/hosts.md tells it to users.
"""
