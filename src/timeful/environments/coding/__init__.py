"""Machine learning by writing code: a few slow calls, each as long as its program runs."""
