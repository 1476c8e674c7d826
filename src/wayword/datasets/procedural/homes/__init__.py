"""Household scenes, and tasks in them.

furniture       what furniture there is, set down where it leaves a way
home            rooms and doors, from one room to wings of a hundred, with furniture: a scene
objects         small things, each where such a thing is likely to be
chores          ALFRED's seven task types, in words too
jobs            C-WAH's activities for several actors
rearrangement   what was changed, and how it should be
questions       THOR-IQA's kinds of questions
episodes        settings, lazy tasks and worlds that the household datasets share
"""
