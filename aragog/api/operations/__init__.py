"""What each operation does, whatever protocol carries it: typed requests, answers and errors."""
