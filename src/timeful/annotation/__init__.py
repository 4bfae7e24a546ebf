"""From conversations and a list of tools to data with references: catalogs made, annotators.

What is here needs the extra `proactor`; it is imported where it is used.
"""
