"""What the compiler made, at every level, as ledgers. Imports no jax."""
