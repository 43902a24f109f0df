"""The only folder that imports jax: steps, targets, captures, runs and the reference trainer."""
