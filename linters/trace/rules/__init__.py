"""Rules on the traced program, one module each."""
