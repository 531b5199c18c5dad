"""The stages of a URL's life, one module each."""
