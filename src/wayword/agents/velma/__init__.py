"""VELMA: next-word prediction in the street, with landmarks in words."""
