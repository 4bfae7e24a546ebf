"""Interfaces: the laws that join an agent's time to the world's. One file each."""
