"""`init`: look at a step, and write down what was seen as a contract to review."""

from .first import first_contract

__all__ = ["first_contract"]
