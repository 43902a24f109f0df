"""The bound on a step's time by resource: compute, device memory, links by mesh axis, network apart."""

from __future__ import annotations

from .bound import AxisLoad, Resource, Roofline, axes_text, roofline

__all__ = ["AxisLoad", "Resource", "Roofline", "axes_text", "roofline"]
