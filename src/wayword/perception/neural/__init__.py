"""Networks behind the eyes, a family a module; each imports its own library when it is made."""
