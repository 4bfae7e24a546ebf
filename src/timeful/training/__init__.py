"""Training on the timeline, from records through TRL.

Read `grpo.py` first. An update goes through

| file | from | to |
| --- | --- | --- |
| `rollout_tasks.py`, `turns.py` | settings | tasks: cases with a budget and a world's seed |
| `rollouts.py` | tasks | groups of episodes, played at once, and their records |
| `reward_functions.py`, `credit.py` | records | a reward of each episode, or of each turn |
| `trajectory.py` | records | sequences of token ids |
| `trl_trainer.py` | all of these | TRL's GRPO: advantages, clipping, loss |

`sft.py` is a training by examples, which `data/` makes; `quick/` and `tiny/` are the embedded run.
"""
