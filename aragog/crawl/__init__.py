"""What happens to a URL: who may ask for it, the request, what the answer means, what follows."""
