/** Converts an HTML table to the lines of a Markdown table. Pure. */

/** The Markdown equivalents of tags. */
const MARKS: Readonly<Record<string, string>> = {
  b: "**",
  strong: "**",
  i: "*",
  em: "*",
  code: "`",
};
const PARTS = new Set(["table", "thead", "tbody", "tfoot"]);
const TAG = /^<(\/?)([a-z][a-z0-9]*)(\s[^<>]*)?\/?>$/i;

/** The header, delimiters and rows. Undefined without a header, or with content that a Markdown table cannot hold. */
export function findHtmlTable(html: string): readonly string[] | undefined {
  if (!/<\/table>\s*$/i.test(html)) return undefined;
  const rows: string[][] = [];
  const headings: boolean[] = [];
  let cell: string | undefined;
  let isCode = false;
  const endCell = () => {
    if (cell !== undefined) rows.at(-1)?.push(cell.replaceAll(/\s+/g, " ").trim());
    cell = undefined;
    isCode = false;
  };
  for (const piece of html.trim().split(/(<[^<>]*>)/)) {
    const [, slash = "", word = "", attributes = ""] = TAG.exec(piece) ?? [];
    const name = word.toLowerCase();
    if (PARTS.has(name) || name === "tr") {
      endCell();
      if (name === "tr" && slash === "") rows.push([]);
    } else if (name === "th" || name === "td") {
      endCell();
      if (rows.length === 0 || /span\s*=/i.test(attributes)) return undefined;
      if (slash === "") cell = "";
      if (rows.length === 1) headings.push(name === "th");
    } else if (cell !== undefined) {
      const mark = Object.hasOwn(MARKS, name) ? MARKS[name] : undefined;
      if (mark === "`") isCode = slash === "";
      cell += mark ?? (name === "" && !isCode ? escapeMarks(piece) : piece.replaceAll("|", "\\|"));
    } else if (piece.trim() !== "") return undefined;
  }
  const [header = [], ...body] = rows.filter((row) => row.length > 0);
  if (header.length === 0 || !headings.every(Boolean)) return undefined;
  if (body.some((row) => row.length > header.length)) return undefined;
  return [header, header.map(() => "-"), ...body].map((row) => `| ${row.join(" | ")} |`);
}

/** HTML text must not be read as Markdown. */
function escapeMarks(text: string): string {
  return text.replaceAll(/[\\*_`[\]~|]/g, "\\$&");
}
