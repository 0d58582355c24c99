/** A tool for jp that saves a backup of a file. */
import { existsSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { serveTool } from "jp-ts/serve-tool";
import { booleanQuestion, defineTool } from "jp-ts/tool";

const backup = defineTool<{ readonly path: string }>({
  name: "backup",
  description: "Keep a copy of a file beside it.",
  parameters: {
    type: "object",
    properties: { path: { type: "string" } },
    required: ["path"],
  },
  async run({ path }, { ask }) {
    const text = "There is a backup already. Replace it?";
    const question = booleanQuestion("overwrite", text, { default: false, persistence: "none" });
    if (existsSync(`${path}.bak`) && !(await ask(question))) {
      return "The old backup was kept.";
    }
    await copyFile(path, `${path}.bak`);
    return `Saved ${path}.bak`;
  },
});

await serveTool(backup);
