"""The timeline: time, activities, streams, clocks. Read `kernel.py` first."""
