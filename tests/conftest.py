"""What all tests have in common."""

from hypothesis import settings

# A deadline of hypothesis is one of real time: on a busy machine a right test would miss it.
settings.register_profile("timeful", deadline=None)
settings.load_profile("timeful")
