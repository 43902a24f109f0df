"""Output formats: each one is a view of the same report."""
