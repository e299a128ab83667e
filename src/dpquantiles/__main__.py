"""`python -m dpquantiles`: the command line."""

import sys

from dpquantiles.cli import main

sys.exit(main())
