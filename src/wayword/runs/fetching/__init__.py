"""Published datasets: the table of their files, and downloads from their publishers."""
