"""A digital assistant with a long task and an inbox (Engagement Process, 5.2.1, Appendix D)."""
