"""Python source: which functions are traced, what their values are, and the rules on that. Imports no jax."""
