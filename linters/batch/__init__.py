"""A batch against what it is promised to mean: arrays on disk, without jax."""
