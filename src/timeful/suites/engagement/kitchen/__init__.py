"""The kitchen with tutoring (section 5.2.2, appendix E)."""
