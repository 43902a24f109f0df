"""Executing a step: k steps under watch, and its values against one device."""

from .session import ReferenceJob, run_step

__all__ = ["ReferenceJob", "run_step"]
