"""The gallery: every policy's page as HTML, its schedule running live: a static site of plain files (`make gallery`).

policies.py    the pages of docs/policies, read
markup.py      their Markdown as HTML
drawing.py     their drawn schedules as pictures
live.py        the experiment that a page runs, and its setting as an address
site.py        all files of the site
links.py       whether every link of them leads somewhere
"""
