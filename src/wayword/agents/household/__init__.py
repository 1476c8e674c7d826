"""Household tasks put to a small model as yes-or-no questions (``act`` with ``layout=walk``)."""
