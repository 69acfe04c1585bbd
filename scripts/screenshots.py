"""Takes pictures of every kind of page, to be looked at: `.venv/bin/python scripts/screenshots.py FOLDER`

Needs Chromium. Each page is shown at 360, 1280 and 1920 px in both themes: FOLDER/PAGE-WIDTH-THEME.png.
`--fast` rebuilds the published reports with two seeds.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SCHEDLAB = Path(sys.executable).with_name("schedlab")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTHS = (360, 1280, 1920)
#: As the engine of Chromium numbers them.
THEMES = {"dark": 0, "light": 1}
#: How much of a page is on a picture, px.
HEIGHT = 3000
_QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
TRACE = ROOT / "tests" / "traces" / "skewed.csv"

#: The kinds of pages, and the words that write them.
PAGES = {
    "demo": ["reproduce", "--html", "demo.html"],
    "reproduction": ["reproduce", "minix-1990", "--html", "reproduction.html"],
    "report": ["report", "examples/quantum", "-o", "report.html"],
    # Of the demo, with long values of what is swept.
    "values": ["report", "results/quantum", "-o", "values.html"],
    "schedule": ["report", "examples/queue", "-o", "schedule.html"],
    "matrix": ["matrix", "fifo", "minix", "cfs", "--seeds", "2", "--html", "matrix.html"],
    "cache": ["cache", str(TRACE), "--html", "cache.html"],
    "tuned": ["tune", str(ROOT / "examples" / "response.toml"), "--budget", "200", "--html", "tuned.html"],
}


def write(folder: Path, fast: bool) -> dict[str, Path]:
    """Write a page of each kind into the folder; gives their places."""
    runs = [["run", str(ROOT / "examples" / f"{name}.toml"), "--out", "examples"] for name in ("quantum", "queue")]
    for words in [*runs, *PAGES.values()]:
        more = ["--seeds", "2"] if fast and words[0] == "reproduce" else []
        subprocess.run([SCHEDLAB, *words, *more, "-q"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return {name: folder / f"{name}.html" for name in PAGES}


def browse(folder: Path, *arguments: str) -> str:
    """Have Chromium do what the arguments say, with a profile in the folder; gives what it prints."""
    words = ["--headless", "--no-sandbox", "--disable-gpu", *_QUIET, f"--user-data-dir={folder / 'profile'}"]
    return subprocess.run([CHROMIUM, *words, *arguments], capture_output=True, text=True).stdout


def shoot(page: Path, width: int, theme: str, picture: Path) -> None:
    """Take a picture of the top of a page, in a frame: Chromium's windows are no narrower than 500 px."""
    frame = page.with_name("frame.html")
    style = f"border:0;width:{width}px;height:{HEIGHT}px"
    frame.write_text(f'<body style="margin:0"><iframe src="{page.name}" style="{style}"></iframe>')
    shown = [f"--window-size={max(width, 500)},{HEIGHT}", f"--blink-settings=preferredColorScheme={THEMES[theme]}"]
    browse(page.parent, *shown, f"--screenshot={picture}", frame.as_uri())


def main() -> None:
    """Write the pages and take the pictures."""
    if CHROMIUM is None:
        raise SystemExit("Chromium is not installed")
    words = [word for word in sys.argv[1:] if word != "--fast"]
    if len(words) != 1:
        raise SystemExit(__doc__)
    folder = Path(words[0]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in write(folder, "--fast" in sys.argv).items():
        for width in WIDTHS:
            for theme in THEMES:
                shoot(page, width, theme, folder / f"{name}-{width}-{theme}.png")


if __name__ == "__main__":
    main()
