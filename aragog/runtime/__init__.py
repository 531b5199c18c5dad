"""What every process stands on: memory, open files, green threads, installed extras, names."""
