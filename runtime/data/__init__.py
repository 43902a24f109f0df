"""A run's place in its data: what a loader is, its cursor, and the digests of what it gives. Imports no jax."""

from .position import data_position

__all__ = ["data_position"]
