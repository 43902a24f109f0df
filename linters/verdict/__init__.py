"""From single findings to a verdict: one root for each cause, accepted deviations marked, unused ones named."""
