"""How good, how early and how reliable predicted action opportunities are (ProActor).

Everything is a pure function of what was predicted, what the reference holds possible, and what
was done. Where the paper is silent or contradicts itself, the docstring of a metric says which
reading was **(chosen)**.
"""
