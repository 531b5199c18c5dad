"""Commands that start and stop processes: `up`, `down`, `run`, `serve`, `token`."""
