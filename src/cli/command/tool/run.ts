/** `jp tool run`: one call of a tool by hand. Its questions take the way that they take in a turn. */
import { createJournal, NOBODY, PromptQueue, ToolCycle, TurnState } from "../../../agent/index.ts";
import { resolveLimits, type ToolSettings } from "../../../config/index.ts";
import { timestampFromDate, type ToolCallRequest } from "../../../conversation/index.ts";
import { checkArguments, type RunnableTool } from "../../../executor/index.ts";
import { NO_MODEL } from "../../../inquiry/index.ts";
import { neutralize } from "../../../render/index.ts";
import { MemoryConversationStore } from "../../../storage/index.ts";
import { CodedError, findJson, isJsonObject } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import type { Call } from "../../define.ts";
import { DENIED, ExitStatus, INTERRUPTED } from "../../exit-status.ts";
import type { ConfigFlags } from "../../load-config.ts";
import { findPrompter, type InteractionFlags } from "../../prompter.ts";
import { findTool, openTools } from "../../tools.ts";
import { refuseUntrusted, tellWithheld, trustedConfig } from "../../trust.ts";
import { type ArgumentFlags, readArguments } from "./arguments.ts";
import { explainUnanswered } from "./unanswered.ts";

export interface RunToolFlags extends ConfigFlags, ArgumentFlags, InteractionFlags {}

type ToolRun = Call<RunToolFlags> & { readonly signal: AbortSignal };

export async function runTool(call: Call<RunToolFlags>): Promise<void> {
  const { host, output } = call.context;
  const abort = new AbortController();
  const onInterrupt = () => {
    if (abort.signal.aborted) return host.exit(INTERRUPTED); // Twice: it cannot wait.
    output.notice(""); // The terminal has written ^C into the line.
    abort.abort();
  };
  // A tool has a process group of its own: it would go on without us.
  const signals = host.onSignal(["SIGINT", "SIGTERM", "SIGHUP"], onInterrupt);
  try {
    await callOnce({ ...call, signal: abort.signal });
  } catch (error) {
    // Whatever was under way, a server's start for example, was given up.
    if (!abort.signal.aborted) throw error;
    throw cancelled(call.context);
  } finally {
    signals[Symbol.dispose]();
  }
}

async function callOnce({ args: words, options, context, signal }: ToolRun): Promise<void> {
  const [name = ""] = words;
  const trusted = await trustedConfig(context, options, options);
  refuseUntrusted(name, trusted);
  tellWithheld(trusted, context);
  const { config } = trusted;
  await using tools = openTools(context, config);
  const settings = findTool(tools.settings, name);
  const tool = await tools.open(name, signal);
  const given = readArguments(options);
  await checkFor(tool, given);
  const state = new TurnState();
  await using conversation = await new MemoryConversationStore(context.clock).create({});
  const journal = createJournal(conversation);
  const cycle = new ToolCycle({
    journal,
    tools: {
      schemas: async () => [],
      find: async () => ({ ...tool, settings: byHand(settings) }),
    },
    prompter: findPrompter(context, config, options) ?? NOBODY,
    prompts: new PromptQueue(),
    inquiries: NO_MODEL,
    state,
    limits: resolveLimits(config),
    clock: context.clock,
    observer: {
      observe: (update) => {
        if (update.type === "tool_call_delta") context.output.notice(neutralize(update.message));
      },
    },
  });
  signal.addEventListener("abort", () => cycle.stop("interrupted"), { once: true });
  const timestamp = timestampFromDate(context.clock.now());
  const request: ToolCallRequest = {
    type: "tool_call_request",
    timestamp,
    id: "call",
    name,
    arguments: given,
  };
  await journal.record(request);
  cycle.add(request);
  const [response] = await cycle.run();
  signal.throwIfAborted();
  const isDenied = state.denials.length > 0;
  const end = explainUnanswered(settings, journal.stream, isDenied);
  if (end === "cancelled") throw cancelled(context);
  if (isDenied && end?.code === "no_prompt_backend") throw new ExitStatus(DENIED, { cause: end });
  if (end !== undefined) throw end;
  if (response !== undefined) show(response, context);
}

/**
 * Whoever types this command has given permission, and wants to see what comes of it. There is no model
 * here that could answer for a person.
 */
function byHand(settings: ToolSettings): ToolSettings {
  const { detached } = settings;
  const tool = detached.tool === "auto" ? "deny" : detached.tool;
  return {
    ...settings,
    run: "unattended",
    result: "unattended",
    detached: { ...detached, tool },
  };
}

/** Throws `invalid_arguments`. The call would find out by itself, but tell it to a model. */
async function checkFor(
  { description }: RunnableTool,
  given: ToolCallRequest["arguments"],
): Promise<void> {
  const checked = await checkArguments(description, given);
  if (checked.ok) return;
  const lines = checked.message.split("\n");
  const message = lines
    .filter((line) => !line.startsWith("You can call `describe_tools("))
    .join("\n");
  const hint = `See: jp tool show ${description.name}`;
  throw new CodedError("invalid_arguments", message, { hint });
}

function cancelled({ output }: CommandContext): ExitStatus {
  output.notice("Cancelled.");
  return new ExitStatus(INTERRUPTED);
}

function show(
  { content, isError }: { readonly content: string; readonly isError: boolean },
  { output }: CommandContext,
): void {
  if (isError) {
    output.notice(neutralize(readableError(content)));
    throw new ExitStatus(1);
  }
  // Programs get what the tool said, people something harmless.
  const text = output.isTerminal ? neutralize(content) : content;
  output.print(text.replace(/\n$/, ""));
}

/** A failed command is told to a model as JSON; a person has seen its errors already. */
function readableError(content: string): string {
  const failure = findJson(content);
  const { message, stdout } = isJsonObject(failure) ? failure : {};
  if (typeof message !== "string") return content;
  return typeof stdout === "string" && stdout !== "" ? `${message}\n${stdout}` : message;
}
