"""Rules on the executed loop, one module each."""
