"""Household scenes: furniture, homes, small objects, and shared code of household datasets."""
