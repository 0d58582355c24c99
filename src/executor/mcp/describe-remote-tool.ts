/** What a model is told about a tool of a server: the server's words, unless the config has others. */
import type { ToolSettings } from "../../config/index.ts";
import type { RemoteTool } from "../../mcp/index.ts";
import type { ToolDescription } from "../port.ts";
import { firstSentence } from "./first-sentence.ts";
import { withServerText } from "./server-text.ts";

type Words = Pick<ToolDescription, "summary" | "description">;

/** Without a summary of the user's, the first sentence is the summary and the rest follows on demand. */
export function describeRemoteTool(
  settings: Pick<ToolSettings, "summary" | "description">,
  remote: RemoteTool,
): Words {
  const { summary, description } = settings;
  const told = remote.description?.trim() ?? "";
  const full = description === undefined ? told : withServerText(description, told);
  const { sentence, rest } =
    summary === undefined
      ? firstSentence(full)
      : { sentence: withServerText(summary, told), rest: full };
  return {
    summary: sentence === "" ? remote.name : sentence,
    ...(rest !== "" && { description: rest }),
  };
}
