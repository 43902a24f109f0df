"""Sizes of the compiled programs: no two arrays of one program have as many elements by chance."""

B, H, S, D = 2, 3, 128, 16
TOKENS, WIDTH, VOCAB = 96, 32, 1024
