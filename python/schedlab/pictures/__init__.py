"""Pictures as SVG: means over what was swept, the tail of a distribution, a stretch of a schedule.

Drawn here and not by a plotting library: a page is one file without a script that follows the reader's theme and width.
plotly and altair need 1 to 5 MB of script in each page; matplotlib writes one theme and one width, and takes longer to
import than most experiments to run.
"""
