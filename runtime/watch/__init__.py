"""What a training loop does behind its author's back: compiles, host transfers and host callbacks, with their lines."""

from .session import Compile, Transfer, Watch, watch

__all__ = ["Compile", "Transfer", "Watch", "watch"]
