"""`python -m steelyard`."""

from steelyard.app import main

main()
