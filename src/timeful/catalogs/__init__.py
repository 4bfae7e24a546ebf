"""Catalogs of actions, built from MCP servers, OpenAPI files and configuration."""
