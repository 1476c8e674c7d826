"""Household scenes: furniture, homes, small objects, and what datasets of tasks in them share."""
