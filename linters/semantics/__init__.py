"""Promises about what a step optimises, held against what was measured on it (`verify --semantics`)."""
