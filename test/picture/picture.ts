/** Generates docs/demo.svg from the tour. Run it as a program to write the file. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { ROOT } from "../support/documents.ts";
import { framesOf } from "./frame.ts";
import { COLUMNS, recordDemo, ROWS } from "./recording.ts";
import { renderSvg } from "./svg.ts";

export const PICTURE = path.join("docs", "demo.svg");

export async function makePicture(): Promise<string> {
  return renderSvg(await framesOf(await recordDemo()), {
    title: "jp demo",
    description:
      "A terminal. The assistant reads files, and a tool shows a diff and asks whether to apply it; a command runs in a sandbox, a rule is saved for it, and a change is undone; three calls share one answer; " +
      "the assistant asks which of three options; a passphrase is typed and redacted; a job leaves " +
      "a question, which is answered later; a list shows every question, who asked it and who answered.",
    columns: COLUMNS,
    rows: ROWS,
  });
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(path.join(ROOT, PICTURE), await makePicture());
}
