"""Scripts of packetdrill, the tool with which Linux tests its TCP, run against Sojourn's transport."""
