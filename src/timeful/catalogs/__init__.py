"""Catalogs: which actions there are, made from MCP servers, OpenAPI files and configuration."""
