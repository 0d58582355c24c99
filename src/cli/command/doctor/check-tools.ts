/** The tools that are on. Each is opened as for a call, so that their MCP servers start and list them. */
import type { PartialConfig, ToolSettings } from "../../../config/index.ts";
import { machineOf } from "../../load-config.ts";
import type { CommandContext } from "../../compose.ts";
import { openTools, type Tools } from "../../../runtime/index.ts";
import { type Finding, findingOf } from "./finding.ts";

export async function checkTools(
  context: CommandContext,
  config: PartialConfig,
  seconds: number,
): Promise<readonly Finding[]> {
  await using tools = openTools(machineOf(context), config);
  const enabled = [...tools.settings.values()].filter(({ isEnabled }) => isEnabled);
  const signal = AbortSignal.timeout(seconds * 1000);
  const opened = await Promise.all(enabled.map((tool) => open(tool, tools, signal)));
  const servers = Map.groupBy(opened, ({ server }) => server);
  return [...servers].flatMap(([server, results]) =>
    server === undefined
      ? checkOwn(results)
      : checkServer(server, results, {
          seconds,
          isOptional: config.providers?.mcp?.[server]?.optional === true,
        }),
  );
}

interface OpenedTool {
  readonly name: string;
  /** Undefined for a tool that needs none. */
  readonly server: string | undefined;
  readonly error?: unknown;
}

async function open(
  { name, source }: ToolSettings,
  tools: Tools,
  signal: AbortSignal,
): Promise<OpenedTool> {
  const server = source.type === "mcp" ? source.server : undefined;
  try {
    await tools.open(name, signal);
    return { name, server };
  } catch (error) {
    return { name, server, error };
  }
}

function checkOwn(results: readonly OpenedTool[]): readonly Finding[] {
  const check = "tools";
  const broken = results.filter(({ error }) => error !== undefined);
  if (broken.length > 0) return broken.map(({ error }) => findingOf(check, error));
  const names = results.map(({ name }) => name).join(", ");
  return [{ check, state: "ok", message: names }];
}

/** What keeps all of its tools away is told once. */
function checkServer(
  server: string,
  results: readonly OpenedTool[],
  { seconds, isOptional }: { readonly seconds: number; readonly isOptional: boolean },
): readonly Finding[] {
  const check = "mcp";
  const findings = results.flatMap(({ error }): Finding[] => {
    if (error === undefined) return [];
    const state = isOptional ? "warning" : "problem";
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    if (!isLate) return [findingOf(check, error, state)];
    const message = `The MCP server "${server}" was not ready within ${seconds} s.`;
    return [{ check, state, message, hint: "Give it more time: jp doctor --timeout 60" }];
  });
  const once = findings.filter(
    ({ message }, index) => findings.findIndex((other) => other.message === message) === index,
  );
  if (once.length > 0) return once;
  const names = results.map(({ name }) => name).join(", ");
  return [{ check, state: "ok", message: `${server} has started, with ${names}` }];
}
