"""One module per Rich Pin type. Pure."""
