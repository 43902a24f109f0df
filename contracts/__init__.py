"""What is written down: contracts, plans, findings and the shape of a capture. Imports no jax."""
