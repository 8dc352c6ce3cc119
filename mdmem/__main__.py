"""`python -m mdmem` is the same program as `mdmem`."""

import sys

from mdmem.cli import main

sys.exit(main())
