"""Scripted actors that work together in a home: commander, follower and partners."""
