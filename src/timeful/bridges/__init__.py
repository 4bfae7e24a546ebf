"""To other libraries and back. One file each; the library is an extra, imported with the file."""
