"""Small worlds, made-up files and servers that several tests share."""
