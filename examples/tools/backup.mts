/** A tool for jp that saves a backup of a file. */
import { existsSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { serveTool } from "jp-ts/serve-tool";
import { booleanQuestion, defineTool } from "jp-ts/tool";

const backup = defineTool({
  name: "backup",
  description: "Keep a copy of a file beside it.",
  parameters: {
    type: "object",
    properties: { path: { type: "string" } },
    required: ["path"],
  },
  questions: {
    overwrite: booleanQuestion("overwrite", "There is a backup already. Replace it?", {
      default: false,
      persistence: "none",
    }),
  },
  async run({ path }: { readonly path: string }, { ask }) {
    if (existsSync(`${path}.bak`) && !(await ask.overwrite())) {
      return "The old backup was kept.";
    }
    await copyFile(path, `${path}.bak`);
    return `Saved ${path}.bak`;
  },
});

await serveTool(backup);
