"""Rules on the contract alone: no program, no user code, nothing heavy to import."""
