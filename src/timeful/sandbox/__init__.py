"""Running code that a model wrote: in a process of its own, with limits."""
