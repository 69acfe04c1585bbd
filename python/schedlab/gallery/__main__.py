"""`python -m schedlab.gallery FOLDER`: writes the gallery of the pages in docs/, which a clone has."""

import argparse
import sys
from pathlib import Path

from schedlab.errors import UsageError
from schedlab.gallery import site


def main() -> int:
    """Write it; gives the exit status."""
    options = argparse.ArgumentParser(
        prog="python -m schedlab.gallery", description="Write the gallery, a static site."
    )
    options.add_argument("folder", type=Path, nargs="?", default=Path("gallery"), help="where to write it (gallery)")
    options.add_argument(
        "--docs", type=Path, default=Path("docs"), help="the documentation, with policies/ in it (docs)"
    )
    asked = options.parse_args()
    try:
        files = site.write(asked.docs, asked.folder)
    except (UsageError, OSError) as why:
        print(why, file=sys.stderr)
        return 2
    size = sum(map(len, files.values())) / 1e6
    print(f"wrote {len(files)} files, {size:.1f} MB: open {asked.folder / site.INDEX}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
