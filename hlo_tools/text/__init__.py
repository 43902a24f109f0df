"""HLO text: the one-pass index, the rewriting of irregular texts, and the parts that are read on demand."""
