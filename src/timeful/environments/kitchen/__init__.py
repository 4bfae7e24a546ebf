"""The kitchen with tutoring: dishes that signal when they must be finished, and talk meanwhile.

Engagement Process, section 5.2.2 and appendix E. Begin with `world.py`.
"""
