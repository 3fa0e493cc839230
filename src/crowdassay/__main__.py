"""`python -m crowdassay`."""

from crowdassay.cli.start import main

main()
