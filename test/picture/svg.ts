/** Frames as one animated SVG: a strip that moves frame by frame behind a window. No scripts, no fonts. */
import type { Frame, Run, Style } from "./frame.ts";

export interface Window {
  readonly title: string;
  /** For screen readers. */
  readonly description: string;
  readonly columns: number;
  readonly rows: number;
}

const CELL = { width: 8.4, height: 19 };
const PADDING = 18;
const BAR = 36;

const BACKGROUND = "#0d1117";
const COLORS = [
  "#484f58",
  "#ff7b72",
  "#7ee787",
  "#e3b341",
  "#79c0ff",
  "#d2a8ff",
  "#56d4dd",
  "#e6edf3",
  "#6e7681",
  "#ffa198",
  "#a5f3b0",
  "#f2cc60",
  "#a5d6ff",
  "#e2c5ff",
  "#8be9f0",
  "#ffffff",
];

export function renderSvg(frames: readonly Frame[], window: Window): string {
  const width = round(window.columns * CELL.width + 2 * PADDING);
  const height = BAR + window.rows * CELL.height + PADDING;
  const rows = new RowNames();
  const strip = frames.map((frame, index) => renderFrame(frame, index * width, rows));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title description">`,
    `<title id="title">${escape(window.title)}</title>`,
    `<desc id="description">${escape(window.description)}</desc>`,
    `<style>${renderStyle(frames, width)}</style>`,
    `<defs>`,
    ...rows.definitions,
    `</defs>`,
    `<rect class="window" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="10"/>`,
    ...["#ff5f57", "#febc2e", "#28c840"].map(
      (color, index) => `<circle cx="${22 + 20 * index}" cy="18" r="6" fill="${color}"/>`,
    ),
    `<text class="title" x="${width / 2}" y="23">${escape(window.title)}</text>`,
    `<svg width="${width}" height="${height}"><g class="strip" xml:space="preserve">`,
    ...strip,
    `</g></svg>`,
    `</svg>`,
    "",
  ].join("\n");
}

/** Draws rows that several frames share only once. */
class RowNames {
  readonly #names = new Map<string, string>();

  get definitions(): readonly string[] {
    return [...this.#names].map(([row, name]) => `<g id="${name}">${row}</g>`);
  }

  nameOf(row: string): string {
    const name = this.#names.get(row) ?? `r${this.#names.size}`;
    this.#names.set(row, name);
    return name;
  }
}

function renderFrame({ rows, cursor, keys }: Frame, left: number, names: RowNames): string {
  const lines = rows.flatMap((runs, index) => {
    if (runs.length === 0) return [];
    const name = names.nameOf(runs.map(renderRun).join(""));
    return `<use href="#${name}" y="${index * CELL.height}"/>`;
  });
  const parts = [cursor === undefined ? "" : renderCursor(cursor), ...lines];
  const screen = `<g transform="translate(${PADDING} ${BAR})">${parts.join("")}</g>`;
  return `<g transform="translate(${round(left)} 0)">${screen}${keys === undefined ? "" : renderKeys(keys)}</g>`;
}

/** Sets the length of the text, because fonts differ in their widths. */
function renderRun({ column, width, text, style }: Run): string {
  const classes = classesOf(style);
  const length = text.length > 1 ? ` textLength="${round(width * CELL.width)}"` : "";
  const name = classes === "" ? "" : ` class="${classes}"`;
  return `<text x="${round(column * CELL.width)}" y="14"${length} lengthAdjust="spacingAndGlyphs"${name}>${escape(text)}</text>`;
}

function classesOf({ color, isBold, isDim }: Style): string {
  const classes = [color === undefined ? "" : `c${color}`, isBold ? "b" : "", isDim ? "d" : ""];
  return classes.filter((name) => name !== "").join(" ");
}

function renderCursor({ row, column }: { row: number; column: number }): string {
  return `<rect class="cursor" x="${round(column * CELL.width)}" y="${row * CELL.height}" width="${CELL.width}" height="${CELL.height - 1}"/>`;
}

/** In the title bar, on the right. */
function renderKeys(keys: string): string {
  const width = keys.length * CELL.width + 18;
  return `<g class="keys"><rect x="${-width}" width="${width}" height="24" rx="5"/><text x="${-width / 2}" y="16.5">${escape(keys)}</text></g>`;
}

/** Without animation, shows the last frame: the record. */
function renderStyle(frames: readonly Frame[], width: number): string {
  const total = frames.reduce((sum, { holdMs }) => sum + holdMs, 0);
  let start = 0;
  const steps = frames.map(({ holdMs }, index) => {
    const step = `${round((start / total) * 100)}%{transform:translateX(${round(-index * width)}px)}`;
    start += holdMs;
    return step;
  });
  return [
    "",
    `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:#e6edf3}`,
    `.window{fill:${BACKGROUND};stroke:#8b949e;stroke-opacity:.4}`,
    `.title{font-size:13px;text-anchor:middle;fill:#8b949e}`,
    `.cursor{fill:#e6edf3;opacity:.55}`,
    `.keys{transform:translate(${width - 12}px,6px)}`,
    `.keys rect{fill:#1f6feb}`,
    `.keys text{font-weight:600;text-anchor:middle;fill:#fff}`,
    `.b{font-weight:700}`,
    `.d{opacity:.6}`,
    ...COLORS.map((color, index) => `.c${index}{fill:${color}}`),
    `.strip{transform:translateX(${round(-(frames.length - 1) * width)}px)}`,
    `@media (prefers-reduced-motion:no-preference){.strip{animation:play ${total / 1000}s step-end infinite}}`,
    `@keyframes play{`,
    ...steps,
    `}`,
    "",
  ].join("\n");
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

function escape(text: string): string {
  const names: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
  return text.replaceAll(/[&<>]/g, (character) => names[character] ?? character);
}
