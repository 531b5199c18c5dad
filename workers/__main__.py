"""`python -m workers ROLE` in a source checkout: `python -m aragog.workers ROLE`."""

import sys

from aragog.workers.__main__ import main

sys.exit(main())
