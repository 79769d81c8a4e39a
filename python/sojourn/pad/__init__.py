"""Padding of a real uplink: `sojourn pad`.

`session` decides, and knows neither sockets nor a terminal; `network` has the sockets. All padding is sent by the
process itself, so that none goes on when it ends, however that comes.
"""
