"""Rules on a program alone: what it does that it need not do, without a contract to compare with."""
