"""One module for each rule on experiment records."""
