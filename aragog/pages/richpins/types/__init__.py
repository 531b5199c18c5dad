"""One module per Rich Pin type, which reads the values of that type. No I/O."""
