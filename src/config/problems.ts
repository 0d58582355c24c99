/** What is configured and cannot be used, though every value of it may stand where it stands. */
import type { ConfigIssue } from "./config-error.ts";
import { resolveMcpServers } from "./mcp-settings.ts";
import type { PartialConfig } from "./schema/config-schema.ts";

/** Of all layers together: a part that one layer lacks another may have. */
export function findProblems(config: PartialConfig): readonly ConfigIssue[] {
  return [...toolsWithoutSource(config), ...serversWithoutPlace(config)];
}

function toolsWithoutSource(config: PartialConfig): readonly ConfigIssue[] {
  const { "*": _common, ...tools } = config.conversation?.tools ?? {};
  return Object.entries(tools)
    .filter(([, { source }]) => source === undefined)
    .map(([name]) => ({
      path: ["conversation", "tools", name, "source"],
      message: "source is missing, so there is no such tool",
    }));
}

function serversWithoutPlace(config: PartialConfig): readonly ConfigIssue[] {
  const usable = resolveMcpServers(config);
  return Object.entries(config.providers?.mcp ?? {})
    .filter(([name]) => !usable.has(name))
    .map(([name, { type }]) => {
      const key = type === "http" ? "url" : "command";
      const message = `${key} is missing, so the server cannot be used`;
      return { path: ["providers", "mcp", name, key], message };
    });
}
