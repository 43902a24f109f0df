"""The bound on a step's time by resource: compute, device memory, links by mesh axis, network apart."""

from __future__ import annotations

from .bound import AxisLoad, Resource, Roofline, roofline
from .path import Operation, Path
from .wires import axes_text

__all__ = ["AxisLoad", "Operation", "Path", "Resource", "Roofline", "axes_text", "roofline"]
