"""Training on the timeline: what episodes taught, and the optimiser that learns from it.

Read `learning.py` first. An update goes through

| file | from | to |
| --- | --- | --- |
| `cases.py`, `scenes.py`, `turns.py` | settings | scenes: cases with a budget and a world's luck |
| `rollouts.py` | scenes | groups of episodes, played at once, and their records |
| `rewarding.py`, `credit.py` | records | a reward of each episode, or of each turn |
| `trajectory.py` | records | rows of token ids |
| `rolling.py` | all of these | samples for the trainer |
| `adapter.py` | samples | TRL's GRPO: advantages, clipping, loss |

`sft.py` is a training by examples, which `data/` makes; `quick/` and `tiny/` are the embedded run.
"""
