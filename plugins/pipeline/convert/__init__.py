"""`checkpoint convert`: arrays from one layout to another, under names that a mapping gives, bit for bit."""
