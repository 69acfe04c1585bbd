// Elements of the page, made and found.

type Child = Node | string | null | false;
type Attributes = Record<string, string | number | boolean | null | ((event: Event) => void)>;

/** Makes an element. An attribute that is a function listens to the event of its name; false and null leave one out. */
export function make<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== null && child !== false));
  return element;
}

/** The element of the template with that id. */
export function the<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found as T;
}

/** A text that may be broken after the dots and underscores of names. */
export function breakable(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  text.split(/(?<=[._])(?=\D)/).forEach((part, place) => fragment.append(...(place ? [make("wbr"), part] : [part])));
  return fragment;
}

export interface Column {
  heading: string;
  numeric?: boolean;
  key?: boolean;
}

/** The columns and number of rows of each table that was filled. */
const shapes = new WeakMap<HTMLTableElement, string>();

/** Fills a table; each cell brings its heading along, for narrow windows, where a row is a block. In a table that has these columns and so many
 * rows already, only cells with another text are changed: a drag changes few, and each new element costs a layout. */
export function fill(table: HTMLTableElement, columns: Column[], rows: string[][]): void {
  const shape = JSON.stringify([columns, rows.length]);
  if (shapes.get(table) === shape) {
    for (const [place, row] of [...table.tBodies[0]!.rows].entries()) refill(row, columns, rows[place]!);
    return;
  }
  const head = make("tr", {}, ...columns.map((column) => make("th", { scope: "col", class: kindOf(column) }, breakable(column.heading))));
  const body = rows.map((row) =>
    make("tr", {}, ...row.map((text, place) => {
      const column = columns[place]!;
      return make("td", { class: kindOf(column), "data-h": column.heading }, column.key ? breakable(text) : text);
    })),
  );
  table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...body));
  shapes.set(table, shape);
}

const kindOf = (column: Column): string => (column.numeric ? "n" : column.key ? "k" : "");

function refill(row: HTMLTableRowElement, columns: Column[], texts: string[]): void {
  for (const [place, cell] of [...row.cells].entries()) {
    const text = texts[place]!;
    if (cell.textContent !== text) cell.replaceChildren(columns[place]!.key ? breakable(text) : text);
  }
}

/** A canvas as wide as its place and `high` pixels high, cleared; gives its pen and width in CSS pixels. */
export function paper(canvas: HTMLCanvasElement, high: number): { pen: CanvasRenderingContext2D; wide: number } {
  const scale = window.devicePixelRatio || 1, wide = canvas.clientWidth;
  const [width, height] = [Math.round(wide * scale), Math.round(high * scale)];
  if (canvas.width !== width || canvas.height !== height) {
    [canvas.width, canvas.height] = [width, height];
    canvas.style.height = `${high}px`;
  }
  const pen = canvas.getContext("2d")!;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, wide, high);
  return { pen, wide };
}

/** Colours of the theme by their names in the style sheet. */
export function colours(): (name: string) => string {
  const style = getComputedStyle(document.documentElement), known = new Map<string, string>();
  return (name) => {
    if (!known.has(name)) known.set(name, style.getPropertyValue(`--${name}`).trim());
    return known.get(name)!;
  };
}
