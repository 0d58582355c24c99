/** `jp query`: opens the turn that the flags describe, and runs it at the terminal. */
import { openTurn, type OpenTurn, type OpenTurnOptions } from "../../../assemble/index.ts";
import type { Model } from "../../../reach/provider/index.ts";
import type { AssistantSettings, Mode } from "../../../settings/config/index.ts";
import type { ConversationWriter } from "../../../stores/index.ts";
import { loadModule } from "../../../util/index.ts";
import { compactByFlag } from "../../compact.ts";
import type { CommandContext } from "../../context.ts";
import type { Call } from "../../define.ts";
import { noDatabaseError, usageError } from "../../exit-status.ts";
import { toLabels } from "../../labels.ts";
import { showProgress } from "../../progress.ts";
import { findQuietPrompter, type InteractionFlags } from "../../prompter.ts";
import { findTruster } from "../../trust.ts";
import { loadConversation, openWhenUnlocked } from "./conversation.ts";
import { readAnswers, readSchema } from "./expectations.ts";
import { DraftKeeper, readMessage } from "./message.ts";
import { reportNoMessage } from "./report.ts";
import { send, type SendOptions } from "./run-turn.ts";
import { announceReplay, chooseStart, type StartFlags } from "./start.ts";
import { titleOf } from "./title.ts";
import type { ViewFlags } from "./view-settings.ts";
import type { FlagsOf } from "../../options.ts";
import type { QUERY } from "./options.ts";

type QueryFlags = FlagsOf<typeof QUERY>;

/** Throws `ExitStatus` unless the turn succeeded. */
export async function query({ args: words, options, context }: Call<typeof QUERY>): Promise<void> {
  const { edit, continueTurn: isContinued = false, discardTurn = false, id } = options;
  const answers = await readAnswers(options.answers, context);
  const opening = await toOpening(options, context);
  assertCompatible(options, context);
  const { replay, defer = false, format } = options;
  // The answers file replaces the person.
  const nonInteractive = options.nonInteractive === true || answers !== undefined || defer;
  const found = await loadConversation(context, options, { only: isContinued ? "end" : "visible" });
  const start = { continueTurn: isContinued, discardTurn, replay, hasMessage: words.length > 0 };
  if (options.showPrompt === true) {
    const { showPrompt } = await loadModule(() => import("./show-prompt.ts"));
    return showPrompt(context, { ...opening, found }, { words, replay, nonInteractive, format });
  }
  using draft = new DraftKeeper(context);
  await using turn = await openHere(context, {
    ...opening,
    found,
    start,
    nonInteractive,
    format,
    ...(options.enqueue === true && { createModel: unreachedModel }),
    // Reports problems before the user writes a message in the editor.
    readMessage: async (begun, { left, config, found: last }) => {
      const isOptional = isContinued || discardTurn;
      const source = { words, edit: isContinued ? false : edit, isOptional, nonInteractive };
      const message = await readMessage({ ...source, start: begun }, context, config);
      const wasIncomplete = left !== undefined;
      if (message === undefined)
        await reportNoMessage(
          { isContinued, discardTurn, wasIncomplete, id, found: last },
          context,
        );
      else draft.keep(message);
      return message;
    },
  });
  if (turn === undefined) return;
  const { conversation, providers, message } = turn;
  const { config } = turn.trusted;
  const isSaved = options.persist;
  if (message?.replacesTurn === true)
    announceReplay(conversation, { output: context.output, isSaved });
  // Calling it loads its code, which most queries do not need.
  if (options.compact !== undefined)
    await compactByFlag(conversation, options, { config, providers, context });
  await draft.discard();
  if (options.enqueue !== true)
    return void (await send(context, turn, { answers, nonInteractive, defer, view: options }));
  const { enqueue, follow } = await loadModule(() => import("./enqueue.ts"));
  await enqueue(context, turn, options);
  await conversation.release();
  if (options.follow === true) await follow(context, turn, options);
}

/** The incomplete turn of a conversation, and which decisions may prompt. */
interface ContinuedTurn extends Pick<SendOptions, "defer" | "onlyCall"> {
  readonly id: string;
  /** The conversation, if the command already has it open. */
  readonly opened?: ConversationWriter | undefined;
}

/** Like `jp query --continue-turn`. Throws `ExitStatus` unless the turn succeeded. */
export async function continueTurn(
  context: CommandContext,
  { id, opened, defer = false, onlyCall }: ContinuedTurn,
): Promise<void> {
  await using turn = await openHere(context, {
    found: opened ?? (await loadConversation(context, { id }, { only: "end" })),
    opened,
    start: { continueTurn: true },
    nonInteractive: defer,
    // Another process may have ended it.
    readMessage: async (_begun, { found }) => {
      await reportNoMessage({ isContinued: true, id, found }, context);
      return undefined;
    },
  });
  if (turn !== undefined) await send(context, turn, { nonInteractive: defer, defer, onlyCall });
}

