"""Sojourn's receiver beside a real kernel's, arrival by arrival."""
