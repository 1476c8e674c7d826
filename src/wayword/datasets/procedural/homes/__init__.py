"""Household scenes, and tasks in them.

furniture   what furniture there is, set down where it leaves a way
plan        rooms and doors, from one room to wings of a hundred
home        floor plan and furniture as a household scene, by name
objects     small things, each where such a thing is likely to be
chores      ALFRED's seven task types, in words too
jobs        C-WAH's activities for several actors
questions   THOR-IQA's kinds of questions
shuffling   rearrangement: what was changed
episodes    settings, lazy tasks and worlds that the household datasets share
"""