/** A turn to open at the terminal. */
export interface TerminalTurn
  extends OpenTurnOptions, Pick<InteractionFlags, "nonInteractive">, Pick<ViewFlags, "format"> {
  readonly start: StartFlags;
  /** Withdraws questions about the last turn. */
  readonly signal?: AbortSignal | undefined;
}

/** Opens a turn, and asks the person at the terminal what has to be decided before. Throws what `openTurn` throws. */
export async function openHere(
  context: CommandContext,
  {
    start,
    nonInteractive,
    format,
    signal = new AbortController().signal,
    ...options
  }: TerminalTurn,
): Promise<OpenTurn | undefined> {
  const { schema, storage: { persist } = {}, settings: { directives } = {}, createModel } = options;
  const { isSession = false } = options;
  const isForWorker = createModel !== undefined;
  const flags = { nonInteractive, format, schema, persist, directives, isForWorker };
  const isSaved = persist !== false;
  const own: { mode?: Mode | undefined } = {};
  if (context.database !== undefined) {
    const { offerClaim } = await loadModule(() => import("../../claim.ts"));
    await offerClaim(context, { nonInteractive });
  }
  return openTurn(context, {
    findTruster: (config) => findTruster(context, config, { nonInteractive }),
    waitForLock: (open, config) => openWhenUnlocked(context, open, config),
    chooseStart: async ({ found, left, config }) => {
      const prompter = left && findQuietPrompter(context, config, { nonInteractive });
      return chooseStart({ found, left, isSaved }, start, { context, prompter, signal });
    },
    decideTools: async (trusted) => {
      if (!context.host.isInteractive()) return undefined;
      // If an upgrade has replaced its code meanwhile, the message is sent anyway.
      const code = await loadModule(() => import("../../decide-tools.ts")).catch(() => undefined);
      return code?.decideTools(context, { trusted, flags, isSession, signal });
    },
    // It may change while the turn runs.
    mode: () => own.mode ?? "ask",
    onConfig: ({ conversation }) => {
      own.mode = conversation?.mode;
    },
    onProgress: showProgress(context),
    titleOf,
    onClosed: async ({ proof }) => {
      if (proof?.anchor?.every !== "daily") return;
      const daily = await loadModule(() => import("../evidence/daily-anchor.ts")).catch(() => {});
      daily?.anchorIfDue(context);
    },
    ...options,
  });
}

/** The model of an enqueued turn: a worker asks it, so this machine may not have its key. */
function unreachedModel({ model: { provider, name } }: AssistantSettings): Model {
  return {
    id: `${provider}/${name}`,
    stream: () => {
      throw new TypeError("the turn was left to a worker");
    },
  };
}

/** Throws `usage` and `file_not_read`. */
async function toOpening(
  {
    label = [],
    fork,
    title,
    local,
    persist,
    attach = [],
    attachment = [],
    ...settings
  }: QueryFlags,
  context: CommandContext,
): Promise<Pick<OpenTurnOptions, "storage" | "settings" | "attach" | "schema">> {
  const { schema, tool: directives } = settings;
  return {
    storage: { fork, labels: toLabels(label), title, local, persist },
    settings: { ...settings, directives },
    attach: [...attach, ...attachment],
    schema: schema === undefined ? undefined : await readSchema(schema, context),
  };
}

/** Throws `usage`. */
function assertCompatible(options: QueryFlags, { database }: CommandContext): void {
  const { new: isNew = false, id, fork, replay, compact } = options;
  const { enqueue = false, queue, follow = false, continueTurn: isContinued = false } = options;
  if (!enqueue && follow) throw usageError("--follow needs --enqueue.");
  if (!enqueue && queue !== undefined) throw usageError("--queue needs --enqueue.");
  if (enqueue && database === undefined) {
    throw noDatabaseError("--enqueue needs a store in a database: workers find the turn there.");
  }
  if (enqueue && isContinued) {
    throw usageError(
      "--enqueue takes a message.",
      "Workers continue an incomplete turn by themselves, once it can go on.",
    );
  }
  if (isNew && id !== undefined) {
    throw usageError("-n and --id cannot be used together: a new conversation has no id yet.");
  }
  if (isNew && (fork !== undefined || replay === true)) {
    const flag = fork === undefined ? "--replay" : "--fork";
    throw usageError(`-n and ${flag} cannot be used together.`);
  }
  if (replay === true && compact !== undefined) {
    throw usageError(
      "--replay and --compact cannot be used together: a summary would keep what the new turn replaces.",
    );
  }
}
