"""A scenario said to others: queues and code points for a router, its path for other emulators, a program for ns-3."""
