"""Promises about the traced program: what the jaxpr holds, before any compiler."""
