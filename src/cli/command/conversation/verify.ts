/** `jp conversation verify`: reruns a conversation and shows where it first differs from the record. */
import {
  resolveAssistant,
  resolveLimits,
  type PartialConfig,
} from "../../../settings/config/index.ts";
import type { McpServers } from "../../../reach/mcp/index.ts";
import {
  attachToTurn,
  configuredInquiryModels,
  machineOf,
  openConfiguredServers,
  openProviders,
  openTools,
  switchServerTools,
  warnWithheld,
} from "../../../assemble/index.ts";
import {
  offlineToolbox,
  replayConversation,
  type ReplayOptions,
  type ReplayResult,
} from "../../replay/index.ts";
import { jsonLine, type JsonObject, neutralize, oneLine } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { resolveTargetForReading } from "../../conversations.ts";
import type { Call } from "../../define.ts";
import { ExitStatus } from "../../exit-status.ts";
import { showProgress } from "../../progress.ts";
import { trustedConfig } from "../../trust.ts";
import type { VERIFY_OPTIONS } from "./options.ts";

/** Throws `ExitStatus` if anything differed. */
export async function verify({
  args,
  options,
  context,
}: Call<typeof VERIFY_OPTIONS>): Promise<void> {
  const { output, workspace } = context;
  const { id } = await resolveTargetForReading(context, args[0]);
  const conversation = await workspace.conversations.load(id);
  const { cfg = [], tool: directives = [] } = options;
  const trusted = await trustedConfig(context, { cfg, tool: directives, id, conversation });
  warnWithheld(trusted, context);
  await using servers = openConfiguredServers(machineOf(context), trusted.config);
  const isOffline = options.model === "recorded" && options.tools === "recorded";
  const config = isOffline
    ? trusted.config
    : await switchServerTools(trusted.config, { directives, servers });
  const machine = machineOf(context);
  await using tools = openTools(machine, config, { conversation: id, servers });
  const result = await replayConversation({
    stream: conversation.stream,
    toolbox: isOffline ? offlineToolbox(tools) : tools.toolbox,
    root: machine.root,
    runsTools: options.tools === "live",
    ...(options.model === "live" && (await liveModel(context, config, servers))),
    maxCycles: config.conversation?.max_cycles ?? 1,
    limits: resolveLimits(config),
    clock: context.clock,
  });
  if (options.format === "json") output.print(jsonLine(toJson(id, result)));
  else for (const line of toLines(id, result)) output.print(neutralize(line));
  if (result.divergence !== undefined) throw new ExitStatus(1);
}

/** Throws `ProviderError` and `no_model`. */
async function liveModel(
  context: CommandContext,
  config: PartialConfig,
  servers: McpServers,
): Promise<Pick<ReplayOptions, "model" | "assistant" | "inquiryModels" | "attachments">> {
  const assistant = resolveAssistant(config);
  const providers = openProviders(machineOf(context), config, {});
  const model = await providers.model(assistant.model.provider, assistant.model.name);
  const { attachments } = await attachToTurn(
    { config, assistant, model, servers, onProgress: showProgress(context) },
    [],
    context,
  );
  return {
    model,
    assistant,
    attachments,
    inquiryModels: configuredInquiryModels(config, providers),
  };
}

function toJson(id: string, { turns, divergence }: ReplayResult): JsonObject {
  if (divergence === undefined) return { conversation: id, turns, identical: true };
  const { turn, toolCallId, recorded = null, now = null } = divergence;
  return {
    conversation: id,
    turns,
    identical: false,
    divergence: {
      turn,
      ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
      recorded,
      now,
    },
  };
}

function toLines(id: string, { turns, divergence }: ReplayResult): readonly string[] {
  if (divergence === undefined) {
    return [`${id}: ${turns} ${turns === 1 ? "turn" : "turns"}, all as recorded.`];
  }
  const { turn, toolCallId, recorded, now } = divergence;
  const where =
    toolCallId === undefined ? `turn ${turn}` : `turn ${turn}, call ${oneLine(toolCallId)}`;
  return [
    `${id}: ${where} differs from the record.`,
    `--- recorded${recorded === undefined ? ": nothing" : ""}`,
    `+++ now${now === undefined ? ": nothing" : ""}`,
    ...diffLines(linesOf(recorded), linesOf(now)),
  ];
}

function linesOf(event: JsonObject | undefined): readonly string[] {
  return event === undefined ? [] : JSON.stringify(event, null, 2).split("\n");
}

/** Lines of `before` alone start with a minus, those of `after` alone with a plus. */
function diffLines(before: readonly string[], after: readonly string[]): readonly string[] {
  const common = longestCommon(before, after);
  const lines: string[] = [];
  let left = 0;
  let right = 0;
  while (left < before.length || right < after.length) {
    const leftLine = before[left];
    const rightLine = after[right];
    const keepsLeft = (common[left + 1]?.[right] ?? -1) < (common[left]?.[right + 1] ?? -1);
    if (leftLine !== undefined && leftLine === rightLine) {
      lines.push(`  ${leftLine}`);
      left += 1;
      right += 1;
    } else if (leftLine !== undefined && (rightLine === undefined || !keepsLeft)) {
      lines.push(`- ${leftLine}`);
      left += 1;
    } else {
      lines.push(`+ ${rightLine}`);
      right += 1;
    }
  }
  return lines;
}

/** For each pair of positions, the number of lines both have in common from there on. */
function longestCommon(
  before: readonly string[],
  after: readonly string[],
): readonly (readonly number[])[] {
  const lengths = Array.from({ length: before.length + 1 }, () =>
    Array.from({ length: after.length + 1 }, () => 0),
  );
  for (let left = before.length - 1; left >= 0; left -= 1) {
    for (let right = after.length - 1; right >= 0; right -= 1) {
      const row = lengths[left];
      if (row === undefined) continue;
      const below = lengths[left + 1] ?? [];
      row[right] =
        before[left] === after[right]
          ? (below[right + 1] ?? 0) + 1
          : Math.max(below[right] ?? 0, row[right + 1] ?? 0);
    }
  }
  return lengths;
}
