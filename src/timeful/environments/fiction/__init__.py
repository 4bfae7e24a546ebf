"""Interactive fiction: games played in words, as tasks with tools (Timely Machine, A.1.2)."""
