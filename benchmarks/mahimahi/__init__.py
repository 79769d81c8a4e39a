"""A real kernel's TCP over Mahimahi's link shell, beside Sojourn over the same recorded link."""
