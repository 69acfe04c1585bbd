"""`python -m schedlab`: the command."""

from schedlab.start import main

main()
