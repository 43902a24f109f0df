"""One promise about the meaning of a step each; evidence: SemanticsFacts."""
