"""Promise against fact: pure rules over contracts and captures. Imports no jax."""
