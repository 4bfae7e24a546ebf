"""The digital assistant with asynchronous emails (section 5.2.1, appendix D)."""
