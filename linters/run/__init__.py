"""Promises about the executed loop: compiles, transfers, values."""
