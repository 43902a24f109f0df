"""An integer together with the formula it came from, so that a printed formula cannot drift from its number."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quantity:
    """A whole number and its symbolic spelling. Products, sums and exact quotients build both at once."""

    value: int
    text: str
    is_sum: bool = False

    def __mul__(self, other: Quantity) -> Quantity:
        if self.text == "1":
            return other
        if other.text == "1":
            return self
        return Quantity(self.value * other.value, f"{self._factor()} * {other._factor()}")

    def __floordiv__(self, other: Quantity) -> Quantity:
        """The exact quotient. Raises ValueError where a remainder would be lost."""
        if other.value == 1:
            return self
        if self.value % other.value:
            raise ValueError(f"{self.text} = {self.value} is not divisible by {other.text} = {other.value}")
        divisor = f"({other.text})" if "*" in other.text or other.is_sum else other.text
        return Quantity(self.value // other.value, f"{self._factor()} / {divisor}")

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.value + other.value, f"{self.text} + {other.text}", is_sum=True)

    def _factor(self) -> str:
        return f"({self.text})" if self.is_sum else self.text

    def __str__(self) -> str:
        return f"{self.text} = {self.value}"


ONE = Quantity(1, "1")


def product(*factors: Quantity) -> Quantity:
    """The product of any number of quantities; of none it is one."""
    result = ONE
    for factor in factors:
        result = result * factor
    return result
