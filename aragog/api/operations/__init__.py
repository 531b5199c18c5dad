"""The operations, independent of protocols: typed requests, responses and errors."""
