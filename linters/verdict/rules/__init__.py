"""Rules on the list of findings itself, one module each."""
