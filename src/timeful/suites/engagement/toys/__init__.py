"""The toy experiments: deliberation and patrol, learned in tables (section 5.1)."""
