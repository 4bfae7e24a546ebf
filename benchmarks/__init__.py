"""Speed, measured beside the peer in one run: `python -m benchmarks`."""
