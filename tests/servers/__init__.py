"""Servers on the loopback interface that tests talk to."""
