"""``python -m wayword.cli``."""

from wayword.cli import main

main()
