"""What people and programs see of a comparison. A report adds no fact of its own."""
