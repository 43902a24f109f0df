"""The blocks of the decoder. Each file holds one block and its formula."""

from .attention import Attention
from .mlp import Mlp
from .norm import RmsNorm
from .packing import Packing

__all__ = ["Attention", "Mlp", "Packing", "RmsNorm"]
