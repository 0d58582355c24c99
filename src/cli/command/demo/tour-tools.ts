/** The tools of the tour that are nowhere else: they ask, and do nothing. */
import { setTimeout } from "node:timers/promises";
import {
  booleanQuestion,
  type BuiltinTool,
  defineTool,
  secretQuestion,
} from "../../../tool/index.ts";

const deploy = defineTool<{ readonly region: string }>({
  name: "deploy",
  description: "Deploys to a region.",
  parameters: {
    type: "object",
    properties: { region: { type: "string" } },
    required: ["region"],
  },
  run: async ({ region }, { ask }) => {
    const isSure = await ask(booleanQuestion("sure", `Deploy to ${region}?`));
    return isSure ? `deployed to ${region}` : `left ${region} alone`;
  },
});

const sign = defineTool({
  name: "sign",
  description: "Signs the release.",
  parameters: { type: "object" },
  run: async (_args, { ask }) => {
    const passphrase = await ask(secretQuestion("passphrase", "Passphrase of the key?"));
    const { length } = passphrase;
    return `signed, with a passphrase of ${length} ${length === 1 ? "character" : "characters"}`;
  },
});

const UPLOAD_MS = 10_000;

const upload = defineTool({
  name: "upload",
  description: "Uploads pictures, slowly.",
  parameters: { type: "object" },
  run: async (_args, { signal }) => {
    await setTimeout(UPLOAD_MS, undefined, { signal });
    return "The pictures are there.";
  },
});

export const TOUR_TOOLS: readonly BuiltinTool[] = [deploy, sign, upload];
