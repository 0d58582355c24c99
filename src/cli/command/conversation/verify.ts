/** `jp conversation verify`: reruns a conversation and shows where it first differs from the record. */
import {
  resolveAssistant,
  resolveLimits,
  type PartialConfig,
} from "../../../settings/config/index.ts";
import { diffLines } from "../../../reach/executor/index.ts";
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
import type { VERIFY } from "./options.ts";

/** Throws `ExitStatus` if anything differed. */
export async function verify({ args, options, context }: Call<typeof VERIFY>): Promise<void> {
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
  else for (const line of await toLines(id, result)) output.print(neutralize(line));
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

async function toLines(
  id: string,
  { turns, divergence }: ReplayResult,
): Promise<readonly string[]> {
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
    ...(await diffLines(linesOf(recorded), linesOf(now))),
  ];
}

function linesOf(event: JsonObject | undefined): readonly string[] {
  return event === undefined ? [] : JSON.stringify(event, null, 2).split("\n");
}
