"""Household scenes: furniture, homes, small things, and what datasets of tasks in them share."""
