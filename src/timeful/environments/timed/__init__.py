"""Work with tools under a time budget, as a world of events (Timely Machine, section 4.1)."""
