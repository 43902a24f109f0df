"""Rules on the compiled program, one module each."""
