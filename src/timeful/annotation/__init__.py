"""From conversations and a list of tools to data with references: catalogs, domains, annotators.

What is here needs the extra `proactor`; it is imported where it is used.
"""
