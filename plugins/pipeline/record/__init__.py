"""Experiment records: made, kept, found again, verified and compared."""
