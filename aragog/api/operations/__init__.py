"""The operations, independent of protocols: typed requests, answers and errors."""
