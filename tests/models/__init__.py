"""What is promised about models."""
