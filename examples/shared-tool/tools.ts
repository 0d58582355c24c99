/** A tool of jp that asks, and a tool of the AI SDK that needs approval. Both programs below can use both. */
import { tool } from "ai";
import { booleanQuestion, defineTool } from "jp-ts";
import { z } from "zod";

export const deploy = defineTool({
  name: "deploy",
  description: "Deploys a version of the site.",
  parameters: z.object({ version: z.string() }),
  questions: { sure: booleanQuestion("sure", "Deploy this version?") },
  async run({ version }, { ask }) {
    const isSure = await ask.sure({ text: `Deploy version ${version}?` });
    return isSure ? `Version ${version} is live.` : "Nothing was deployed.";
  },
});

export const rollback = tool({
  description: "Goes back to the version before.",
  inputSchema: z.object({ steps: z.number().default(1) }),
  needsApproval: true,
  execute: ({ steps }) => `Went back by ${steps}.`,
});
