/** The tools of the tour that are nowhere else: they ask, and do nothing. */
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

export const TOUR_TOOLS: readonly BuiltinTool[] = [deploy, sign];
