"""``python -m wayword``."""

from wayword.cli import main

main()
