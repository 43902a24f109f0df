"""The interpreter of one file: a graph of values, and records of what the program does with them."""
