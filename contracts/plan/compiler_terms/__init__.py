"""Where a compiled program differs from the paper's formula: one rule a file, with its reason.

These rules describe what JAX and XLA make of *any* program of the planned form. They read the contract, never a
program.
"""
