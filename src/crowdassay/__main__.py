"""`python -m crowdassay`."""

from crowdassay.cli.main import main

main()
