"""One rule in each module, found by the registry."""
