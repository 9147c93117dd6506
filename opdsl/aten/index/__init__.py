"""Elements taken from, written to and sorted into positions."""
