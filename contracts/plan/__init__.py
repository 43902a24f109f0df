"""The ledgers a contract predicts in closed form. Never reads a program."""
