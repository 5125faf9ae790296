"""What is decided of prepared logs, and of what a fit to them found."""
